import { type Response, Router } from 'express';
import { type Entry } from '../../../shared/config/view';
import { ALERTS_ID, type Destination } from '../../../shared/domain/config';
import { methodNotAllowed, Problem } from '../../../shared/http/problem';
import { actorOf, seesSecrets } from '../access/authenticate';
import { sampleAlert } from '../alerts/record';
import { alertsView, blankAlerts, patchAlerts } from '../alerts/settings';
import { type ControlDeps } from '../deps';
import { type At } from '../entries';
import { newId, newSharedSecret } from '../ids';
import { etag, requireMatch } from '../preconditions';
import { rotateSecret } from '../secrets';

/** /api/v1/alerts: there is always one, with defaults until somebody sets it. */
export function alertRoutes(deps: ControlDeps): Router {
  const { config, sealer, now, log, tests } = deps;
  const router = Router();
  const show = (res: Response, entry: Entry<Destination>, more: object = {}) => {
    const view = alertsView(entry, { sealer, now: now() }, seesSecrets(res));
    res.set('ETag', etag(entry.version)).json({ ...view, ...more });
  };
  router
    .route('/')
    .get((_req, res) => show(res, config.destination(ALERTS_ID) ?? { version: 0, data: blankAlerts(now()) }))
    .patch(async (req, res) => {
      const making = { now: now(), sealer, newWebhookId: () => newId('whk', now()) };
      const at = { id: ALERTS_ID, ifMatch: req.get('if-match'), by: actorOf(res) };
      const entry = await change(deps, at, (before) => patchAlerts(before, req.body, making));
      log.info({ version: entry.version }, 'alerts.changed');
      show(res, entry);
    })
    .all(methodNotAllowed(['GET', 'HEAD', 'PATCH']));
  router
    .route('/rotate-secret')
    .post(async (req, res) => {
      const made = { secret: newSharedSecret(), now: now(), sealer };
      const at = { id: ALERTS_ID, ifMatch: req.get('if-match'), by: actorOf(res) };
      let generated: string | undefined;
      const entry = await change(deps, at, (before) => {
        const rotated = rotateSecret(before, req.body, made);
        generated = rotated.generated;
        return rotated.destination;
      });
      log.info({ version: entry.version }, 'alerts.secret_rotated');
      show(res, entry, generated === undefined ? {} : { sharedSecret: generated });
    })
    .all(methodNotAllowed(['POST']));
  router
    .route('/test')
    .post(async (_req, res) => {
      const to = config.destination(ALERTS_ID)?.data;
      if (!to || to.webhooks.length === 0) throw new Problem('conflict', 'There is no webhook that a test could go to');
      res.json(await tests.send(to, {}, sampleAlert(now().getTime())));
    })
    .all(methodNotAllowed(['POST']));
  return router;
}

/** Makes the entry where nobody has set it yet. */
async function change(
  { config, entries, now }: ControlDeps,
  at: At,
  decide: (before: Destination) => Destination,
): Promise<Entry<Destination>> {
  if (config.destination(ALERTS_ID)) return entries.change('destination', at, decide);
  requireMatch(at.ifMatch, 0);
  return entries.create('destination', at.by, () => decide(blankAlerts(now())));
}
