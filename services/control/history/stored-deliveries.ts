import { randomUUID } from 'node:crypto';
import { type DeliveryEvent } from '../../../shared/model/attempt-events';
import { messageOf } from '../../../shared/runtime/errors';
import { type Log } from '../../../shared/telemetry/log';
import { type Database, faultOf, type Transaction } from './database';
import { type Forgotten } from './deletions';
import { takeLease } from './leases';
import { type Event } from './parse-events';
import { acceptedAtIn, readParts, recordEvents } from './record-events';
import { cleanUp, keepWithin, type Retention } from './retention';
import { thinSyncs } from './syncs';
import { type TablePartition } from './table-partitions';

/**
 * Writes events into the partitions of the deliveries, and maintains these. Its caller runs one
 * call at a time.
 */

/**
 * Longer than indexing a large partition takes. After a crash another process takes over retention
 * after this time.
 */
const LEASE_MS = 600_000;
/**
 * While it catches up, a process can write more in a minute than the size limit leaves room for.
 * This is about 15 MB.
 */
const MAINTAIN_AFTER_ROWS = 20_000;
/** Makes the next run vacuum after a deletion, even if it removed few rows. */
const CLEAN_UP_SOON = 1_000_000;

export class StoredDeliveries {
  #parts: TablePartition[] = [];
  /** rows of each partition updated since its last vacuum */
  readonly #changed = new Map<string, number>();
  /** rows of each partition written since the last maintenance */
  #written = new Map<string, number>();
  /** rows written since the last maintenance */
  #unlooked = 0;
  /** another process may have made or ended a partition */
  #isOutdated = false;
  readonly #owner = randomUUID();

  constructor(
    private readonly options: {
      keep: Retention;
      now: () => number;
      log: Log;
      forgotten: Forgotten;
    },
  ) {}

  /** Learns the partitions of a database. */
  async open(database: Database): Promise<void> {
    this.#parts = await readParts(database);
  }

  get isMaintenanceDue(): boolean {
    return this.#unlooked >= MAINTAIN_AFTER_ROWS;
  }

  cleanUpSoon(): void {
    for (const { name } of this.#parts) this.#changed.set(name, CLEAN_UP_SOON);
  }

  /** Writes events. @returns what to do once the transaction is committed */
  async record(transaction: Transaction, events: readonly Event[]): Promise<() => void> {
    const { keep, now, forgotten } = this.options;
    const oldest = now() - keep.forMs;
    const kept = events.filter(
      (event) => event.kind === 'circuit' || acceptedAtIn(event) >= oldest,
    );
    const parts = this.#isOutdated ? await readParts(transaction) : this.#parts;
    await forgotten.learn(transaction, transaction.kind, now());
    const admit = (event: DeliveryEvent) => !forgotten.has(event, acceptedAtIn(event));
    this.#isOutdated = true;
    const { made, touched } = await recordEvents(transaction, kept, parts, admit);
    return () => {
      this.#isOutdated = false;
      this.#parts = [...parts, ...made];
      for (const [name, rows] of touched) {
        this.#written.set(name, rows);
        this.#changed.set(name, (this.#changed.get(name) ?? 0) + rows);
      }
      this.#unlooked += kept.length;
    };
  }

  /** Keeps the database within its limits, if no other process does. */
  async maintain(database: Database): Promise<void> {
    const { keep, now, log } = this.options;
    this.#unlooked = 0;
    // Only one process may drop partitions.
    if (!(await takeLease(database, 'retention', { owner: this.#owner, forMs: LEASE_MS }))) {
      this.#parts = await readParts(database);
      return;
    }
    const written = this.#written;
    this.#written = new Map();
    const onFailure = (what: string, error: unknown) => {
      if (faultOf(error, database) === 'away') throw error;
      log.error({ what, reason: messageOf(error) }, 'history.maintenance_failed');
    };
    this.#parts = await keepWithin(database, keep, now(), { written, onFailure });
    await thinSyncs(database, now(), now() - keep.forMs);
    await cleanUp(database, this.#parts, this.#changed);
  }
}
