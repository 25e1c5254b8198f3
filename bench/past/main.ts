import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type Database } from '../../services/control/history/database';
import { openPglite } from '../../services/control/history/pglite';
import { openPostgres } from '../../services/control/history/postgres';
import { migrate } from '../../services/control/history/schema';
import { residents } from '../memory';
import { table } from '../table';
import { type Past } from './events';
import { fill } from './fill';
import { type Answered, answerAll } from './questions';

/**
 * `npm run bench:history`: how long the history takes to write and to find, and what it takes of disk and memory. Filled
 * is what is missing, so that a large one may take several runs.
 */

const MB = 1024 * 1024;
const DAYS_MS = 14 * 86_400_000;
/** A fixed end, so that another run goes on with the same past. */
const END_MS = Date.parse('2026-11-21T00:00:00.000Z');

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      count: { type: 'string', default: '1000000' },
      dir: { type: 'string', default: '.waypost/bench-history' },
      url: { type: 'string' },
      'fill-seconds': { type: 'string', default: '3600' },
    },
  });
  const past: Past = { count: Number(values.count), from: END_MS - DAYS_MS, to: END_MS };
  const note = (text: string) => console.error(`bench: ${text}`);
  const database = await (values.url === undefined ? openPglite(values.dir) : openPostgres(values.url));
  await migrate(database);
  const from = await countOf(database);
  const rss = () => Math.round(residents({ it: process.pid }).it ?? NaN);
  const opened = rss();
  const filled = await fill(database, past, { from, forMs: Number(values['fill-seconds']) * 1_000, note });
  const perSecond = Math.round((filled.events * 1_000) / filled.ms);
  console.log(
    `${database.kind}: ${String(from + filled.deliveries)} deliveries, ${String(filled.events)} events written`,
  );
  if (filled.events > 0) console.log(`written at ${String(perSecond)} events a second`);
  console.log(`memory of this process: ${String(opened)} MB opened, ${String(rss())} MB filled`);
  const answered = await answerAll(database, past);
  console.log(table([['question', 'rows', 'first ms', 'median ms', 'longest ms'], ...answered.map(lineOf)]));
  console.log(`memory of this process: ${String(rss())} MB at the end`);
  console.log(await sizeOf(database, values.url === undefined ? values.dir : undefined));
  await database.close();
}

function lineOf({ question, rows, first, median, longest }: Answered): string[] {
  return [question, String(rows), ...[first, median, longest].map((ms) => ms.toFixed(1))];
}

async function countOf({ query }: Database): Promise<number> {
  const [row] = await query<{ count: number }>('select count(*)::bigint as count from waypost.deliveries');
  return row?.count ?? 0;
}

async function sizeOf({ query }: Database, dir: string | undefined): Promise<string> {
  const [row] = await query<{ rows: number; indexes: number }>(
    `select sum(pg_table_size(('waypost.' || name)::regclass))::bigint as rows,
       sum(pg_indexes_size(('waypost.' || name)::regclass))::bigint as indexes from waypost.parts`,
  );
  const mb = (bytes: number) => `${String(Math.round(bytes / MB))} MB`;
  const files =
    dir === undefined ? '' : `; folder ${mb(bytesOf(dir))}, of it log ${mb(bytesOf(join(dir, 'pg', 'pg_wal')))}`;
  return `disk: rows ${mb(row?.rows ?? 0)}, indexes ${mb(row?.indexes ?? 0)}${files}`;
}

function bytesOf(dir: string): number {
  return readdirSync(dir, { withFileTypes: true }).reduce((sum, entry) => {
    const path = join(dir, entry.name);
    return sum + (entry.isDirectory() ? bytesOf(path) : statSync(path).size);
  }, 0);
}

main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exit(1);
});
