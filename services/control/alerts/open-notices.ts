import { type FilterStatus, OPEN_STATUSES, statusesOf } from '../../../shared/model/reasons';
import { type Notice } from './notice';
import { outageOf } from '../health/destination-health';
import { healthOfSome } from '../health/store';
import {
  type Database,
  databaseJson,
  WAIT_BRIEFLY,
  type Queries,
  waitedForLock,
} from '../history/database';

/** What open notices say changes while they are open: how many deliveries they are about. */

/** A notice with what it counts at the moment. */
export interface PresentNotice extends Notice {
  /** null: unknown, because others hold up the history */
  count: number | null;
  deliveries: { destination: string; status: FilterStatus; counted: true } | null;
}

/** The deliveries that an open notice of a kind is about. */
const STATUS_OF: Partial<Record<Notice['kind'], FilterStatus>> = {
  failing: 'pending',
  dead_letters: 'dead',
  partly_delivered: 'partly_delivered',
};

/** Returns the notices as they are now, in the same order. */
export async function presentNotices(
  database: Database,
  notices: readonly Notice[],
  { fullProfiles, nowMs }: { fullProfiles: number | undefined; nowMs: number },
): Promise<PresentNotice[]> {
  const open = notices.filter(({ kind, endedAt }) => endedAt === null && STATUS_OF[kind]);
  const ids = [...new Set(open.map(({ destination }) => destination))];
  const [counts, health] = await Promise.all([
    unlessHeldUp(database, (queries) => countsOf(queries, ids)),
    healthOfSome(database, ids),
  ]);
  return notices.map((notice) => {
    const { destination, kind, endedAt } = notice;
    const status = STATUS_OF[kind];
    if (endedAt !== null || status === undefined) {
      return { ...notice, count: fullNow(notice, fullProfiles), deliveries: null };
    }
    const countOf = (each: string) => counts?.get(`${destination} ${each}`) ?? 0;
    const count = counts ? statusesOf(status).reduce((sum, each) => sum + countOf(each), 0) : null;
    const known = kind === 'failing' ? health.get(destination) : undefined;
    const failures = (known && outageOf(known, nowMs)?.count) ?? 0;
    return {
      ...notice,
      count,
      deliveries: { destination, status, counted: true },
      failures: Math.max(failures, notice.failures),
      error: known?.error?.text ?? notice.error,
    };
  });
}

function fullNow({ kind, endedAt, fullProfiles }: Notice, now: number | undefined): number {
  return kind === 'profile_full' && endedAt === null ? (now ?? fullProfiles) : 0;
}

/**
 * SQL. An index has these deliveries; PostgreSQL uses it only for statuses that stand in the text.
 */
const HAS_COUNTED_STATUS = `status in (${[...OPEN_STATUSES, 'dead', 'partly_delivered']
  .map((status) => `'${status}'`)
  .join(', ')}) and not test`;

/**
 * Returns undefined if others hold up the history: notices must begin, and be seen, while they do.
 */
async function unlessHeldUp<T>(
  { transaction }: Database,
  ask: (queries: Queries) => Promise<T>,
): Promise<T | undefined> {
  try {
    return await transaction(async (queries) => {
      await queries.query(WAIT_BRIEFLY);
      return ask(queries);
    });
  } catch (error) {
    if (waitedForLock(error)) return undefined;
    throw error;
  }
}

async function countsOf(
  { query }: Queries,
  destinations: readonly string[],
): Promise<Map<string, number>> {
  if (destinations.length === 0) return new Map();
  const rows = await query<{ destination: string; status: string; count: number }>(
    `select destination, status, count(*)::bigint as count from waypost.deliveries
     where ${HAS_COUNTED_STATUS}
       and destination in (select jsonb_array_elements_text($1::jsonb))
     group by destination, status`,
    [databaseJson(destinations)],
  );
  return new Map(rows.map(({ destination, status, count }) => [`${destination} ${status}`, count]));
}

/** Returns the ids of the notices that no delivery is left of; undefined: others hold it up. */
export function overNow(
  database: Database,
  notices: readonly Notice[],
): Promise<Set<string> | undefined> {
  const about = notices.map(({ id, destination, kind }) => {
    return { id, destination, status: STATUS_OF[kind] };
  });
  return unlessHeldUp(database, async ({ query }) => {
    const rows = await query<{ id: string }>(
      `select id from jsonb_to_recordset($1::jsonb) as about(id text, destination text, status text)
       where not exists (
         select 1 from waypost.deliveries delivery
         where ${HAS_COUNTED_STATUS} and delivery.destination = about.destination
           and delivery.status = about.status
       )`,
      [databaseJson(about)],
    );
    return new Set(rows.map(({ id }) => id));
  });
}
