import { type Request, type Response, Router } from 'express';
import { type Entry } from '../../../shared/config/view';
import { type Token } from '../../../shared/domain/config';
import { type Json } from '../../../shared/domain/message';
import { methodNotAllowed } from '../../../shared/http/problem';
import { identityOf } from '../access/authenticate';
import { hashToken } from '../access/identities';
import { createToken, newToken, patchToken, tokenView } from '../access/tokens';
import { type ControlDeps } from '../deps';
import { type At } from '../entries';
import { newId } from '../ids';
import { etag, page } from '../preconditions';

/** /api/v1/tokens */
export function tokenRoutes({ entries, uses, now, log }: ControlDeps): Router {
  const router = Router();
  const show = async (res: Response, entry: Entry<Token>, more: object = {}) => {
    const lastUsedAt = (await uses.all()).get(entry.data.id);
    res.set('ETag', etag(entry.version)).json({ ...tokenView(entry, lastUsedAt), ...more });
  };
  const at = (req: Request<{ id: string }>, res: Response): At => ({
    id: req.params.id,
    ifMatch: req.get('if-match'),
    by: identityOf(res).actor,
  });
  router
    .route('/')
    .get(async (req, res) => {
      const { data, next } = page(entries.list('token'), req.query);
      const used = await uses.all();
      res.json({ data: data.map((entry) => tokenView(entry, used.get(entry.data.id))), next });
    })
    .post(async (req, res) => {
      const token = newToken();
      const by = identityOf(res);
      const made = { id: newId('tok', now()), hash: hashToken(token), now: now(), by };
      const entry = await entries.create('token', by.actor, () => createToken(req.body, made));
      log.info({ token: made.id, role: entry.data.role }, 'token.created');
      res.status(201).location(`${req.baseUrl}/${made.id}`);
      await show(res, entry, { token });
    })
    .all(methodNotAllowed(['GET', 'HEAD', 'POST']));
  router
    .route('/:id')
    .get((req, res) => show(res, entries.get('token', req.params.id)))
    .patch(async (req, res) => {
      const patch = (req.body ?? {}) as Json;
      const made = { now: now(), by: identityOf(res) };
      const entry = await entries.change('token', at(req, res), (token) => patchToken(token, patch, made));
      log.info({ token: entry.data.id, role: entry.data.role }, 'token.changed');
      await show(res, entry);
    })
    .delete(async (req, res) => {
      await entries.remove('token', at(req, res));
      log.info({ token: req.params.id }, 'token.deleted');
      res.status(204).end();
    })
    .all(methodNotAllowed(['GET', 'HEAD', 'PATCH', 'DELETE']));
  return router;
}
