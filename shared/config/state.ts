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
 * The state of `config` after the records read so far.
 *
 * All readers of the same records hold the same state, because a record counts only if it replaces the present version.
 * The first of two concurrent writers in the log therefore wins for every reader. The only exception is an unknown key:
 * any version counts there, since compaction removes the records before it. After compaction, an ignored last record
 * would mislead a new reader; `unsettled` lists such keys.
 */

/** The format that this process writes, and the highest that it reads. */
export const CONFIG_FORMAT = 1;

const DESTINATION = configKey('destination', '');
const NONE: readonly string[] = [];

/** The result of applying a record. */
export type ApplyResult =
  | { kind: 'applied'; record: ConfigRecord }
  /** the tombstone of a deleted entry */
  | { kind: 'removed'; key: string }
  | { kind: 'ignored'; key: string; reason: string }
  /** unreadable; this concerns only its own entry */
  | { kind: 'unreadable'; key: string; reason: string }
  /** written by a newer Waypost; this process must not continue as if it knew the state */
  | { kind: 'newer'; key: string; format: number };

/** An entry, or the mark of its deletion. */
interface Stored {
  record: ConfigRecord;
  /** the same as JSON, to recognise an ignored record with the same content */
  json: string;
}

const header = z.object({ format: z.number() });
const head = z.object({
  format: z.literal(CONFIG_FORMAT),
  kind: z.enum(['source', 'destination', 'token', 'audience', 'computed_trait', 'record_format', 'system']),
  id: z.string().min(1),
  version: z.int().min(1),
  replaces: z.int().min(0),
  at: z.string(),
  data: z.looseObject({ id: z.string() }).optional(),
});
/** The fields that the indexes rely on. Control validated the rest before it wrote. */
const shapes = {
  source: z.object({ writeKeys: z.array(z.object({ key: z.string(), until: z.number().optional() })) }),
  destination: z.object({ sources: z.array(z.string()), webhooks: z.array(z.object({ id: z.string() })) }),
  token: z.object({ hash: z.string() }),
  audience: z.object({ key: z.string(), source: z.string() }),
  computed_trait: z.object({ key: z.string(), source: z.string() }),
  record_format: z.object({ format: z.int().min(1), automatic: z.boolean() }),
  system: z.object({ canary: z.string(), writeKeys: z.literal('sealed') }),
};

export class ConfigState implements ConfigView {
  readonly #stored = new Map<string, Stored>();
  readonly #unsettled = new Set<string>();
  /** keys whose last record is unreadable, each with the sources of its destination as far as they are known */
  readonly #unreadable = new Map<string, readonly string[]>();
  readonly #index = new ConfigIndex();

  /** Applies the next record of the log. Never throws. `value` null is a tombstone. */
  apply(key: string, value: string | null): ApplyResult {
    if (value === null) return this.#applyTombstone(key);
    const parsed = parse(key, value);
    if ('kind' in parsed) {
      this.#unreadable.set(key, [...(sourcesIn(value) ?? this.#unreadable.get(key) ?? NONE), ...this.#sourcesOf(key)]);
      // Compaction would keep only this record, and later readers would lose the entry.
      if (parsed.kind === 'unreadable' && this.#stored.has(key)) this.#unsettled.add(key);
      return parsed;
    }
    const { record } = parsed;
    const present = this.#stored.get(key);
    const json = JSON.stringify([record.version, record.data]);
    if (present && record.replaces !== present.record.version && !this.#replacesUnreadable(key, record, present)) {
      // A record with the same content (a repeated append, or two repairs at the same time) is harmless.
      if (json !== present.json) this.#unsettled.add(key);
      else if (present.record.data !== undefined) this.#unsettled.delete(key);
      return {
        kind: 'ignored',
        key,
        reason: `it replaces version ${record.replaces}, but the present version is ${present.record.version}`,
      };
    }
    this.#unreadable.delete(key);
    this.#stored.set(key, { record, json });
    this.#index.replace(present?.record, record);
    // The tombstone of a deleted entry settles it.
    if (record.data === undefined) this.#unsettled.add(key);
    else this.#unsettled.delete(key);
    return { kind: 'applied', record };
  }

  /** Returns whether the record replaces a version that only newer processes can read, and that they applied. */
  #replacesUnreadable(key: string, record: ConfigRecord, present: Stored): boolean {
    return this.#unreadable.has(key) && record.replaces > present.record.version;
  }

