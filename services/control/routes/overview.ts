import { Router } from 'express';
import { ALERTS_ID } from '../../../shared/domain/config';
import { CallCounts } from '../calls';
import { methodNotAllowed } from '../../../shared/http/problem';
import { type ControlDeps } from '../deps';
import { countsInSteps, countsSince, openCircuits, openDeliveries } from '../history/queries';
import { callsQuery, overviewOf, overviewQuery, seriesOf, spanOf } from '../overview';
import { parseQuery } from '../query';

/** /api/v1/overview */
export function overviewRoutes({ config, history, kafka, now }: ControlDeps): Router {
  const router = Router();
  router
    .route('/')
    .get(async (req, res) => {
      const { since, destination } = parseQuery(overviewQuery, req.query);
      const { sinceMs, stepMs } = spanOf(since, now().getTime());
      const [counts, steps, open, circuits] = await history.ask((database) =>
        Promise.all([
          countsSince(database, sinceMs),
          countsInSteps(database, { sinceMs, stepMs, destination }),
          openDeliveries(database),
          openCircuits(database),
        ]),
      );
      const destinations = config.list('destination').flatMap(({ data }) => (data.id === ALERTS_ID ? [] : [data]));
      res.json({
        since: new Date(sinceMs).toISOString(),
        stepSeconds: stepMs / 1_000,
        data: overviewOf(destinations, { counts, open, circuits }),
        series: seriesOf(steps),
      });
    })
    .all(methodNotAllowed(['GET', 'HEAD']));
  const calls = new CallCounts(kafka);
  router
    .route('/calls')
    .get(async (req, res) => {
      const { since } = parseQuery(callsQuery, req.query);
      const nowMs = now().getTime();
      const span = spanOf(since, nowMs);
      const series = await calls.count(span, nowMs);
      res.json({
        since: new Date(span.sinceMs).toISOString(),
        stepSeconds: span.stepMs / 1_000,
        series: series.map(({ at, ...counts }) => ({ at: new Date(at).toISOString(), ...counts })),
      });
    })
    .all(methodNotAllowed(['GET', 'HEAD']));
  return router;
}
