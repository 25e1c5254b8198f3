import { type Response, Router } from 'express';
import { type Entry } from '../../../shared/config/view';
import { type Source } from '../../../shared/domain/config';
import { type Json } from '../../../shared/domain/message';
import { methodNotAllowed, Problem } from '../../../shared/http/problem';
import { actorOf, seesSecrets } from '../access/authenticate';
import { type ControlDeps } from '../deps';
import { newId, newWriteKey } from '../ids';
import { etag, page } from '../preconditions';
import { seenEvents } from '../history/seen-events';
import { createSource, eventsView, patchSource, rotateKey, sourceView } from '../sources';

/** /api/v1/sources */
export function sourceRoutes({ entries, history, seen, now, log }: ControlDeps): Router {
  const router = Router();
  const show = (res: Response, entry: Entry<Source>) =>
    res.set('ETag', etag(entry.version)).json(sourceView(entry, now(), seesSecrets(res)));

  router
    .route('/')
    .get((req, res) => {
      const { data, next } = page(entries.list('source'), req.query);
      res.json({ data: data.map((entry) => sourceView(entry, now(), seesSecrets(res))), next });
    })
    .post(async (req, res) => {
      const made = { id: newId('src', now()), key: newWriteKey(), now: now() };
      const entry = await entries.create('source', actorOf(res), () => createSource(req.body, made));
      log.info({ source: made.id }, 'source.created');
      res.status(201).location(`${req.baseUrl}/${made.id}`);
      show(res, entry);
    })
    .all(methodNotAllowed(['GET', 'HEAD', 'POST']));

  router
    .route('/:id')
    .get((req, res) => void show(res, entries.get('source', req.params.id)))
    .patch(async (req, res) => {
      const at = { id: req.params.id, ifMatch: req.get('if-match'), by: actorOf(res) };
      const patch = (req.body ?? {}) as Json;
      const entry = await entries.change('source', at, (source) => patchSource(source, patch, now()));
      log.info({ source: at.id, version: entry.version }, 'source.changed');
      show(res, entry);
    })
    .delete(async (req, res) => {
      const at = { id: req.params.id, ifMatch: req.get('if-match'), by: actorOf(res) };
      requireOwn(entries.get('source', at.id).data);
      await entries.remove('source', at);
      log.info({ source: at.id }, 'source.deleted');
      res.status(204).end();
    })
    .all(methodNotAllowed(['GET', 'HEAD', 'PATCH', 'DELETE']));

  router
    .route('/:id/events')
    .get(async (req, res) => {
      const { data } = entries.get('source', req.params.id);
      // What was counted a moment ago, too.
      await seen.write();
      res.json({ data: eventsView(data, await history.ask((database) => seenEvents(database, data.id))) });
    })
    .all(methodNotAllowed(['GET', 'HEAD']));

  router
    .route('/:id/rotate-key')
    .post(async (req, res) => {
      const at = { id: req.params.id, ifMatch: req.get('if-match'), by: actorOf(res) };
      const made = { key: newWriteKey(), now: now() };
      requireOwn(entries.get('source', at.id).data);
      const entry = await entries.change('source', at, (source) => rotateKey(source, req.body, made));
      log.info({ source: at.id }, 'source.key_rotated');
      show(res, entry);
    })
    .all(methodNotAllowed(['POST']));
  return router;
}

/** One of an audience or a computed trait comes and goes with that, and takes no calls. */
function requireOwn({ of }: Source): void {
  if (of !== undefined) throw new Problem('conflict', `It is the source that ${of} is told by; change or delete that`);
}
