import { hasRight } from '../../../shared/api/access';
import { ALERTS_ID } from '../../../shared/model/config';
import { type ControlContext } from '../context';
import { healthOfAll } from '../alerts/store';
import { RECENT_MS } from '../destinations/health';
import { countsBetween, countsInSteps, openDeliveries, trendsInSteps } from '../history/queries';
import { type HandlersOf } from '../http/mount';
import { CallCounts } from './call-counts';
import { currentCircuits } from './open-circuits';
import { endOf, seriesOf, spanOf, totals } from './model';
import { rowsOf, TREND_STEPS, trendOf } from './standing';

/** /api/v1/overview */
export function overviewHandlers(context: ControlContext): HandlersOf<'overview'> {
  const { config, history, kafka, limited, now } = context;
  const calls = new CallCounts(kafka, limited);
  return {
    'GET /overview': async ({ query: { since, until, destination, trend = false } }) => {
      const nowMs = now().getTime();
      const endMs = endOf(until, nowMs);
      const span = spanOf(since, endMs);
      const trendSpan = spanOf(since, endMs, TREND_STEPS);
      const circuits = await currentCircuits(context);
      const [counts, steps, open, recent, health, trends] = await history.ask((database) =>
        Promise.all([
          countsBetween(database, span),
          countsInSteps(database, { ...span, destination }),
          openDeliveries(database),
          countsBetween(database, { sinceMs: nowMs - RECENT_MS, untilMs: nowMs }),
          healthOfAll(database),
          trend ? trendsInSteps(database, trendSpan) : [],
        ]),
      );
      const destinations = config.list('destination').flatMap(({ data }) => (data.id === ALERTS_ID ? [] : [data]));
      const rows = rowsOf(destinations, { counts, recent, open, circuits, health, nowMs });
      const trendFor = trendOf(trends, trendSpan);
      return {
        since: new Date(span.sinceMs).toISOString(),
        stepSeconds: span.stepMs / 1_000,
        totals: totals(steps),
        data: rows.map((row) => ({ ...row, ...(trend && { trend: trendFor(row.destination) }) })),
        series: seriesOf(steps),
      };
    },
    'GET /overview/calls': async ({ query: { since, until }, identity: { rights } }) => {
      const endMs = endOf(until, now().getTime());
      const span = spanOf(since, endMs);
      const series = await calls.count(span, endMs);
      return {
        since: new Date(span.sinceMs).toISOString(),
        stepSeconds: span.stepMs / 1_000,
        series: series.map(({ at, ...counts }) => ({ at: new Date(at).toISOString(), ...counts })),
        ...(hasRight(rights, 'sources:read') && { limitedBySource: limited.bySource(span.sinceMs, endMs) }),
      };
    },
  };
}
