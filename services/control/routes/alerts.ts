import { type Response, Router } from 'express';
import { type Entry } from '../../../shared/config/view';
import { ALERTS_ID, type Destination } from '../../../shared/domain/config';
import { methodNotAllowed } from '../../../shared/http/problem';
import { actorOf, seesSecrets } from '../access/authenticate';
import { alertsView, blankAlerts, patchAlerts } from '../alerts/settings';
import { type ControlDeps } from '../deps';
import { newId } from '../ids';
import { etag, requireMatch } from '../preconditions';

/** /api/v1/alerts: there is always one, with defaults until somebody sets it. */
export function alertRoutes({ config, entries, sealer, now, log }: ControlDeps): Router {
  const router = Router();
  const show = (res: Response, entry: Entry<Destination>) =>
    res.set('ETag', etag(entry.version)).json(alertsView(entry, { sealer, now: now() }, seesSecrets(res)));
  router
    .route('/')
    .get((_req, res) => {
      show(res, config.destination(ALERTS_ID) ?? { version: 0, data: blankAlerts(now()) });
    })
    .patch(async (req, res) => {
      const time = now();
      const making = { now: time, sealer, newWebhookId: () => newId('whk', time) };
      const ifMatch = req.get('if-match');
      const by = actorOf(res);
      const patch = (before: Destination) => patchAlerts(before, req.body, making);
      if (!config.destination(ALERTS_ID)) requireMatch(ifMatch, 0);
      const entry = config.destination(ALERTS_ID)
        ? await entries.change('destination', { id: ALERTS_ID, ifMatch, by }, patch)
        : await entries.create('destination', by, () => patch(blankAlerts(time)));
      log.info({ version: entry.version }, 'alerts.changed');
      show(res, entry);
    })
    .all(methodNotAllowed(['GET', 'HEAD', 'PATCH']));
  return router;
}
