import { hasRight } from '../../../shared/api/access';
import { ALERTS_ID } from '../../../shared/model/config';
import { type ControlContext } from '../context';
import { countsInSteps, countsSince, openDeliveries } from '../history/queries';
import { type HandlersOf } from '../http/mount';
import { CallCounts } from './call-counts';
import { currentCircuits } from './open-circuits';
import { overviewOf, seriesOf, spanOf } from './model';

/** /api/v1/overview */
export function overviewHandlers(context: ControlContext): HandlersOf<'overview'> {
  const { config, history, kafka, limited, now } = context;
  const calls = new CallCounts(kafka, limited);
  return {
    'GET /overview': async ({ query: { since, destination } }) => {
      const { sinceMs, stepMs } = spanOf(since, now().getTime());
      const circuits = await currentCircuits(context);
      const [counts, steps, open] = await history.ask((database) =>
        Promise.all([
          countsSince(database, sinceMs),
          countsInSteps(database, { sinceMs, stepMs, destination }),
          openDeliveries(database),
        ]),
      );
      const destinations = config.list('destination').flatMap(({ data }) => (data.id === ALERTS_ID ? [] : [data]));
      return {
        since: new Date(sinceMs).toISOString(),
        stepSeconds: stepMs / 1_000,
        data: overviewOf(destinations, { counts, open, circuits }),
        series: seriesOf(steps),
      };
    },
    'GET /overview/calls': async ({ query: { since }, identity: { rights } }) => {
      const nowMs = now().getTime();
      const span = spanOf(since, nowMs);
      const series = await calls.count(span, nowMs);
      return {
        since: new Date(span.sinceMs).toISOString(),
        stepSeconds: span.stepMs / 1_000,
        series: series.map(({ at, ...counts }) => ({ at: new Date(at).toISOString(), ...counts })),
        ...(hasRight(rights, 'sources:read') && { limitedBySource: limited.bySource(span.sinceMs, nowMs) }),
      };
    },
  };
}
