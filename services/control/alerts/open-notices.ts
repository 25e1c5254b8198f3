import { type FilterStatus, OPEN_STATUSES, statusesOf } from '../../../shared/model/reasons';
import { type ConfigView } from '../../../shared/config/types';
import { type Notice } from './notice';
import { outageOf } from '../health/destination-health';
import { healthOfSome } from '../health/store';
import { type Database, databaseJson, type Queries, waitedForLock } from '../history/database';
import { type History } from '../history/history';
import { COUNTED_KINDS, endNotices, openNotices } from './store';

/**
 * What open notices say changes while they are open: how many deliveries they are about. A notice
 * about dead letters, or about deliveries that lack a URL, ends when no such delivery is left.
 */

/** A notice with what it counts at the moment. */
export interface PresentNotice extends Notice {
  /** null: unknown, because others hold up the history */
  count: number | null;
  deliveries: { destination: string; status: FilterStatus } | null;
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
    countsNow(database, ids),
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
      deliveries: { destination, status },
      failures: Math.max(failures, notice.failures),
      error: known?.error?.text ?? notice.error,
    };
  });
}

function fullNow({ kind, endedAt, fullProfiles }: Notice, now: number | undefined): number {
  return kind === 'profile_full' && endedAt === null ? (now ?? fullProfiles) : 0;
}

const COUNTED_STATUSES = [...OPEN_STATUSES, 'dead', 'partly_delivered'];

/** Returns undefined if others hold up the history: notices must be seen while they do. */
async function countsNow(
  { transaction }: Database,
  destinations: readonly string[],
): Promise<Map<string, number> | undefined> {
  try {
    return await transaction(async (queries) => {
      await queries.query(`set local lock_timeout = '1s'`);
      return countsOf(queries, destinations);
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
     where status in (select jsonb_array_elements_text($1::jsonb)) and not test
       and destination in (select jsonb_array_elements_text($2::jsonb))
     group by destination, status`,
    [databaseJson(COUNTED_STATUSES), databaseJson(destinations)],
  );
  return new Map(rows.map(({ destination, status, count }) => [`${destination} ${status}`, count]));
}

/** Where nothing is left, the query reads all deliveries of the destination. */
const POLL_EVERY_MS = 10_000;

export interface OpenNoticesOptions {
  history: Pick<History, 'ask'>;
  config: Pick<ConfigView, 'destination'>;
}

/** Ends the notices that nothing is left of. The caller holds the lease. */
export class OpenNotices {
  #polledAt = -Infinity;

  constructor(private readonly options: OpenNoticesOptions) {}

  /** @param at the time up to which the history has read `attempts` */
  async poll(at: Date): Promise<void> {
    const nowMs = at.getTime();
    // A clock that is set back must not stop it.
    if (Math.abs(nowMs - this.#polledAt) < POLL_EVERY_MS) return;
    const { history, config } = this.options;
    await history.ask((database) =>
      database.transaction(async (queries) => {
        const open = await openNotices(queries, COUNTED_KINDS);
        if (open.length === 0) return;
        const left = await leftOf(queries, open);
        const over = open.filter(
          ({ kind, destination }) =>
            !left.has(`${destination} ${STATUS_OF[kind] ?? ''}`) ||
            config.destination(destination) === undefined,
        );
        await endNotices(
          queries,
          over.map(({ id }) => ({ id, at: nowMs })),
        );
      }),
    );
    this.#polledAt = nowMs;
  }
}

/** Returns what these notices are about, as far as there is such a delivery. */
async function leftOf({ query }: Queries, notices: readonly Notice[]): Promise<Set<string>> {
  const about = notices.map(({ destination, kind }) => ({ destination, status: STATUS_OF[kind] }));
  const rows = await query<{ destination: string; status: string }>(
    `select destination, status
     from jsonb_to_recordset($1::jsonb) as about(destination text, status text)
     where exists (
       select 1 from waypost.deliveries delivery
       where delivery.destination = about.destination
         and delivery.status = about.status and not delivery.test
     )`,
    [databaseJson(about)],
  );
  return new Set(rows.map(({ destination, status }) => `${destination} ${status}`));
}
