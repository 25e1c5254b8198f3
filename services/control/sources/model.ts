import { type z } from 'zod';
import { durationText } from '../../../shared/api/fields';
import { rotateKeyBody, sourceBody } from '../../../shared/api/sources';
import { defined } from '../../../shared/collections/defined';
import { type Entry } from '../../../shared/config/types';
import { type Source, type SourceLimits, type WriteKey } from '../../../shared/model/config';
import { type Json } from '../../../shared/model/message';
import { isoTime } from '../../../shared/model/time';
import { mergePatch } from '../http/entry-patch';
import { Problem } from '../http/problem';
import { parseBody } from '../http/validate';
import { type EventName } from './store';

/**
 * Validates changes of a source, and builds its API view. Pure: ids, keys and the time are
 * arguments.
 */

/** Rotated keys that are still valid. Ingest looks each of them up for each call. */
const MAX_OLD_KEYS = 9;

/** @throws Problem `invalid_fields` */
export function createSource(
  body: unknown,
  made: { id: string; key: WriteKey; now: Date },
): Source {
  const at = made.now.toISOString();
  const keys = { writeKeys: [made.key] };
  return {
    id: made.id,
    ...stored(parseBody(sourceBody, body)),
    ...keys,
    createdAt: at,
    updatedAt: at,
  };
}

/** @throws Problem `invalid_fields` */
export function patchSource(source: Source, patch: Json, now: Date): Source {
  const { blockedEvents: _, limits: __, trust: ___, ...rest } = source;
  const merged = mergePatch(patchable(source), patch);
  return { ...rest, ...stored(parseBody(sourceBody, merged)), updatedAt: now.toISOString() };
}

function patchable(source: Source): Json {
  const { name: text, enabled, blockedEvents = [], limits, trust } = source;
  const { burstMs, ...rates } = limits ?? {};
  return {
    name: text,
    enabled,
    blockedEvents,
    limits: {
      ...rates,
      ...defined({ burst: burstMs !== undefined ? durationText(burstMs) : undefined }),
    },
    ...defined({ trust }),
  };
}

/** Leaves out default values, so that an entry looks as it did before these fields existed. */
function stored(fields: z.output<typeof sourceBody>) {
  const { name: text, enabled, blockedEvents = [], limits, trust } = fields;
  const { maxPerSecond, maxBytesPerSecond, burst } = limits ?? {};
  const kept: SourceLimits = defined({
    maxPerSecond: typeof maxPerSecond === 'number' ? maxPerSecond : undefined,
    maxBytesPerSecond: typeof maxBytesPerSecond === 'number' ? maxBytesPerSecond : undefined,
    burstMs: typeof burst === 'number' ? burst : undefined,
  });
  return {
    name: text,
    enabled,
    ...defined({
      blockedEvents: blockedEvents.length > 0 ? [...new Set(blockedEvents)] : undefined,
      limits: Object.keys(kept).length > 0 ? kept : undefined,
      trust: trust !== 'server' ? trust : undefined,
    }),
  };
}

/**
 * Adds a new write key. The old ones end with the overlap at the latest; an overlap of 0s ends them
 * immediately.
 * @throws Problem `invalid_fields`, or `conflict` if too many old keys are still valid
 */
export function rotateKey(
  source: Source,
  body: unknown,
  made: { key: WriteKey; now: Date },
): Source {
  const until = made.now.getTime() + parseBody(rotateKeyBody, body).overlap;
  const old = stillValid(source.writeKeys, made.now)
    .map((key) => ({ ...key, until: Math.min(key.until ?? until, until) }))
    .filter((key) => key.until > made.now.getTime());
  if (old.length > MAX_OLD_KEYS) {
    throw new Problem(
      'conflict',
      `${old.length} old keys would still be valid. Wait, or end them with an overlap of 0s`,
    );
  }
  return { ...source, writeKeys: [made.key, ...old], updatedAt: made.now.toISOString() };
}

/** @returns undefined if no key of the ring decrypts it */
type OpenKey = (key: WriteKey, sourceId: string) => string | undefined;

/** @param open decrypts keys; without it the keys are left out */
export function sourceView({ version, data }: Entry<Source>, now: Date, open: OpenKey | undefined) {
  const [present, ...old] = stillValid(data.writeKeys, now);
  return {
    id: data.id,
    name: data.name,
    enabled: data.enabled,
    blockedEvents: data.blockedEvents ?? [],
    limits: limitsView(data.limits),
    trust: data.trust ?? 'server',
    writeKey: (present && open?.(present, data.id)) ?? null,
    oldWriteKeys: old.map((key) => ({
      key: open?.(key, data.id) ?? '***',
      until: isoTime(key.until ?? 0),
    })),
    version,
    createdAt: data.createdAt,
    updatedAt: data.updatedAt,
  };
}

function limitsView(limits: SourceLimits | undefined) {
  if (!limits) return null;
  const { maxPerSecond = null, maxBytesPerSecond = null, burstMs } = limits;
  return {
    maxPerSecond,
    maxBytesPerSecond,
    burst: burstMs === undefined ? null : durationText(burstMs),
  };
}

/** Returns the track events of a source; blocked ones without any event come last. */
export function eventsView({ blockedEvents = [] }: Source, seen: readonly EventName[]) {
  const names = new Set(seen.map(({ name: event }) => event));
  return [
    ...seen.map(({ name: event, count, lastAt }) => ({
      name: event,
      count,
      lastSeenAt: isoTime(lastAt),
      blocked: blockedEvents.includes(event),
    })),
    ...blockedEvents
      .filter((event) => !names.has(event))
      .map((event) => ({ name: event, count: 0, lastSeenAt: null, blocked: true })),
  ];
}

function stillValid(keys: readonly WriteKey[], now: Date): WriteKey[] {
  return keys.filter(({ until }) => until === undefined || until > now.getTime());
}
