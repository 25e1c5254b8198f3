import { type Response } from 'express';
import { type Entry } from '../../../shared/config/types';
import { ALERTS_ID, type Destination } from '../../../shared/model/config';
import { type Json } from '../../../shared/model/message';
import { Problem } from '../http/problem';
import { seesSecrets } from '../auth/authenticate';
import { type Actor } from '../auth/identities';
import { type ControlContext } from '../context';
import { createDestination, destinationView, type Making, patchDestination } from './model';
import { type At } from '../config/config-entries';
import { newId, newSharedSecret } from '../config/ids';
import { type HandlersOf } from '../http/mount';
import { etag } from '../http/entry-patch';
import { page } from '../http/paging';
import { rotateSecret } from './secrets';
import { tried } from '../debugger/filter-routes';
import { z } from 'zod';
import { destinationBody } from '../../../shared/api/destinations';

/** Events that a filter trial looks at. */
const LOOKED_AT = 200;

/** /api/v1/destinations */
export function destinationHandlers(deps: ControlContext): HandlersOf<'destinations'> {
  const { entries } = deps;
  return {
    'GET /destinations': ({ query, by, res }) => {
      const listed = entries.list('destination').filter(({ data }) => data.id !== ALERTS_ID);
      const { data, next } = page(listed, query);
      res.json({
        data: data.map((entry) => destinationView(entry, making(deps, entry.data.id), seesSecrets(by))),
        next,
      });
    },
    'POST /destinations': async (call) => {
      const id = newId('dst', deps.now());
      const entry = await entries.create('destination', call.by, () => createDestination(call.body, making(deps, id)));
      deps.log.info({ destination: id }, 'destination.created');
      call.res.status(201).location(`${call.path}/${id}`);
      show(deps, call, entry);
    },
    'GET /destinations/{id}': (call) => show(deps, call, entries.get('destination', own(call).id)),
    'PATCH /destinations/{id}': async (call) => {
      const { id, body: patch = {} } = own(call);
      const entry = await entries.change('destination', call, (before) =>
        patchDestination(before, patch, making(deps, id)),
      );
      deps.log.info({ destination: id, version: entry.version }, 'destination.changed');
      show(deps, call, entry);
    },
    'DELETE /destinations/{id}': async (call) => {
      await entries.remove('destination', own(call));
      deps.log.info({ destination: call.id }, 'destination.deleted');
      call.res.status(204).end();
    },
    'POST /destinations/{id}/rotate-secret': (call) => rotate(deps, own(call)),
    'GET /destinations/{id}/filter': (call) => {
      const { filter = 'true', sources } = entries.get('destination', own(call).id).data;
      call.res.json(tried(deps, { filter, sources, limit: LOOKED_AT }));
    },
    'POST /destinations/{id}/test': async (call) => {
      const to = entries.get('destination', own(call).id).data;
      call.res.json(await deps.tests.send(to, call.body));
    },
  };
}

/** Hides the destination of alerts, which is set at /alerts only. @throws Problem `not_found` */
function own<C extends { id: string }>(call: C): C {
  if (call.id !== ALERTS_ID) return call;
  throw new Problem('not_found', 'Unknown destination "alerts". Use /alerts');
}

async function rotate(deps: ControlContext, call: At & { body: Json | undefined; res: Response }): Promise<void> {
  const made = { secret: newSharedSecret(), now: deps.now(), encryptor: deps.encryptor };
  let generated: string | undefined;
  const entry = await deps.entries.change('destination', call, (before) => {
    const rotated = rotateSecret(before, call.body, made);
    generated = rotated.generated;
    return rotated.destination;
  });
  deps.log.info({ destination: call.id }, 'destination.secret_rotated');
  show(deps, call, entry, generated);
}

/** @param sharedSecret a generated one: shown in this response and never again */
function show(
  deps: ControlContext,
  { res, by }: { res: Response; by: Actor },
  entry: Entry<Destination>,
  sharedSecret?: string,
): void {
  const view = destinationView(entry, making(deps, entry.data.id), seesSecrets(by));
  res.set('ETag', etag(entry.version)).json({ ...view, ...(sharedSecret !== undefined && { sharedSecret }) });
}

function making({ encryptor, config, now }: ControlContext, id: string): Making {
  const time = now();
  return {
    id,
    now: time,
    encryptor,
    newWebhookId: () => newId('whk', time),
    sourceExists: (source) => config.source(source) !== undefined,
  };
}

/** /api/v1/catalog: the available integrations and the settings of each. */
export function catalogHandlers(): HandlersOf<'catalog'> {
  const catalog = {
    data: [
      {
        type: 'webhooks',
        name: 'Webhooks',
        description: 'Sends each message as a signed HTTP POST to up to five URLs',
        settings: z.toJSONSchema(destinationBody, { io: 'input', unrepresentable: 'any' }),
      },
    ],
    next: null,
  };
  return { 'GET /catalog': ({ res }) => void res.json(catalog) };
}
