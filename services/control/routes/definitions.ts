import { type Request, type Response, Router } from 'express';
import { type Entry } from '../../../shared/config/view';
import { type Audience, type ComputedTrait } from '../../../shared/domain/definition';
import { type Json } from '../../../shared/domain/message';
import { methodNotAllowed } from '../../../shared/http/problem';
import { actorOf } from '../access/authenticate';
import { changeDefinition, connectedTo, createDefinition, removeDefinition } from '../definition-entries';
import {
  createAudience,
  createTrait,
  definitionView,
  type Made,
  type Making,
  patchAudience,
  patchTrait,
} from '../definitions';
import { type ControlDeps } from '../deps';
import { type At } from '../entries';
import { etag, page } from '../preconditions';

/** What differs between the two kinds. */
interface Rules<T extends Audience | ComputedTrait> {
  kind: 'audience' | 'computed_trait';
  create(body: unknown, making: Making): Made<T>;
  patch(before: T, connected: string[], patch: Json, making: Making): Made<T>;
}

/** /api/v1/audiences */
export function audienceRoutes(deps: ControlDeps): Router {
  return definitionRoutes<Audience>(deps, { kind: 'audience', create: createAudience, patch: patchAudience });
}

/** /api/v1/computed-traits */
export function computedTraitRoutes(deps: ControlDeps): Router {
  return definitionRoutes<ComputedTrait>(deps, { kind: 'computed_trait', create: createTrait, patch: patchTrait });
}

function definitionRoutes<T extends Audience | ComputedTrait>(deps: ControlDeps, rules: Rules<T>): Router {
  const { entries, log } = deps;
  const { kind } = rules;
  const router = Router();
  router
    .route('/')
    .get((req, res) => {
      const { data, next } = page(entries.list(kind), req.query);
      res.json({ data: data.map((entry) => view(deps, entry)), next });
    })
    .post(async (req, res) => {
      const entry = await createDefinition<T>(deps, kind, actorOf(res), (making) => rules.create(req.body, making));
      log.info({ [kind]: entry.data.id }, `${kind}.created`);
      res.status(201).location(`${req.baseUrl}/${entry.data.id}`);
      show(deps, res, entry);
    })
    .all(methodNotAllowed(['GET', 'HEAD', 'POST']));
  router
    .route('/:id')
    .get((req, res) => show(deps, res, entries.get(kind, req.params.id)))
    .patch(async (req, res) => {
      const patch = (req.body ?? {}) as Json;
      const entry = await changeDefinition<T>(deps, kind, at(req, res), (before, connected, making) =>
        rules.patch(before, connected, patch, making),
      );
      log.info({ [kind]: req.params.id, version: entry.version }, `${kind}.changed`);
      show(deps, res, entry);
    })
    .delete(async (req, res) => {
      await removeDefinition(deps, kind, at(req, res));
      log.info({ [kind]: req.params.id }, `${kind}.deleted`);
      res.status(204).end();
    })
    .all(methodNotAllowed(['GET', 'HEAD', 'PATCH', 'DELETE']));
  return router;
}

function view({ config, profiles }: ControlDeps, entry: Entry<Audience | ComputedTrait>) {
  const { id, revision, source } = entry.data;
  const { partitions: _, ...status } = profiles.of(id, revision);
  return { ...definitionView(entry, connectedTo(config, source)), status };
}

function show(deps: ControlDeps, res: Response, entry: Entry<Audience | ComputedTrait>): void {
  res.set('ETag', etag(entry.version)).json(view(deps, entry));
}

function at(req: Request<{ id: string }>, res: Response): At {
  return { id: req.params.id, ifMatch: req.get('if-match'), by: actorOf(res) };
}
