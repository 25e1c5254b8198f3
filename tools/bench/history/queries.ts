import { countableSpan, spanOf } from '../../../services/control/history/count-series';
import { type Database } from '../../../services/control/history/database';
import { type Filter } from '../../../services/control/history/filter';
import {
  countDeliveries,
  countsBetween,
  countsInSteps,
  getDelivery,
  listDeliveries,
  newestDead,
  openDeliveries,
  trendsInSteps,
  withSince,
} from '../../../services/control/history/queries';
import { oldestMinute } from '../../../services/control/history/stored-counts';
import { type Call } from '../../../services/control/http/handlers';
import { RECENT_MS } from '../../../services/control/destinations/health';
import { TREND_STEPS } from '../../../services/control/overview/destination-rows';
import { type OverviewDeps, overviewHandlers } from '../../../services/control/overview/routes';
import { MOST_OVERVIEW_ROWS } from '../../../shared/api/operation';
import { type Destination } from '../../../shared/model/config';
import { clockMs } from '../../harness/timing';
import { at } from './hash-random';
import { acceptedAtOf, idOf, ONCE_SICK, type Past, userOf } from './past-events';

/** Typical queries of the history, and their latency. */

/** Same as the API: a page, and one more row to find out whether another page exists. */
const LIMIT = 51;
const TIMES = 15;

export interface Answered {
  question: string;
  rows: number;
  /** ms: of the first run, and the median and maximum of the others */
  first: number;
  median: number;
  longest: number;
}

export type Questions = Readonly<Record<string, (turn: number) => Promise<unknown>>>;

export async function answerAll(questions: Questions): Promise<Answered[]> {
  const answered: Answered[] = [];
  for (const [question, ask] of Object.entries(questions)) {
    const times: number[] = [];
    let rows = 0;
    for (let turn = 0; turn <= TIMES; turn++) {
      const startedAt = clockMs();
      const found = await ask(turn);
      times.push(clockMs() - startedAt);
      rows = Array.isArray(found) ? found.length : found === undefined ? 0 : 1;
    }
    const [first = NaN, ...others] = times;
    others.sort((a, b) => a - b);
    const median = others[Math.floor(others.length / 2)] ?? NaN;
    answered.push({ question, rows, first, median, longest: others.at(-1) ?? NaN });
  }
  return answered;
}

export function listQuestions(database: Database, past: Past): Questions {
  const any = (turn: number, question: number) => at(turn, question, past.count);
  const acceptedAt = (i: number) => acceptedAtOf(past, i);
  const list = (filter: Filter | ((turn: number) => Filter)) => async (turn: number) => {
    const asked = typeof filter === 'function' ? filter(turn) : filter;
    return (await listDeliveries(database, asked, { limit: LIMIT })).rows;
  };
  const deep = (filter: Filter) => async (turn: number) => {
    const after = { at: acceptedAt(any(turn, 20)), id: 'dlv_m' };
    return (await listDeliveries(database, filter, { limit: LIMIT, after })).rows;
  };
  const hour = (turn: number) => {
    const since = acceptedAt(any(turn, 21));
    return { since, until: since + 3_600_000 };
  };
  return {
    'no filter': list({}),
    'no filter, a page in the middle': deep({}),
    'destination (40 % of all)': list({ destination: 'dst_0' }),
    'destination (1 %)': list({ destination: 'dst_7' }),
    'destination that has none': list({ destination: 'dst_none' }),
    'destination (1 %), a page in the middle': deep({ destination: 'dst_7' }),
    source: list({ source: 'src_3' }),
    'status delivered': list({ status: 'delivered' }),
    'status dead': list({ status: 'dead' }),
    'status retrying': list({ status: 'retrying' }),
    'status waiting': list({ status: 'waiting' }),
    'status cancelled': list({ status: 'cancelled' }),
    'type track (70 %)': list({ type: 'track' }),
    'type alias (0.5 %)': list({ type: 'alias' }),
    'type delete (none)': list({ type: 'delete' }),
    'user with few': list((turn) => ({ user: userOf(any(turn, 22)) ?? 'user-1' })),
    'user with 2 % of all': list({ user: 'user-busiest' }),
    message: list((turn) => ({ message: idOf('msg', any(turn, 23)) })),
    'an hour': list(hour),
    'destination and status dead (few, all old)': list({ destination: ONCE_SICK, status: 'dead' }),
    'destination and status dead (none of 40 %)': list({ destination: 'dst_0', status: 'dead' }),
    'destination and status dead (sick)': list({ destination: 'dst_45', status: 'dead' }),
    'destination and status retrying': list({ destination: 'dst_45', status: 'retrying' }),
    'code 2xx and status dead (none)': list({ code: { from: 200, to: 299 }, status: 'dead' }),
    'code 204 (none)': list({ code: { from: 204, to: 204 } }),
    'code 5xx': list({ code: { from: 500, to: 599 } }),
    'not counted (none)': list({ counted: false }),
    'without an attempt': list({ attempted: false }),
    'ended in an hour, status dead': list((turn) => {
      const { since, until } = hour(turn);
      return { status: 'dead', counted: true, endedSince: since, endedUntil: until };
    }),
    'ended later than all': list({ endedSince: past.to * 2 }),
    'destination and type alias': list({ destination: 'dst_7', type: 'alias' }),
    'destination and user': list((turn) => ({
      destination: 'dst_0',
      user: userOf(any(turn, 24)) ?? 'user-1',
    })),
    'destination (1 %) and the busiest user': list({ destination: 'dst_7', user: 'user-busiest' }),
    'destination, status dead, an hour': list((turn) => ({
      destination: 'dst_45',
      status: 'dead',
      ...hour(turn),
    })),
    'source and status dead': list({ source: 'src_3', status: 'dead' }),
    'source and type alias': list({ source: 'src_3', type: 'alias' }),
    'type alias and status dead': list({ type: 'alias', status: 'dead' }),
    'destination (1 %) and source': list({ destination: 'dst_7', source: 'src_3' }),
    'user and status dead': list({ user: 'user-busiest', status: 'dead' }),
    'destination, source, type and status': list({
      destination: 'dst_45',
      source: 'src_3',
      type: 'page',
      status: 'dead',
    }),
    'one delivery by its id': (turn) => getDelivery(database, idOf('dlv', any(turn, 25))),
    'a delivery that there is not': () => getDelivery(database, 'dlv_none'),
    'number of all deliveries': () => countDeliveries(database, {}),
    'number with destination (1 %) and status dead': () =>
      countDeliveries(database, { destination: 'dst_7', status: 'dead' }),
    'number with source and type alias': () =>
      countDeliveries(database, { source: 'src_3', type: 'alias' }),
  };
}