  #applyTombstone(key: string): ApplyResult {
    this.#unreadable.delete(key);
    const present = this.#stored.get(key);
    if (present?.record.data !== undefined) {
      this.#unsettled.add(key);
      return { kind: 'ignored', key, reason: 'a tombstone for an entry that is not deleted' };
    }
    this.#stored.delete(key);
    this.#unsettled.delete(key);
    return { kind: 'removed', key };
  }

  /**
   * Keys whose last record in the log is not the one in force. A reader that starts after compaction sees only that
   * record and would apply it. The writer must therefore append the record in force again (writer.ts).
   */
  unsettled(): readonly string[] {
    return [...this.#unsettled];
  }

  /** Returns the record in force for a key, possibly a deletion. */
  recordAt(key: string): ConfigRecord | undefined {
    return this.#stored.get(key)?.record;
  }

  isUnreadable(kind: Kind, id: string): boolean {
    return this.#unreadable.has(configKey(kind, id));
  }

  unreadableDestinationsOf(sourceId: string): readonly string[] {
    if (this.#unreadable.size === 0) return NONE;
    return [...this.#unreadable].flatMap(([key, sources]) => {
      return key.startsWith(DESTINATION) && sources.includes(sourceId) ? [key.slice(DESTINATION.length)] : [];
    });
  }

  /** Number of entries whose last record is unreadable. */
  get unreadable(): number {
    return this.#unreadable.size;
  }

  /** Returns the sources by the last readable record of a destination. */
  #sourcesOf(key: string): readonly string[] {
    const data = this.#stored.get(key)?.record.data;
    return data && 'sources' in data ? data.sources : NONE;
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

  recordFormat(): number {
    return this.#index.recordFormat;
  }

  sourceByWriteKey(key: string, nowMs: number): Entry<Source> | undefined {
    const found = this.#index.openedBy(key);
    return found && (found.until === undefined || nowMs < found.until) ? found.entry : undefined;
  }

  destinationsOf(sourceId: string): readonly Entry<Destination>[] {
    return this.#index.destinationsOf(sourceId);
  }

  /** In the order of first appearance. This is the order of creation until the topic is compacted. */
  list<K extends Kind>(kind: K): readonly Entry<Kinds[K]>[] {
    return [...this.#stored.values()]
      .filter(({ record }) => record.kind === kind && record.data !== undefined)
      .map(({ record }) => ({ version: record.version, data: record.data as Kinds[K] }));
  }

  #entry<K extends Kind>(kind: K, id: string): Entry<Kinds[K]> | undefined {
    const record = this.#stored.get(configKey(kind, id))?.record;
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
    // The parser's own message quotes the text, which may contain a write key.
    return unreadable('it is not JSON');
  }
  const format = header.safeParse(json);
  if (format.success && format.data.format > CONFIG_FORMAT) return { kind: 'newer', key, format: format.data.format };
  const parsed = head.safeParse(json);
  if (!parsed.success) return unreadable(`invalid fields: ${fieldsOf(parsed.error)}`);
  const { kind, id, data } = parsed.data;
  if (configKey(kind, id) !== key) return unreadable('its key and its id differ');
  if (data) {
    const shape = shapes[kind].safeParse(data);
    if (!shape.success) return unreadable(`invalid fields in its data: ${fieldsOf(shape.error)}`);
    if (data.id !== id) return unreadable('its id and the id in its data differ');
  }
  return { record: json as ConfigRecord };
}

const connected = z.object({ data: z.object({ sources: z.array(z.string()) }) });

/** Returns the sources that an unreadable record names where a destination has them; undefined if it names none there. */
function sourcesIn(value: string): readonly string[] | undefined {
  try {
    return connected.safeParse(JSON.parse(value)).data?.data.sources;
  } catch {
    return undefined;
  }
}

function fieldsOf(error: z.ZodError): string {
  return [...new Set(error.issues.map((issue) => issue.path.join('.') || '(whole record)'))].join(', ');
}
