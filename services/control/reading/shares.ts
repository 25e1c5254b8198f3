import { randomUUID } from 'node:crypto';
import { Periodic } from '../../../shared/runtime/async';
import { type Asking, type Database } from '../history/database';
import { NOW_MS } from '../history/leases';

/**
 * Divides the partitions among the control processes that use one database, so that each partition
 * has one reader. Every process says in the database that it lives, and all of them divide by the
 * same list.
 *
 * For a few seconds after a change two processes may read one partition. Then the positions decide
 * which one writes (reader.ts).
 */

const SAY_EVERY_MS = 3_000;
/** The partitions of a process that was killed go to the others after this time. */
const LIVES_MS = 12_000;

export class Shares {
  readonly #self = randomUUID();
  readonly #saying = new Periodic(SAY_EVERY_MS, () => this.refresh());
  /** where this process is in the list of all, and their number */
  #index = 0;
  #processes = 1;

  /** @param isOnlyProcess no other process uses the database */
  constructor(
    private readonly history: Asking,
    private readonly isOnlyProcess: boolean,
  ) {}

  owns(partition: number): boolean {
    return partition % this.#processes === this.#index;
  }

  /** Whether other processes read a part of the partitions. */
  get areSeveral(): boolean {
    return this.#processes > 1;
  }

  async start(): Promise<void> {
    if (this.isOnlyProcess) return;
    await this.#saying.now();
    this.#saying.start();
  }

  /** Leaves the partitions to the others. */
  async stop(): Promise<void> {
    if (this.isOnlyProcess) return;
    await this.#saying.stop();
    const leave = (database: Database) =>
      database.query('delete from waypost.processes where id = $1', [this.#self]);
    await this.history.ask(leave).catch(() => undefined);
  }

  /** Says that this process lives, and learns who else does. */
  async refresh(): Promise<void> {
    try {
      const all = await this.history.ask((database) => this.#say(database));
      this.#index = Math.max(0, all.indexOf(this.#self));
      this.#processes = Math.max(1, all.length);
    } catch {
      // Without the database nobody reads.
    }
  }

  async #say({ query }: Database): Promise<string[]> {
    await query(
      `insert into waypost.processes (id, until) values ($1, ${NOW_MS} + $2::bigint)
       on conflict (id) do update set until = excluded.until`,
      [this.#self, LIVES_MS],
    );
    await query(`delete from waypost.processes where until < ${NOW_MS} - $1::bigint`, [LIVES_MS]);
    const rows = await query<{ id: string }>(
      `select id from waypost.processes where until >= ${NOW_MS}`,
    );
    return rows.map(({ id }) => id).sort();
  }
}
