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

/** An entry of `config` with the version that `ETag` and `If-Match` speak of. */
export interface Entry<T> {
  version: number;
  data: T;
}

/** What every service knows of `config`: in memory, followed live. */
export interface ConfigView {
  source(id: string): Entry<Source> | undefined;
  /** The source that a write key opens now: enabled or not, the key present or rotated and not yet past its `until`. */
  sourceByWriteKey(key: string, nowMs: number): Entry<Source> | undefined;
  token(id: string): Entry<Token> | undefined;
  /** undefined in a system that an earlier version made, until `config reseal` */
  system(): Entry<SystemEntry> | undefined;
  audience(id: string): Entry<Audience> | undefined;
  computedTrait(id: string): Entry<ComputedTrait> | undefined;
  destination(id: string): Entry<Destination> | undefined;
  /** Connected to the source, on or off. */
  destinationsOf(sourceId: string): readonly Entry<Destination>[];
  list<K extends Kind>(kind: K): readonly Entry<Kinds[K]>[];
  /** Whether the last record of an entry cannot be read by this process: what is known of the entry may be wrong. */
  isUnreadable(kind: Kind, id: string): boolean;
}

export interface ConfigReader extends ConfigView {
  /**
   * Resolves when all that was in `config` at the time of the call is known here. Calls at the same time share one look.
   * @throws AppError `kafka_unavailable` after `deadlineMs`
   */
  refresh(deadlineMs: number): Promise<void>;
  /** All that was in `config` at this moment, by `performance.now()`, is known here. */
  readonly completeAt: number;
  /** Called each time `completeAt` has moved on: about ten times a second while Kafka can be read. */
  onComplete(listener: () => void): void;
  /** how many records of `config` were read */
  readonly changes: number;
  /** why the reader must be considered stuck; undefined while it is well, or Kafka is away */
  stuck(): string | undefined;
  /** Called after each record that was applied. */
  onChange(listener: (record: ConfigRecord) => void): void;
  stop(): Promise<void>;
}

/** Returns how long ago all of `config` was known, ms; Infinity where it never was. */
export function configAgeMs({ completeAt }: Pick<ConfigReader, 'completeAt'>): number {
  return performance.now() - completeAt;
}
