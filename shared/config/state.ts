import { z } from 'zod';
import {
  type ConfigRecord,
  configKey,
  type Destination,
  type Kind,
  type Kinds,
  type Source,
  SYSTEM_ID,
  type SystemEntry,
  type Token,
} from '../model/config';
import { type Audience, type ComputedTrait } from '../model/audience-definition';
import { ConfigIndex } from './config-index';
import { type ConfigView, type Entry } from './types';

/**
 * `config` as it stands after the records read so far.
 *
 * All readers that saw the same records hold the same state, because a record counts only where it replaces the very
 * version at hand: of two writers that raced, the first in the log wins for everybody. The one exception is a key that
 * nothing is known of: there any version counts, since compaction removes the records before it. What an ignored last
 * record would do to a reader after compaction is why `unsettled` exists.
 */

/** The format that this process writes, and the highest that it reads. */
export const CONFIG_FORMAT = 1;

/** What became of a record. */
export type ApplyResult =
  | { kind: 'applied'; record: ConfigRecord }
  /** the end of a deleted entry */
  | { kind: 'removed'; key: string }
  | { kind: 'ignored'; key: string; reason: string }
  /** cannot be read: one record's failure is its own */
  | { kind: 'unreadable'; key: string; reason: string }
  /** written by a newer Waypost: this process must not go on as if it knew the state */
  | { kind: 'newer'; key: string; format: number };

/** An entry, or the mark that it was deleted. */
interface Held {
  record: ConfigRecord;
  /** the same as JSON: to see that an ignored record says nothing else */
  json: string;
}

const header = z.object({ format: z.number() });
const head = z.object({
  format: z.literal(CONFIG_FORMAT),
  kind: z.enum(['source', 'destination', 'token', 'audience', 'computed_trait', 'system']),
  id: z.string().min(1),
  version: z.int().min(1),
  replaces: z.int().min(0),
  at: z.string(),
  data: z.looseObject({ id: z.string() }).optional(),
});
/** As much as the indexes rely on. Control checked the rest before it wrote. */
const shapes = {
  source: z.object({ writeKeys: z.array(z.object({ key: z.string(), until: z.number().optional() })) }),
  destination: z.object({ sources: z.array(z.string()), webhooks: z.array(z.object({ id: z.string() })) }),
  token: z.object({ hash: z.string() }),
  audience: z.object({ key: z.string(), source: z.string() }),
  computed_trait: z.object({ key: z.string(), source: z.string() }),
  system: z.object({ canary: z.string(), writeKeys: z.literal('sealed') }),
};

export class ConfigState implements ConfigView {
  readonly #held = new Map<string, Held>();
  readonly #unsettled = new Set<string>();
  /** keys whose last record cannot be read */
  readonly #unreadable = new Set<string>();
  readonly #index = new ConfigIndex();

  /** Takes the next record of the log. Never throws. `value` null is a tombstone. */
  apply(key: string, value: string | null): ApplyResult {
    if (value === null) return this.#applyTombstone(key);
    const parsed = parse(key, value);
    if ('kind' in parsed) {
      this.#unreadable.add(key);
      // Compaction would keep this one alone, and the entry would be lost to whoever starts then.
      if (parsed.kind === 'unreadable' && this.#held.has(key)) this.#unsettled.add(key);
      return parsed;
    }
    const { record } = parsed;
    const held = this.#held.get(key);
    const json = JSON.stringify([record.version, record.data]);
    if (held && record.replaces !== held.record.version && !this.#replacesUnreadable(key, record, held)) {
      // The same once more (a repeated append, or two writers that healed at once) does no harm: no need to answer it.
      if (json !== held.json) this.#unsettled.add(key);
      else if (held.record.data !== undefined) this.#unsettled.delete(key);
      return {
        kind: 'ignored',
        key,
        reason: `it replaces version ${record.replaces}, and version ${held.record.version} is at hand`,
      };
    }
    this.#unreadable.delete(key);
    this.#held.set(key, { record, json });
    this.#index.replace(held?.record, record);
    // A deleted entry is settled by its tombstone.
    if (record.data === undefined) this.#unsettled.add(key);
    else this.#unsettled.delete(key);
    return { kind: 'applied', record };
  }

  /** Whether it replaces a version that only newer processes can read: they counted that one. */
  #replacesUnreadable(key: string, record: ConfigRecord, held: Held): boolean {
    return this.#unreadable.has(key) && record.replaces > held.record.version;
  }

