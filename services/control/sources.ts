import { z } from 'zod';
import { type Source, type WriteKey } from '../../shared/domain/config';
import { type Json } from '../../shared/domain/message';
import { type Entry } from '../../shared/config/view';
import { Problem } from '../../shared/http/problem';
import { name, overlap, parseBody } from './fields';
import { mergePatch } from './merge-patch';

/** What may be done to a source, and what is shown of it. Pure: ids, keys and the time are given. */

/** Rotated keys that still hold. Each is looked up for each call: no list for ever. */
const MAX_OLD_KEYS = 9;

export const sourceSchema = z.strictObject({
  name,
  enabled: z.boolean().default(true).meta({ description: 'Off: its calls are refused' }),
});
export const rotateKeySchema = z.strictObject({ overlap });

/** @throws Problem `invalid_fields` */
export function createSource(body: unknown, made: { id: string; key: string; now: Date }): Source {
  const at = made.now.toISOString();
  const fields = parseBody(sourceSchema, body);
  return { id: made.id, ...fields, writeKeys: [{ key: made.key }], createdAt: at, updatedAt: at };
}

/** @throws Problem `invalid_fields` */
export function patchSource(source: Source, patch: Json, now: Date): Source {
  const merged = mergePatch({ name: source.name, enabled: source.enabled }, patch);
  return { ...source, ...parseBody(sourceSchema, merged), updatedAt: now.toISOString() };
}

/**
 * A new write key beside the old ones, which end with the overlap at the latest: an overlap of 0s ends all at once.
 * @throws Problem `invalid_fields`, or `conflict` where too many old keys still hold
 */
export function rotateKey(source: Source, body: unknown, made: { key: string; now: Date }): Source {
  const until = made.now.getTime() + parseBody(rotateKeySchema, body).overlap;
  const old = stillValid(source.writeKeys, made.now)
    .map(({ key, until: before }) => ({ key, until: Math.min(before ?? until, until) }))
    .filter((key) => key.until > made.now.getTime());
  if (old.length > MAX_OLD_KEYS) {
    throw new Problem('conflict', `${old.length} old keys would still hold; end them by an overlap of 0s, or wait`);
  }
  return { ...source, writeKeys: [{ key: made.key }, ...old], updatedAt: made.now.toISOString() };
}

/** @param seesSecrets else the keys are left out */
export function sourceView({ version, data }: Entry<Source>, now: Date, seesSecrets: boolean) {
  const [present, ...old] = stillValid(data.writeKeys, now);
  return {
    id: data.id,
    name: data.name,
    enabled: data.enabled,
    writeKey: seesSecrets ? (present?.key ?? null) : null,
    oldWriteKeys: old.map(({ key, until }) => ({
      key: seesSecrets ? key : '***',
      until: new Date(until ?? 0).toISOString(),
    })),
    version,
    createdAt: data.createdAt,
    updatedAt: data.updatedAt,
  };
}

function stillValid(keys: readonly WriteKey[], now: Date): WriteKey[] {
  return keys.filter(({ until }) => until === undefined || until > now.getTime());
}
