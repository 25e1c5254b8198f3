import { type Database } from '../../../services/control/history/database';
import { Forgotten } from '../../../services/control/history/deletions';
import { CountSums } from '../../../services/control/history/minute-counts';
import { fold, readParts } from '../../../services/control/history/record-events';
import { type Retention } from '../../../services/control/history/retention';
import { addCounts } from '../../../services/control/history/stored-counts';
import { StoredDeliveries } from '../../../services/control/history/stored-deliveries';
import { createLog } from '../../../shared/telemetry/log';
import { clockMs } from '../../harness/timing';
import { type Progress } from '../progress';
import { acceptedAtOf, eventsOf, type Past } from './past-events';
import { readSize } from './size';

/** Writes a past into a database with the code of control, by a clock that goes with the past. */

/** Rows that control writes in a transaction while it catches up. */
const BATCH = 2_000;
/** Deliveries after which control keeps the history within its limits: a minute at 300 a second. */
const MAINTAIN_EVERY = 9 * BATCH;

export interface Plan {
  past: Past;
  /** One of so many deliveries gets a row. The others only count. */
  rowEvery: number;
  keep: Retention;
}

export interface Filled {
  deliveries: number;
  /** events of the deliveries with a row */
  events: number;
  ms: number;
  /** CPU of this process, including the thread of the embedded database; µs */
  cpuUs: number;
  /** the most that the history took, just before control looked at its size */
  mostBytes: number;
  /** partitions that were dropped because the limit was reached */
  dropped: number;
}

/**
 * @param from number of deliveries that were written before
 * @param forMs time limit: another run continues
 */
export async function fill(
  database: Database,
  { past, rowEvery, keep }: Plan,
  { from, forMs, progress }: { from: number; forMs: number; progress: Progress },
): Promise<Filled> {
  let nowMs = past.from;
  const stored = new StoredDeliveries({
    keep,
    now: () => nowMs,
    log: createLog('bench', 'warn', process.stderr),
    forgotten: new Forgotten(),
  });
  // An earlier run on a server holds its lease for some minutes.
  await database.query(`delete from waypost.leases where name = 'retention'`);
  await stored.open(database);
  const partitions = new Set<string>();
  const filled: Filled = {
    deliveries: 0,
    events: 0,
    ms: 0,
    cpuUs: 0,
    mostBytes: 0,
    dropped: 0,
  };
  const timed = async (work: () => Promise<void>) => {
    const [startedAt, cpu] = [clockMs(), process.cpuUsage()];
    await work();
    const { user, system } = process.cpuUsage(cpu);
    filled.ms += clockMs() - startedAt;
    filled.cpuUs += user + system;
  };
  const maintain = async () => {
    const { bytes, names } = await readSize(database);
    filled.mostBytes = Math.max(filled.mostBytes, bytes);
    for (const name of names) partitions.add(name);
    await timed(() => stored.maintain(database));
    filled.dropped = partitions.size - (await readSize(database)).names.length;
  };
  const hasRow = (i: number) => i % rowEvery === 0;
  const counted = progress.counting('deliveries', past.count);
  const step = Math.min(BATCH * rowEvery, MAINTAIN_EVERY);
  let unmaintained = 0;
  for (let i = from; i < past.count && filled.ms < forMs; i += step) {
    const numbers = range(i, Math.min(past.count, i + step));
    const rows = numbers.filter(hasRow).flatMap((each) => eventsOf(past, each));
    const others = numbers.filter((each) => !hasRow(each)).map((each) => eventsOf(past, each));
    nowMs = acceptedAtOf(past, i + numbers.length);
    await timed(async () => {
      const committed = await database.transaction(async (transaction) => {
        const sums = new CountSums();
        for (const events of others) fold(undefined, events, sums);
        await addCounts(transaction, sums);
        return stored.record(transaction, rows);
      });
      committed();
    });
    filled.deliveries += numbers.length;
    filled.events += rows.length;
    unmaintained += numbers.length;
    counted(i + numbers.length);
    if (unmaintained < MAINTAIN_EVERY) continue;
    unmaintained = 0;
    await maintain();
  }
  await maintain();
  if (database.kind === 'server') await vacuum(database);
  await database.query('checkpoint');
  return filled;
}

/** A server does it by itself a little later. */
async function vacuum(database: Database): Promise<void> {
  for (const { name } of await readParts(database)) {
    await database.query(`vacuum analyze waypost.${name}`);
  }
  await database.query('vacuum analyze waypost.counts');
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, i) => from + i);
}
