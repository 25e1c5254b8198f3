import { type Query } from '../../../shared/api/operations';
import { hasRight } from '../../../shared/api/access';
import { defined } from '../../../shared/collections/defined';
import { type ConfigReader } from '../../../shared/config/types';
import { type Kafka } from '../../../shared/kafka/port';
import { byUrgency } from '../../../shared/model/attention';
import { ALERTS_ID } from '../../../shared/model/config';
import { isoTime } from '../../../shared/model/time';
import { healthOfSome, troubledIds } from '../health/store';
import { RECENT_MS } from '../destinations/health';
import { pausedIds } from '../destinations/model';
import {
  countsBetween,
  countsInSteps,
  newestDead,
  openDeliveries,
  trendsInSteps,
  withSince,
} from '../history/queries';
import { type HandlersOf } from '../http/handlers';
import { CallCounts, type LimitedCalls } from './call-counts';
import { type CircuitDeps, currentCircuits } from '../destinations/open-circuits';
import { countableSpan, endOf, seriesOf, spanOf, totals } from '../history/count-series';
import { oldestMinute } from '../history/stored-counts';
import { SharedAnswers } from './shared-answers';
import { openOf, rowsOf, shownOf, TREND_STEPS, trendOf } from './destination-rows';

export interface OverviewDeps extends CircuitDeps {
  config: Pick<ConfigReader, 'list' | 'destination' | 'onChange'>;
  kafka: Pick<Kafka, 'read' | 'ranges'>;
  /** what ingest counted beyond its limits */
  limitedCalls: Pick<LimitedCalls, 'requests' | 'rejected' | 'bySource'>;
  now: () => Date;
  /** consoles that ask the same within this time get the same answer */
  keepAnswersMs: number;
}

export function overviewHandlers(deps: OverviewDeps): HandlersOf<'overview'> {
  const { config, history, kafka, limitedCalls, now, keepAnswersMs } = deps;
  const calls = new CallCounts(kafka, limitedCalls);
  const shared = new SharedAnswers<Awaited<ReturnType<typeof overview>>>(keepAnswersMs);
  config.onChange(() => shared.clear());
  return {
    'GET /overview': ({ query }) => {
      const { since, until, ...asked } = query;
      const nowMs = now().getTime();
      const span = spanOf(since, endOf(until, nowMs));
      const question = JSON.stringify({ ...asked, until, sinceMs: span.sinceMs });
      return shared.get(question, () => overview(query, nowMs));
    },
    'GET /overview/calls': async ({ query: { since, until }, identity: { rights } }) => {
      const nowMs = now().getTime();
      const endMs = endOf(until, nowMs);
      const span = spanOf(since, endMs);
      const series = await calls.count(span, nowMs);
      return {
        since: isoTime(span.sinceMs),
        stepSeconds: span.stepMs / 1_000,
        series: series.map(({ at, ...counts }) => ({ at: isoTime(at), ...counts })),
        ...defined({
          limitedBySource: hasRight(rights, 'sources:read')
            ? limitedCalls.bySource(span.sinceMs, endMs)
            : undefined,
        }),
      };
    },
  };

  async function overview(
    { since, until, destination, ids, trend = false }: Query<'GET /overview'>,
    nowMs: number,
  ) {
    const endMs = endOf(until, nowMs);
    const all = config
      .list('destination')
      .flatMap(({ data }) => (data.id === ALERTS_ID ? [] : [data]));
    // No set of `all`: it would hash 30,000 ids for a few rows.
    const isCounted = (id: string) =>
      destination === undefined
        ? id !== ALERTS_ID && config.destination(id) !== undefined
        : id === destination;
    const circuits = await currentCircuits(deps);
    return history.ask(async (database) => {
      const minutesFrom = await oldestMinute(database);
      const span = countableSpan(spanOf(since, endMs), minutesFrom);
      const trendSpan = countableSpan(spanOf(since, endMs, TREND_STEPS), minutesFrom);
      const recentSpan = { sinceMs: nowMs - RECENT_MS, untilMs: nowMs };
      const open = await openDeliveries(database, pausedIds(config.list('destination')));
      const choose = async () => {
        const [dead, failed, troubled] = await Promise.all([
          withSince(database, 'dead', span),
          withSince(database, 'failed', recentSpan),
          troubledIds(database),
        ]);
        return shownOf(all, {
          destination,
          dead,
          open,
          failed,
          troubled,
          circuits,
        });
      };
      const named = ids && new Set(ids);
      const destinations = named ? all.filter(({ id }) => named.has(id)) : await choose();
      const shown = destinations.map(({ id }) => id);
      const [counts, steps, recent, health, trends] = await Promise.all([
        countsBetween(database, span, shown),
        countsInSteps(database, { ...span, destination }),
        countsBetween(database, recentSpan, shown),
        healthOfSome(database, shown),
        trend ? trendsInSteps(database, trendSpan, shown) : [],
      ]);
      const lost = counts.filter((each) => each.dead > 0).map((each) => each.destination);
      const newest = await newestDead(database, span, lost);
      const rows = byUrgency(
        rowsOf(destinations, {
          counts,
          recent,
          open,
          circuits,
          health,
          dead: newest,
          nowMs,
        }),
      );
      const trendFor = trendOf(trends, trendSpan);
      return {
        since: isoTime(span.sinceMs),
        stepSeconds: span.stepMs / 1_000,
        totals: totals(steps),
        open: openOf(open.filter(({ destination: id }) => isCounted(id))),
        destinations: all.length,
        data: rows.map((row) => ({
          ...row,
          ...defined({ trend: trend ? trendFor(row.destination) : undefined }),
        })),
        series: seriesOf(steps),
      };
    });
  }
}
