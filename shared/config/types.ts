import { type Audience, type ComputedTrait } from '../model/audience-definition';
import {
  type ConfigRecord,
  type Destination,
  type Kind,
  type Kinds,
  type Source,
  type SystemEntry,
  type Token,
} from '../model/config';

/** An entry of `config` with its version, which `ETag` and `If-Match` refer to. */
export interface Entry<T> {
  version: number;
  data: T;
}

/** The `config` that every service follows in memory. */
export interface ConfigView {
  source(id: string): Entry<Source> | undefined;
  /**
   * Returns the source that a write key opens now, enabled or not. The key is the present one, or a
   * rotated one before its `until`.
   */
  sourceByWriteKey(key: string, nowMs: number): Entry<Source> | undefined;
  token(id: string): Entry<Token> | undefined;
  /** undefined until control has written it into an empty `config` */
  system(): Entry<SystemEntry> | undefined;
  audience(id: string): Entry<Audience> | undefined;
  computedTrait(id: string): Entry<ComputedTrait> | undefined;
  destination(id: string): Entry<Destination> | undefined;
  /** Returns the destinations connected to the source, on or off. */
  destinationsOf(sourceId: string): readonly Entry<Destination>[];
  /** Returns the entries of a kind: the same list until one of them changes. */
  list<K extends Kind>(kind: K): readonly Entry<Kinds[K]>[];
  /**
   * Returns whether this process cannot read the last record of an entry. The known state of the
   * entry may then be wrong.
   */
  isUnreadable(kind: Kind, id: string): boolean;
  /**
   * Returns the ids of unreadable destinations that may be connected to the source: by their last
   * readable record, or by the part of the unreadable one that this process understands.
   */
  unreadableDestinationsOf(sourceId: string): readonly string[];
}

export interface ConfigReader extends ConfigView {
  /**
   * Resolves when everything that was in `config` at the time of the call is known here. Concurrent
   * calls share a read.
   * @throws AppError `kafka_unavailable` after `deadlineMs`
   */
  refresh(deadlineMs: number): Promise<void>;
  /** Everything in `config` up to this time, by `performance.now()`, is known here. */
  readonly completeAt: number;
  /**
   * Lets `completeAt` advance soon, and about ten times a second for the next seconds: somebody
   * waits for it.
   */
  expectSoon(): void;
  /**
   * Called each time `completeAt` advances: at least every five seconds while Kafka can be read.
   */
  onComplete(listener: () => void): void;
  /** number of `config` records read */
  readonly changes: number;
  /**
   * offset behind the last record of `config` that was read. A process with a higher one knows
   * more; it falls when `config` was cut or restored.
   */
  readonly position: number;
  /** why the reader must be considered stuck; undefined while it is well, or Kafka is away */
  stuck(): string | undefined;
  /** Called after each record that was applied. */
  onChange(listener: (record: ConfigRecord) => void): void;
  stop(): Promise<void>;
}

/** Returns the time since all of `config` was known, ms; Infinity if it never was. */
export function configAgeMs({ completeAt }: Pick<ConfigReader, 'completeAt'>): number {
  return performance.now() - completeAt;
}
