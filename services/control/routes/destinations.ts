import { type Request, type Response, Router } from 'express';
import { type Entry } from '../../../shared/config/view';
import { ALERTS_ID, type Destination } from '../../../shared/domain/config';
import { type Json } from '../../../shared/domain/message';
import { methodNotAllowed, Problem } from '../../../shared/http/problem';
import { actorOf, seesSecrets } from '../access/authenticate';
import { type ControlDeps } from '../deps';
import { tried } from './filters';
import { createDestination, destinationView, type Making, patchDestination } from '../destinations';
import { type At } from '../entries';
import { newId, newSharedSecret } from '../ids';
import { etag, page } from '../preconditions';
import { rotateSecret } from '../secrets';

/** Events that tell how a filter fares. */
const LOOKED_AT = 200;

interface WithId {
  id: string;
}

/** /api/v1/destinations */
export function destinationRoutes(deps: ControlDeps): Router {
  const { entries } = deps;
  const router = Router();
  router
    .route('/')
    .get((req, res) => {
      const listed = entries.list('destination').filter(({ data }) => data.id !== ALERTS_ID);
      const { data, next } = page(listed, req.query);
      res.json({
        data: data.map((entry) => destinationView(entry, making(deps, entry.data.id), seesSecrets(res))),
        next,
      });
    })
    .post(async (req, res) => {
      const id = newId('dst', deps.now());
      const entry = await entries.create('destination', actorOf(res), () =>
        createDestination(req.body, making(deps, id)),
      );
      deps.log.info({ destination: id }, 'destination.created');
      res.status(201).location(`${req.baseUrl}/${id}`);
      show(deps, res, entry);
    })
    .all(methodNotAllowed(['GET', 'HEAD', 'POST']));

  // Waypost's own is set at /alerts, and nowhere else.
  router.param('id', (_req, _res, next, id) => {
    next(id === ALERTS_ID ? new Problem('not_found', 'There is no destination "alerts"; see /alerts') : undefined);
  });
  router
    .route('/:id')
    .get((req, res) => show(deps, res, entries.get('destination', req.params.id)))
    .patch(async (req, res) => {
      const { id } = req.params;
      const patch = (req.body ?? {}) as Json;
      requireNoSecrets(patch, res);
      const entry = await entries.change('destination', at(req, res), (before) =>
        patchDestination(before, patch, making(deps, id)),
      );
      deps.log.info({ destination: id, version: entry.version }, 'destination.changed');
      show(deps, res, entry);
    })
    .delete(async (req, res) => {
      await entries.remove('destination', at(req, res));
      deps.log.info({ destination: req.params.id }, 'destination.deleted');
      res.status(204).end();
    })
    .all(methodNotAllowed(['GET', 'HEAD', 'PATCH', 'DELETE']));

  addDeeds(router, deps);
  return router;
}

/** What is done with one, beside changing it. */
function addDeeds(router: Router, deps: ControlDeps): void {
  const posted = methodNotAllowed(['POST']);
  router
    .route('/:id/rotate-secret')
    .post((req, res) => rotate(deps, req, res))
    .all(posted);
  router
    .route('/:id/filter')
    .get((req, res) => {
      const { filter = 'true', sources } = deps.entries.get('destination', req.params.id).data;
      res.json(tried(deps, { filter, sources, limit: LOOKED_AT }));
    })
    .all(methodNotAllowed(['GET', 'HEAD']));
  router
    .route('/:id/test')
    .post(async (req, res) => {
      res.json(await deps.tests.send(deps.entries.get('destination', req.params.id).data, req.body));
    })
    .all(posted);
}

async function rotate(deps: ControlDeps, req: Request<WithId>, res: Response): Promise<void> {
  const made = { secret: newSharedSecret(), now: deps.now(), sealer: deps.sealer };
  let generated: string | undefined;
  const entry = await deps.entries.change('destination', at(req, res), (before) => {
    const rotated = rotateSecret(before, req.body, made);
    generated = rotated.generated;
    return rotated.destination;
  });
  deps.log.info({ destination: req.params.id }, 'destination.secret_rotated');
  show(deps, res, entry, generated);
}

/** @param sharedSecret one that was made here: shown in this answer, and never again */
function show(deps: ControlDeps, res: Response, entry: Entry<Destination>, sharedSecret?: string): void {
  const view = destinationView(entry, making(deps, entry.data.id), seesSecrets(res));
  res.set('ETag', etag(entry.version)).json({ ...view, ...(sharedSecret !== undefined && { sharedSecret }) });
}

/** Who may not see secrets may not set them: else an address of theirs would be sent what is signed and sealed. */
function requireNoSecrets(patch: Json, res: Response): void {
  const secret = ['webhooks', 'sharedSecret'].filter(
    (field) => typeof patch === 'object' && patch !== null && Object.hasOwn(patch, field),
  );
  if (secret.length === 0 || seesSecrets(res)) return;
  throw new Problem('forbidden', `Only an administrator may change ${secret.join(' and ')}`);
}

function at(req: Request<WithId>, res: Response): At {
  return { id: req.params.id, ifMatch: req.get('if-match'), by: actorOf(res) };
}

function making({ sealer, config, now }: ControlDeps, id: string): Making {
  const time = now();
  return {
    id,
    now: time,
    sealer,
    newWebhookId: () => newId('whk', time),
    sourceExists: (source) => config.source(source) !== undefined,
  };
}
