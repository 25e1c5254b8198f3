import { type Response } from 'express';
import { type Entry } from '../../../shared/config/types';
import { type Source } from '../../../shared/model/config';
import { Problem } from '../http/problem';
import { seesSecrets } from '../auth/authenticate';
import { type Actor } from '../auth/identities';
import { type ControlContext } from '../context';
import { listEventNames } from './store';
import { newId } from '../config/ids';
import { type HandlersOf } from '../http/mount';
import { etag } from '../http/entry-patch';
import { page } from '../http/paging';
import { createSource, eventsView, patchSource, rotateKey, sourceView } from './model';
import { keyOpener, makeWriteKey } from './write-keys';

/** /api/v1/sources */
export function sourceHandlers(deps: ControlContext): HandlersOf<'sources'> {
  const { config, entries, history, encryptor, seen, now, log } = deps;
  const openKey = keyOpener(encryptor);
  const view = (by: Actor, entry: Entry<Source>) => sourceView(entry, now(), seesSecrets(by) ? openKey : undefined);
  const show = ({ res, by }: { res: Response; by: Actor }, entry: Entry<Source>) =>
    void res.set('ETag', etag(entry.version)).json(view(by, entry));
  return {
    'GET /sources': ({ query, by, res }) => {
      const { data, next } = page(entries.list('source'), query);
      res.json({ data: data.map((entry) => view(by, entry)), next });
    },
    'POST /sources': async (call) => {
      const id = newId('src', now());
      const made = { id, key: makeWriteKey(id, config, encryptor), now: now() };
      const entry = await entries.create('source', call.by, () => createSource(call.body, made));
      log.info({ source: id }, 'source.created');
      call.res.status(201).location(`${call.path}/${id}`);
      show(call, entry);
    },
    'GET /sources/{id}': (call) => show(call, entries.get('source', call.id)),
    'PATCH /sources/{id}': async (call) => {
      const entry = await entries.change('source', call, (source) => patchSource(source, call.body ?? {}, now()));
      log.info({ source: call.id, version: entry.version }, 'source.changed');
      show(call, entry);
    },
    'DELETE /sources/{id}': async (call) => {
      requireOwn(entries.get('source', call.id).data);
      await entries.remove('source', call);
      log.info({ source: call.id }, 'source.deleted');
      call.res.status(204).end();
    },
    'GET /sources/{id}/events': async ({ id, res }) => {
      const { data } = entries.get('source', id);
      // Includes the most recent counts.
      await seen.write();
      res.json({ data: eventsView(data, await history.ask((database) => listEventNames(database, data.id))) });
    },
    'POST /sources/{id}/rotate-key': async (call) => {
      const made = { key: makeWriteKey(call.id, config, encryptor), now: now() };
      requireOwn(entries.get('source', call.id).data);
      const entry = await entries.change('source', call, (source) => rotateKey(source, call.body, made));
      log.info({ source: call.id }, 'source.key_rotated');
      show(call, entry);
    },
  };
}

/**
 * Rejects the source of an audience or a computed trait, which is managed with that and accepts no calls.
 * @throws Problem `conflict`
 */
function requireOwn({ of }: Source): void {
  if (of !== undefined)
    throw new Problem('conflict', `This source sends the updates of ${of}. Change or delete that instead`);
}
