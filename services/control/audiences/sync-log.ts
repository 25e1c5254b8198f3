import { type ConfigView } from '../../../shared/config/types';
import { type StatusValue } from '../../../shared/model/profile-records';
import { messageOf } from '../../../shared/runtime/errors';
import { type Log } from '../../../shared/telemetry/log';
import { saveSyncs, type SyncRow, thinnedBefore } from '../history/syncs';
import { Periodic } from '../../../shared/runtime/async';
import { type Counted, type DefinitionStatus } from './status';
import { type Asking } from '../history/database';

/**
 * Aggregates the partitions' reports of syncs in steps of time, and writes them every few seconds.
 * After a start of control all reports are read again: unchanged steps change nothing (store.ts),
 * and a step is not written until all its partitions have been read again.
 */
export interface SyncLogOptions {
  history: Asking;
  config: Pick<ConfigView, 'audience' | 'computedTrait'>;
  status: (
    definition: string,
    counted: Counted,
  ) => Pick<DefinitionStatus, 'members' | 'sent' | 'waiting' | 'partitions'>;
  /** all reports from before the start have been read */
  isCaughtUp: () => boolean;
  now: () => number;
  log: Log;
}

const WRITE_EVERY_MS = 5_000;
/** Shorter intervals are aggregated: people look at minutes. */
const SHORTEST_STEP_MS = 10_000;
/** Rows kept while the database is away: a day of ten audiences at the default interval. */
const MAX_WAITING = 20_000;

type Row = SyncRow & { partitions: number };

export class SyncLog {
  /** by definition and bucket */
  readonly #rows = new Map<string, Row>();
  readonly #changed = new Set<string>();
  /** time of the last sync that was added, by definition and partition */
  readonly #added = new Map<string, number>();
  readonly #writing = new Periodic(WRITE_EVERY_MS, () => this.#write());

  constructor(private readonly options: SyncLogOptions) {}

  start(): void {
    this.#writing.start();
  }

  /** Adds the report of a partition. Call it after the report is part of `status`. */
  add({ definition, partition, revision, lastSync, at }: StatusValue): void {
    const { status, now } = this.options;
    const known = this.#definition(definition);
    if (!known || !lastSync || known.revision !== revision) return;
    const syncAt = Date.parse(lastSync.at);
    const stepMs = Math.max(SHORTEST_STEP_MS, known.syncEveryMs);
    const bucket = Math.floor(syncAt / stepMs) * stepMs;
    // The bucket was thinned, and the sync would count twice.
    if (bucket < thinnedBefore(now())) return;
    const key = `${definition} ${bucket}`;
    const from = `${definition} ${partition}`;
    const isNew = syncAt > (this.#added.get(from) ?? 0);
    const row = this.#rows.get(key);
    if (!row && !isNew) return;
    if (isNew) this.#added.set(from, syncAt);
    const { members, sent, waiting, partitions } = status(definition, known);
    this.#rows.set(key, {
      definition,
      bucket,
      members,
      sent,
      waiting,
      partitions,
      at: Math.max(row?.at ?? 0, syncAt),
      said: Math.max(row?.said ?? 0, Date.parse(at)),
      looked: (row?.looked ?? 0) + (isNew ? lastSync.looked : 0),
      changed: (row?.changed ?? 0) + (isNew ? lastSync.told : 0),
    });
    this.#changed.add(key);
  }

  /** Never throws: rows that could not be written wait. */
  write(): Promise<void> {
    return this.#writing.now();
  }

  stop(): Promise<void> {
    return this.#writing.end();
  }

  async #write(): Promise<void> {
    const { history, isCaughtUp, log } = this.options;
    if (!isCaughtUp() || this.#changed.size === 0) return;
    const keys = [...this.#changed];
    this.#changed.clear();
    const rows = keys.flatMap((key) => this.#whole(key) ?? []);
    try {
      if (rows.length > 0) await history.ask((database) => saveSyncs(database, rows));
      this.#forget();
    } catch (error) {
      log.debug({ reason: messageOf(error) }, 'syncs.not_stored');
      for (const key of keys.slice(-MAX_WAITING)) this.#changed.add(key);
      for (const key of keys.slice(0, -MAX_WAITING)) this.#rows.delete(key);
    }
  }

  /** Returns the row, unless some partitions have not reported yet: its size would be too small. */
  #whole(key: string): SyncRow | undefined {
    const row = this.#rows.get(key);
    const known = row && this.#definition(row.definition);
    if (!row || !known) return undefined;
    const { partitions, ...written } = row;
    return partitions >= this.options.status(row.definition, known).partitions
      ? written
      : undefined;
  }

  #definition(id: string) {
    const { config } = this.options;
    return (config.audience(id) ?? config.computedTrait(id))?.data;
  }

  /**
   * Drops all but the last two rows of each definition, since older ones no longer change, and what
   * is known of deleted definitions.
   */
  #forget(): void {
    const seen = new Map<string, number>();
    for (const [key, { definition }] of [...this.#rows].reverse()) {
      const count = (seen.get(definition) ?? 0) + 1;
      seen.set(definition, count);
      const isOver = count > 2 || !this.#definition(definition);
      if (isOver && !this.#changed.has(key)) this.#rows.delete(key);
    }
    for (const key of this.#added.keys()) {
      const [definition = ''] = key.split(' ');
      if (!this.#definition(definition)) this.#added.delete(key);
    }
  }
}
