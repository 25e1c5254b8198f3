import { type Response } from 'express';
import { type Entry } from '../../../shared/config/types';
import { ALERTS_ID, type Destination } from '../../../shared/model/config';
import { Problem } from '../http/problem';
import { seesSecrets } from '../auth/authenticate';
import { type Actor } from '../auth/identities';
import { alertDelivery, sampleAlert } from './alert-delivery';
import { type Notice, noticeView } from './notice';
import { alertsView, blankAlerts, patchAlerts } from './settings';
import { acknowledge, getNotice, listNotices } from './store';
import { type ControlContext } from '../context';
import { type At } from '../config/config-entries';
import { newId, newSharedSecret } from '../config/ids';
import { type HandlersOf } from '../http/mount';
import { etag, requireMatch } from '../http/entry-patch';
import { decodeCursor, encodeCursor } from '../http/paging';
import { rotateSecret } from '../destinations/secrets';

/** /api/v1/alerts: the settings always exist, with defaults until somebody changes them. */
export function alertHandlers(deps: ControlContext): HandlersOf<'alerts'> {
  const { config, encryptor, now, log, tests } = deps;
  const show = ({ res, by }: { res: Response; by: Actor }, entry: Entry<Destination>, more: object = {}) => {
    const view = alertsView(entry, { encryptor, now: now() }, seesSecrets(by));
    res.set('ETag', etag(entry.version)).json({ ...view, ...more });
  };
  return {
    'GET /alerts': (call) => show(call, config.destination(ALERTS_ID) ?? { version: 0, data: blankAlerts(now()) }),
    'PATCH /alerts': async (call) => {
      const making = { now: now(), encryptor, newWebhookId: () => newId('whk', now()) };
      const entry = await change(deps, { ...call, id: ALERTS_ID }, (before) => patchAlerts(before, call.body, making));
      log.info({ version: entry.version }, 'alerts.changed');
      show(call, entry);
    },
    'POST /alerts/rotate-secret': async (call) => {
      const made = { secret: newSharedSecret(), now: now(), encryptor };
      let generated: string | undefined;
      const entry = await change(deps, { ...call, id: ALERTS_ID }, (before) => {
        const rotated = rotateSecret(before, call.body, made);
        generated = rotated.generated;
        return rotated.destination;
      });
      log.info({ version: entry.version }, 'alerts.secret_rotated');
      show(call, entry, generated === undefined ? {} : { sharedSecret: generated });
    },
    'POST /alerts/test': async ({ res }) => {
      const to = config.destination(ALERTS_ID)?.data;
      if (!to || to.webhooks.length === 0) throw new Problem('conflict', 'No webhook is configured for alerts');
      res.json(await tests.send(to, {}, sampleAlert(now().getTime())));
    },
  };
}

/** Creates the entry on the first change. */
async function change(
  { config, entries, now }: ControlContext,
  at: At,
  decide: (before: Destination) => Destination,
): Promise<Entry<Destination>> {
  if (config.destination(ALERTS_ID)) return entries.change('destination', at, decide);
  requireMatch(at.ifMatch, 0);
  return entries.create('destination', at.by, () => decide(blankAlerts(now())));
}

/** /api/v1/notices */
export function noticeHandlers({ history, now }: ControlContext): HandlersOf<'notices'> {
  return {
    'GET /notices': async ({ query: { limit, after, ...filter }, res }) => {
      const page = { limit: limit + 1, after: decodeCursor(after) };
      const found = await history.ask((database) => listNotices(database, filter, page));
      const notices = found.slice(0, limit);
      const last = notices.at(-1);
      const next = found.length > limit && last ? encodeCursor(last.at, last.id) : null;
      res.json({ data: notices.map(shown), next });
    },
    'GET /notices/{id}': async ({ id, res }) => {
      res.json(shown(required(id, await history.ask((database) => getNotice(database, id)))));
    },
    'POST /notices/{id}/acknowledge': async ({ id, by, res }) => {
      const acknowledged = { at: now().getTime(), by: { id: by.id, name: by.name } };
      res.json(shown(required(id, await history.ask((database) => acknowledge(database, id, acknowledged)))));
    },
  };
}

/** Adds the alert's delivery, so that a client can look up whether it arrived. */
function shown(notice: Notice) {
  return { ...noticeView(notice), delivery: notice.alert === 'sent' ? alertDelivery(notice.id) : null };
}

function required(id: string, notice: Notice | undefined): Notice {
  if (notice) return notice;
  throw new Problem('not_found', `Unknown notice ${JSON.stringify(id.slice(0, 100))}`);
}
