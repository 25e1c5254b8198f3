import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type Database } from '../../../services/control/history/database';
import { openPglite } from '../../../services/control/history/pglite';
import { openPostgres } from '../../../services/control/history/postgres';
import { migrate } from '../../../services/control/history/schema';
import { compact } from '../../../shared/collections/defined';
import { residents } from '../../harness/usage';
import { table } from '../../harness/table';
import { fill } from './fill';
import { type Past } from './past-events';
import { answerAll, type Answered } from './queries';

/**
 * Measures writes and queries of the history, and its disk and memory. Only missing rows are
 * inserted, so that a large data set can be built over several runs.
 */

const MB = 1024 * 1024;
const DAYS_MS = 14 * 86_400_000;
/** A fixed end, so that another run continues the same past. */
const END_MS = Date.parse('2026-11-21T00:00:00.000Z');

export async function measureDatabase({
  count,
  dir,
  url,
  fillMs,
  note,
}: {
  count: number;
  dir: string;
  url: string | undefined;
  /** limit of the time for inserts: another run continues */
  fillMs: number;
  note: (text: string) => void;
}): Promise<string> {
  const past: Past = { count, from: END_MS - DAYS_MS, to: END_MS };
  const database = await (url === undefined ? openPglite(dir) : openPostgres(url));
  try {
    await migrate(database);
    const from = await countOf(database);
    const rss = () => String(Math.round(residents({ it: process.pid }).it ?? NaN));
    const opened = rss();
    const { deliveries, events, ms, cpuUs } = await fill(database, past, {
      from,
      forMs: fillMs,
      note,
    });
    const perSecond = Math.round((events * 1_000) / ms);
    const filled = rss();
    const answered = await answerAll(database, past);
    return compact([
      `${database.kind}: ${String(from + deliveries)} deliveries`,
      events > 0
        ? `${String(events)} events written now, ${String(perSecond)} a second, ` +
          `${(cpuUs / events).toFixed(1)} µs of CPU each`
        : undefined,
      table([['question', 'rows', 'first ms', 'median ms', 'longest ms'], ...answered.map(lineOf)]),
      `memory of this process: ${opened} MB opened, ${filled} MB filled, ${rss()} MB at the end`,
      await sizeOf(database, url === undefined ? dir : undefined),
    ]).join('\n');
  } finally {
    await database.close();
  }
}

function lineOf({ question, rows, first, median, longest }: Answered): string[] {
  return [question, String(rows), ...[first, median, longest].map((ms) => ms.toFixed(1))];
}

async function countOf({ query }: Database): Promise<number> {
  const [row] = await query<{ count: number }>(
    'select count(*)::bigint as count from waypost.deliveries',
  );
  return row?.count ?? 0;
}

async function sizeOf({ query }: Database, dir: string | undefined): Promise<string> {
  const [row] = await query<{ rows: number; indexes: number }>(
    `select sum(pg_table_size(relid))::bigint as rows, sum(pg_indexes_size(relid))::bigint as indexes
     from pg_stat_user_tables
     where schemaname = 'waypost' and relname ~ '^(deliveries|responses)_'`,
  );
  const mb = (bytes: number) => `${String(Math.round(bytes / MB))} MB`;
  const files =
    dir === undefined
      ? ''
      : `; folder ${mb(bytesOf(dir))}, of it log ${mb(bytesOf(join(dir, 'pg', 'pg_wal')))}`;
  return `disk: rows ${mb(row?.rows ?? 0)}, indexes ${mb(row?.indexes ?? 0)}${files}`;
}

function bytesOf(dir: string): number {
  return readdirSync(dir, { withFileTypes: true }).reduce((sum, entry) => {
    const path = join(dir, entry.name);
    return sum + (entry.isDirectory() ? bytesOf(path) : statSync(path).size);
  }, 0);
}
