import { type Audience, type ComputedTrait } from '../domain/definition';
import {
  type ConfigRecord,
  type Destination,
  type Kind,
  type Kinds,
  type Source,
  type SystemEntry,
  type Token,
} from '../domain/config';

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
}

export interface ConfigReader extends ConfigView {
  /**
   * Resolves when all that was in `config` at the time of the call is known here. Calls at the same time share one look.
   * @throws AppError `kafka_unavailable` after `deadlineMs`
   */
  refresh(deadlineMs: number): Promise<void>;
  /** Called after each record that was applied. */
  onChange(listener: (record: ConfigRecord) => void): void;
  stop(): Promise<void>;
}