/**
 * The overview of the last day, and each of its questions of some size alone.
 * @param configured the number of all destinations
 */
export async function overviewQuestions(
  database: Database,
  { to, destinations }: Past,
  configured: number,
): Promise<Questions> {
  const minutesFrom = await oldestMinute(database);
  const span = countableSpan(spanOf(undefined, to), minutesFrom);
  const trendSpan = countableSpan(spanOf(undefined, to, TREND_STEPS), minutesFrom);
  const recentSpan = { sinceMs: to - RECENT_MS, untilMs: to };
  const shown = Array.from(
    { length: Math.min(MOST_OVERVIEW_ROWS, destinations) },
    (_, i) => `dst_${String(i)}`,
  );
  const whole = wholeOverview(database, to, configured);
  return {
    'overview: what is under way': () => openDeliveries(database, []),
    'overview: who has dead letters': () => withSince(database, 'dead', span),
    'overview: who failed just now': () => withSince(database, 'failed', recentSpan),
    'overview: counts of a day': () => countsBetween(database, span, shown),
    'overview: counts of the last minutes': () => countsBetween(database, recentSpan, shown),
    'overview: a day in steps': () => countsInSteps(database, { ...span, destination: undefined }),
    'overview: a day of each in steps': () => trendsInSteps(database, trendSpan, shown),
    'overview: newest dead letters': () => newestDead(database, span, shown),
    'overview: the whole answer': async () => (await whole()).data,
  };
}

/** Returns how control answers `GET /overview`, by the clock of the past. */
function wholeOverview(database: Database, nowMs: number, configured: number) {
  const entries = Array.from({ length: configured }, (_, i) => {
    const id = `dst_${String(i)}`;
    const data = { id, name: id, enabled: true, paused: false, webhooks: [] };
    return { version: 1, data: data as unknown as Destination };
  });
  const byId = new Map(entries.map((entry) => [entry.data.id, entry]));
  const history: OverviewDeps['history'] = { ask: (work) => work(database) };
  const handlers = overviewHandlers({
    config: {
      list: () => entries,
      destination: (id: string) => byId.get(id),
      onChange: () => undefined,
    },
    history,
    now: () => new Date(nowMs),
    keepAnswersMs: 0,
  } as unknown as OverviewDeps);
  return () =>
    Promise.resolve(handlers['GET /overview']({ query: { trend: true } } as Call<'GET /overview'>));
}
