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
import { type ConfigPart, WHOLE } from './config-subset';
import { ConfigIndex } from './config-index';
import { parseRecord, sourcesIn } from './parse-record';
import { type ConfigView, type Entry } from './types';

/**
 * The state of `config` after the records read so far.
 *
 * All readers of the same records hold the same state, because a record counts only if it replaces
 * the present version or a later one. The first of two concurrent writers in the log therefore wins
 * for every reader: the second replaces an earlier version. A later version is one that this
 * process could not read. The only exception is an unknown key: any version counts there, since
 * compaction removes the records before it. After compaction, an ignored last record would mislead
 * a new reader; `unsettled` lists such keys.
 *
 * A record that must not be believed (authentication.ts) is treated as unreadable: the present
 * entry stays in force, and control appends it again. A reader with a key also follows what a
 * reader without a key believes, by the same rule: control must replace that version too. A deleted
 * token keeps the record of its deletion instead of a tombstone. Otherwise an old record of it,
 * whose authentication is valid, would bring it back.
 */

/** What readers who believe every record hold for a key. */
interface Believed {
  version: number;
  /** a tombstone removes it */
  isRemovable: boolean;
  /** it is the record in force here */
  isInForce: boolean;
}

type Refused = Exclude<ReturnType<typeof parseRecord>, { record: ConfigRecord }>;
type Older = Extract<Refused, { format: number }>;

/** Returns whether the record of a deletion stays in `config`; a tombstone follows the others. */
export function keepsDeletion(kind: Kind): boolean {
  return kind === 'token';
}

const DESTINATION = configKey('destination', '');
const NONE: readonly string[] = [];

/** The result of applying a record. */
export type ApplyResult =
  | { kind: 'applied'; record: ConfigRecord }
  /** the tombstone of a deleted entry */
  | { kind: 'removed'; key: string }
  | { kind: 'ignored'; key: string; reason: string }
  | Refused;

export class ConfigState implements ConfigView {
  /** an entry, or the mark of its deletion, by key */
  readonly #stored = new Map<string, ConfigRecord>();
  /** the entries by kind and id, in the order of first appearance */
  readonly #entries = new Map<Kind, Map<string, Entry<Kinds[Kind]>>>();
  /** lists of `#entries`, made on demand */
  readonly #lists = new Map<Kind, readonly Entry<Kinds[Kind]>[]>();
  readonly #unsettled = new Set<string>();
  /**
   * by key: entries whose last record is unreadable, with the sources of its destination, as far as
   * they are known
   */
  readonly #unreadable = new Map<string, readonly string[]>();
  /** by key */
  readonly #believed = new Map<string, Believed>();
  readonly #index = new ConfigIndex();
  /** the first record of an earlier build that nobody authenticated */
  #older: Older | undefined;

  constructor(private readonly part: ConfigPart = WHOLE) {}

  /**
   * Applies the next record of the log. Never throws. `value` null is a tombstone.
   * @param distrust why the record must not be believed
   */
  apply(key: string, value: string | null, distrust?: string): ApplyResult {
    if (value === null) return this.#applyTombstone(key);
    const parsed = parseRecord(key, value);
    const isBelieved = 'record' in parsed && this.#believe(key, parsed.record, distrust);
    // First: the format that a stranger names must not end the process.
    if (distrust !== undefined) {
      if ('kind' in parsed && parsed.kind === 'older') this.#older ??= parsed;
      return this.#refuse(key, value, { kind: 'unreadable', key, reason: distrust });
    }
    if ('kind' in parsed) return this.#refuse(key, value, parsed);
    const record = this.part.trim(parsed.record);
    const present = this.#stored.get(key);
    const isNext = replacesVersion(record, present?.version);
    // A record with the same content (a repeated append, or two repairs at the same time) is
    // harmless.
    const isInForce = isNext || (present && contentOf(record) === contentOf(present)) === true;
    const believed = this.#believed.get(key);
    if (believed) believed.isInForce = isBelieved ? isInForce : believed.isInForce && !isNext;
    // The tombstone of a deleted entry settles it.
    if (isInForce && believed?.isInForce && !isRemovable(record)) this.#unsettled.delete(key);
    else this.#unsettled.add(key);
    if (present && !isNext) {
      return {
        kind: 'ignored',
        key,
        reason:
          `it replaces version ${record.replaces}, but the present version is ` +
          `${present.version}`,
      };
    }
    this.#unreadable.delete(key);
    this.#stored.set(key, record);
    const { kind, id, version, data } = record;
    this.#lists.delete(kind);
    if (data === undefined) this.#entries.get(kind)?.delete(id);
    else this.#entriesOf(kind).set(id, { version, data });
    this.#index.replace(present, record);
    return { kind: 'applied', record };
  }

  #refuse(key: string, value: string, verdict: Refused): Refused {
    const sources = sourcesIn(value) ?? this.#unreadable.get(key) ?? NONE;
    this.#unreadable.set(key, [...sources, ...this.#sourcesOf(key)]);
    // Compaction would keep only this record, and later readers would lose the entry.
    if (verdict.kind === 'unreadable' && this.#stored.has(key)) this.#unsettled.add(key);
    return verdict;
  }

