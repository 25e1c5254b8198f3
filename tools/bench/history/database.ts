import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type Database } from '../../../services/control/history/database';
import { openPglite } from '../../../services/control/history/pglite';
import { openPostgres } from '../../../services/control/history/postgres';
import { migrate } from '../../../services/control/history/schema';
import { compact } from '../../../shared/collections/defined';
import { UsageError } from '../../harness/run-main';
import { residents } from '../../harness/usage';
import { table } from '../../harness/table';
import { type Progress } from '../progress';
import { fill, type Plan } from './fill';
import {
  answerAll,
  type Answered,
  listQuestions,
  overviewQuestions,
  type Questions,
} from './queries';
import { readKept, readSize } from './size';

/** Measures writes and queries of the history, and its disk and memory. */

const MB = 1024 * 1024;
const DAY_MS = 86_400_000;
/** A fixed end, so that another run continues the same past. */
const END_MS = Date.parse('2026-11-21T00:00:00.000Z');

export interface Measure {
  plan: Plan;
  /** Missing rows are inserted, so that a large data set can be built over several runs. */
  goesOn: boolean;
  questions: (database: Database) => Promise<Questions>;
}

export function fourteenDays(count = 1_000_000): Measure {
  const past = { count, from: END_MS - 14 * DAY_MS, to: END_MS, destinations: 50 };
  return {
    plan: {
      past,
      rowEvery: 1,
      keep: { forMs: 365 * DAY_MS, maxBytes: Number.MAX_SAFE_INTEGER },
    },
    goesOn: true,
    questions: async (database) => ({
      ...listQuestions(database, past),
      ...(await overviewQuestions(database, past, past.destinations)),
    }),
  };
}

const PER_SECOND = 300;
/** Of these destinations a tenth gets deliveries. */
const CONFIGURED = 30_000;
/** The default of an embedded database (WAYPOST_HISTORY_MAX_MB). */
const MAX_BYTES = 2_048 * MB;

/**
 * Hours at a constant rate. The rows of a day need many times the space that there is, so that the
 * limit is reached also with a part of them. Then the history is as large as with all rows, of a
 * longer time.
 * @param rows deliveries with a row; default: a tenth
 */
export function atTheLimit(hours: number, rows?: number): Measure {
  const count = PER_SECOND * 3_600 * hours;
  const past = {
    count,
    from: END_MS - hours * 3_600_000,
    to: END_MS,
    destinations: CONFIGURED / 10,
  };
  return {
    plan: {
      past,
      rowEvery: rows === undefined ? 10 : Math.max(1, Math.round(count / rows)),
      keep: { forMs: 30 * DAY_MS, maxBytes: MAX_BYTES },
    },
    goesOn: false,
    questions: (database) => overviewQuestions(database, past, CONFIGURED),
  };
}

export async function measureDatabase({
  measure: { plan, goesOn, questions },
  dir,
  url,
  fillMs,
  progress,
}: {
  measure: Measure;
  dir: string;
  url: string | undefined;
  /** limit of the time for inserts: another run continues */
  fillMs: number;
  progress: Progress;
}): Promise<string> {
  const database = await (url === undefined ? openPglite(dir) : openPostgres(url));
  try {
    await migrate(database);
    const from = await countOf(database);
    if (from > 0 && !goesOn) {
      throw new UsageError(`There is a history in ${url ?? dir} already: name another place.`);
    }
    const rss = () => String(Math.round(residents({ it: process.pid }).it ?? NaN));
    const opened = rss();
    const filled = await fill(database, plan, { from, forMs: fillMs, progress });
    const afterwards = rss();
    progress.note('questions');
    const answered = await answerAll(await questions(database));
    const { deliveries, events, ms, cpuUs, mostBytes, dropped } = filled;
    const perSecond = (count: number) => `${String(Math.round((count * 1_000) / ms))} a second`;
    return compact([
      `${database.kind}: ${String(from + deliveries)} deliveries` +
        (plan.rowEvery > 1 ? `, one of ${String(plan.rowEvery)} with a row` : ''),
      events > 0
        ? `${String(deliveries)} deliveries counted now, ${perSecond(deliveries)}; ` +
          `${String(events)} events written, ${perSecond(events)}, ` +
          `${(cpuUs / events).toFixed(1)} µs of CPU each`
        : undefined,
      table([['question', 'rows', 'first ms', 'median ms', 'longest ms'], ...answered.map(lineOf)]),
      `memory of this process: ${opened} MB opened, ${afterwards} MB filled, ${rss()} MB at the end`,
      goesOn
        ? undefined
        : `limit ${mb(plan.keep.maxBytes)}: at most ${mb(mostBytes)} taken, ` +
          `${String(dropped)} partitions dropped`,
      await keptIn(database),
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

async function keptIn(database: Database): Promise<string> {
  const { rows, minutes, hours } = await readKept(database);
  const since = (ms: number | null) => (ms === null ? 'none' : new Date(ms).toISOString());
  return `kept: rows since ${since(rows)}, minutes ${since(minutes)}, hours ${since(hours)}`;
}

async function sizeOf(database: Database, dir: string | undefined): Promise<string> {
  const { rowBytes, indexBytes, names } = await readSize(database);
  const files =
    dir === undefined
      ? ''
      : `; folder ${mb(bytesOf(dir))}, of it log ${mb(bytesOf(join(dir, 'pg', 'pg_wal')))}`;
  return (
    `disk: rows and counts ${mb(rowBytes)}, indexes ${mb(indexBytes)}, ` +
    `${String(names.length)} partitions${files}`
  );
}

function mb(bytes: number): string {
  return `${String(Math.round(bytes / MB))} MB`;
}

function bytesOf(dir: string): number {
  return readdirSync(dir, { withFileTypes: true }).reduce((sum, entry) => {
    const path = join(dir, entry.name);
    return sum + (entry.isDirectory() ? bytesOf(path) : statSync(path).size);
  }, 0);
}
