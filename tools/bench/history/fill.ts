import { type Database } from '../../../services/control/history/database';
import { readParts, recordEvents } from '../../../services/control/history/record-events';
import { cleanUp, keepWithin } from '../../../services/control/history/retention';
import { type TablePartition } from '../../../services/control/history/table-partitions';
import { clockMs } from '../../harness/timing';
import { eventsOf, type Past } from './past-events';

/** Writes a past into a database with the code of control, in batches of the same size. */

const BATCH = 2_000;
/** The interval at which control checks the disk space while it catches up. */
const KEEP_EVERY = 10 * BATCH;
const KEEP = { forMs: 365 * 86_400_000, maxBytes: Number.MAX_SAFE_INTEGER };
const EVERY = 100_000;

export interface Filled {
  deliveries: number;
  events: number;
  ms: number;
  /** CPU of this process, including the thread of the embedded database; µs */
  cpuUs: number;
}

/**
 * @param from number of existing deliveries
 * @param forMs time limit: another run continues
 */
export async function fill(
  database: Database,
  past: Past,
  { from, forMs, note }: { from: number; forMs: number; note: (text: string) => void },
): Promise<Filled> {
  let parts = await readParts(database);
  let written = new Map<string, number>();
  const changed = new Map<string, number>();
  const filled: Filled = { deliveries: 0, events: 0, ms: 0, cpuUs: 0 };
  const timed = async (work: () => Promise<void>) => {
    const [startedAt, cpu] = [clockMs(), process.cpuUsage()];
    await work();
    const { user, system } = process.cpuUsage(cpu);
    filled.ms += clockMs() - startedAt;
    filled.cpuUs += user + system;
  };
  for (let i = from; i < past.count && filled.ms < forMs; i += BATCH) {
    const batch = range(i, Math.min(past.count, i + BATCH)).flatMap((each) => eventsOf(past, each));
    if ((i - from) % EVERY === 0) note(`${String(i)} of ${String(past.count)} deliveries`);
    await timed(async () => {
      const { made, touched } = await database.transaction((transaction) =>
        recordEvents(transaction, batch, parts),
      );
      parts = [...parts, ...made];
      for (const [name, rows] of touched) {
        written.set(name, rows);
        changed.set(name, (changed.get(name) ?? 0) + rows);
      }
      if (i % KEEP_EVERY !== KEEP_EVERY - BATCH) return;
      parts = await keepWithin(database, KEEP, Date.parse(batch.at(-1)?.acceptedAt ?? ''), {
        written,
      });
      written = new Map();
      await cleanUp(database, parts, changed);
    });
    filled.deliveries += Math.min(BATCH, past.count - i);
    filled.events += batch.length;
  }
  await tidy(database, parts);
  return filled;
}

/** A server vacuums by itself a little later; control does it for the embedded database. */
async function tidy(database: Database, parts: readonly TablePartition[]): Promise<void> {
  for (const { name } of parts) await database.query(`vacuum analyze waypost.${name}`);
  await database.query('vacuum analyze waypost.counts');
  await database.query('checkpoint');
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, i) => from + i);
}