  /** Applies a record as readers do who believe every record; returns whether they apply it. */
  #believe(key: string, record: ConfigRecord, distrust: string | undefined): boolean {
    // They hold no tokens.
    if (distrust !== undefined && keepsDeletion(record.kind)) return false;
    if (!replacesVersion(record, this.#believed.get(key)?.version)) return false;
    this.#believed.set(key, {
      version: record.version,
      isRemovable: isRemovable(record),
      isInForce: false,
    });
    return true;
  }

  /**
   * Returns the version that the next record of a key must replace, so that every reader applies
   * it.
   */
  lastVersion(key: string): number {
    const [here, there] = [this.#stored.get(key), this.#believed.get(key)];
    return Math.max(here?.version ?? 0, there?.version ?? 0);
  }

  #applyTombstone(key: string): ApplyResult {
    if (this.#believed.get(key)?.isRemovable) this.#believed.delete(key);
    if (this.#believed.get(key)?.isInForce !== false) this.#unreadable.delete(key);
    const present = this.#stored.get(key);
    if (present && !isRemovable(present)) {
      this.#unsettled.add(key);
      return { kind: 'ignored', key, reason: 'a tombstone for an entry that is not deleted' };
    }
    this.#stored.delete(key);
    this.#unsettled.delete(key);
    return { kind: 'removed', key };
  }

  /**
   * Keys whose last record in the log is not the one in force. A reader that starts after
   * compaction sees only that record and would apply it. The writer must therefore append the
   * record in force again (writer.ts).
   */
  unsettled(): readonly string[] {
    return [...this.#unsettled];
  }

  /** Returns the records in force, also of deletions. */
  records(): Iterable<ConfigRecord> {
    return this.#stored.values();
  }

  /** Returns the record in force for a key, possibly a deletion. */
  recordAt(key: string): ConfigRecord | undefined {
    return this.#stored.get(key);
  }

  /**
   * Returns a record of an earlier build if there is nothing else: these builds did not
   * authenticate their records. Beside records of this build, it is a stranger's.
   */
  olderData(): Older | undefined {
    return this.#stored.size === 0 ? this.#older : undefined;
  }

  isUnreadable(kind: Kind, id: string): boolean {
    return this.#unreadable.has(configKey(kind, id));
  }

  /** Keys of which nothing is in force, but which are unreadable, or believed by others. */
  refused(): readonly string[] {
    const keys = new Set([...this.#unreadable.keys(), ...this.#believed.keys()]);
    return [...keys].filter((key) => !this.#stored.has(key));
  }

  unreadableDestinationsOf(sourceId: string): readonly string[] {
    if (this.#unreadable.size === 0) return NONE;
    return [...this.#unreadable].flatMap(([key, sources]) => {
      return key.startsWith(DESTINATION) && sources.includes(sourceId)
        ? [key.slice(DESTINATION.length)]
        : [];
    });
  }

  /** Number of entries whose last record is unreadable. */
  get unreadable(): number {
    return this.#unreadable.size;
  }

  unreadableKeys(): readonly string[] {
    return [...this.#unreadable.keys()];
  }

  /** Returns the sources by the last readable record of a destination. */
  #sourcesOf(key: string): readonly string[] {
    const data = this.#stored.get(key)?.data;
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

  sourceByWriteKey(key: string, nowMs: number): Entry<Source> | undefined {
    const found = this.#index.openedBy(key);
    return found && (found.until === undefined || nowMs < found.until) ? found.entry : undefined;
  }

  destinationsOf(sourceId: string): readonly Entry<Destination>[] {
    return this.#index.destinationsOf(sourceId);
  }

  /**
   * In the order of first appearance. This is the order of creation until the topic is compacted.
   */
  list<K extends Kind>(kind: K): readonly Entry<Kinds[K]>[] {
    let list = this.#lists.get(kind);
    if (!list) this.#lists.set(kind, (list = [...this.#entriesOf(kind).values()]));
    return list as readonly Entry<Kinds[K]>[];
  }

  #entriesOf(kind: Kind): Map<string, Entry<Kinds[Kind]>> {
    let entries = this.#entries.get(kind);
    if (!entries) {
      if (this.part.skips.has(kind)) {
        throw new Error(`this service does not hold entries of kind ${kind}`);
      }
      entries = new Map<string, Entry<Kinds[Kind]>>();
      this.#entries.set(kind, entries);
    }
    return entries;
  }

  #entry<K extends Kind>(kind: K, id: string): Entry<Kinds[K]> | undefined {
    return this.#entriesOf(kind).get(id) as Entry<Kinds[K]> | undefined;
  }
}

/** Returns whether the record counts for a reader that holds the version. */
function replacesVersion({ replaces }: ConfigRecord, held: number | undefined): boolean {
  return held === undefined || replaces >= held;
}

/** Returns whether a tombstone removes the record. */
function isRemovable({ kind, data }: ConfigRecord): boolean {
  return data === undefined && !keepsDeletion(kind);
}

function contentOf({ version, data }: ConfigRecord): string {
  return JSON.stringify([version, data]);
}
