import { type Response } from 'express';
import { type Entry } from '../../../shared/config/types';
import { type Token } from '../../../shared/model/config';
import { hashToken } from '../auth/identities';
import { createToken, newToken, patchToken, tokenView } from './model';
import { type ControlContext } from '../context';
import { newId } from '../config/ids';
import { type HandlersOf } from '../http/mount';
import { etag } from '../http/entry-patch';
import { page } from '../http/paging';

/** /api/v1/tokens */
export function tokenHandlers({ entries, uses, now, log }: ControlContext): HandlersOf<'tokens'> {
  const show = async (res: Response, entry: Entry<Token>, more: object = {}) => {
    const lastUsedAt = (await uses.all()).get(entry.data.id);
    res.set('ETag', etag(entry.version)).json({ ...tokenView(entry, lastUsedAt), ...more });
  };
  return {
    'GET /tokens': async ({ query, res }) => {
      const { data, next } = page(entries.list('token'), query);
      const used = await uses.all();
      res.json({ data: data.map((entry) => tokenView(entry, used.get(entry.data.id))), next });
    },
    'POST /tokens': async ({ body, by, identity, path, res }) => {
      const token = newToken();
      const made = { id: newId('tok', now()), hash: hashToken(token), now: now(), by: identity };
      const entry = await entries.create('token', by, () => createToken(body, made));
      log.info({ token: made.id, role: entry.data.role }, 'token.created');
      res.status(201).location(`${path}/${made.id}`);
      await show(res, entry, { token });
    },
    'GET /tokens/{id}': ({ id, res }) => show(res, entries.get('token', id)),
    'PATCH /tokens/{id}': async (call) => {
      const made = { now: now(), by: call.identity };
      const entry = await entries.change('token', call, (token) => patchToken(token, call.body ?? {}, made));
      log.info({ token: entry.data.id, role: entry.data.role }, 'token.changed');
      await show(call.res, entry);
    },
    'DELETE /tokens/{id}': async (call) => {
      await entries.remove('token', call);
      log.info({ token: call.id }, 'token.deleted');
      call.res.status(204).end();
    },
  };
}