  #applyTombstone(key: string): ApplyResult {
    this.#unreadable.delete(key);
    const held = this.#held.get(key);
    if (held?.record.data !== undefined) {
      this.#unsettled.add(key);
      return { kind: 'ignored', key, reason: 'a tombstone for an entry that is not deleted' };
    }
    this.#held.delete(key);
    this.#unsettled.delete(key);
    return { kind: 'removed', key };
  }

  /**
   * Keys whose last record in the log is not what counts. A reader that starts after compaction sees that record alone
   * and would take it: the writer must append what counts once more (writer.ts).
   */
  unsettled(): readonly string[] {
    return [...this.#unsettled];
  }

  /** The last record that counts for a key, a deletion included. */
  recordAt(key: string): ConfigRecord | undefined {
    return this.#held.get(key)?.record;
  }

  isUnreadable(kind: Kind, id: string): boolean {
    return this.#unreadable.has(configKey(kind, id));
  }

  source(id: string): Entry<Source> | undefined {
    return this.#entry('source', id);
  }

  destination(id: string): Entry<Destination> | undefined {
    return this.#entry('destination', id);
  }

  token(id: string): Entry<Token> | undefined {
    return this.#entry('token', id);
  }

  system(): Entry<SystemEntry> | undefined {
    return this.#entry('system', SYSTEM_ID);
  }

  audience(id: string): Entry<Audience> | undefined {
    return this.#entry('audience', id);
  }

  computedTrait(id: string): Entry<ComputedTrait> | undefined {
    return this.#entry('computed_trait', id);
  }

  sourceByWriteKey(key: string, nowMs: number): Entry<Source> | undefined {
    const found = this.#index.openedBy(key);
    return found && (found.until === undefined || nowMs < found.until) ? found.entry : undefined;
  }

  destinationsOf(sourceId: string): readonly Entry<Destination>[] {
    return this.#index.destinationsOf(sourceId);
  }

  /** In the order of first appearance, which is that of creation as long as nothing was compacted. */
  list<K extends Kind>(kind: K): readonly Entry<Kinds[K]>[] {
    return [...this.#held.values()]
      .filter(({ record }) => record.kind === kind && record.data !== undefined)
      .map(({ record }) => ({ version: record.version, data: record.data as Kinds[K] }));
  }

  #entry<K extends Kind>(kind: K, id: string): Entry<Kinds[K]> | undefined {
    const record = this.#held.get(configKey(kind, id))?.record;
    return record?.data && { version: record.version, data: record.data as Kinds[K] };
  }
}

type Parsed = { record: ConfigRecord } | Extract<ApplyResult, { kind: 'newer' | 'unreadable' }>;

function parse(key: string, value: string): Parsed {
  const unreadable = (reason: string): Parsed => ({ kind: 'unreadable', key, reason });
  let json: unknown;
  try {
    json = JSON.parse(value);
  } catch {
    // The parser's own message quotes the text, which may hold a write key.
    return unreadable('it is not JSON');
  }
  const format = header.safeParse(json);
  if (format.success && format.data.format > CONFIG_FORMAT) return { kind: 'newer', key, format: format.data.format };
  const parsed = head.safeParse(json);
  if (!parsed.success) return unreadable(`these are wrong: ${fieldsOf(parsed.error)}`);
  const { kind, id, data } = parsed.data;
  if (configKey(kind, id) !== key) return unreadable('its key and its id differ');
  if (data) {
    const shape = shapes[kind].safeParse(data);
    if (!shape.success) return unreadable(`these are wrong in its data: ${fieldsOf(shape.error)}`);
    if (data.id !== id) return unreadable('its id and the id in its data differ');
  }
  return { record: json as ConfigRecord };
}

function fieldsOf(error: z.ZodError): string {
  return [...new Set(error.issues.map((issue) => issue.path.join('.') || 'the whole'))].join(', ');
}
