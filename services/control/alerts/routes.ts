import { acknowledgeBody } from '../../../shared/api/alerts';
import { defined } from '../../../shared/collections/defined';
import { ALERTS_ID, type Destination } from '../../../shared/model/config';
import { seesSecrets } from '../auth/authenticate';
import { type Actor } from '../http/identity';
import { type At, type ConfigEntries, newId, newSharedSecret } from '../config/config-entries';
import { type ConfigView, type Entry } from '../../../shared/config/types';
import { type Encryptor } from '../../../shared/config/encryption';
import { type Log } from '../../../shared/telemetry/log';
import { type Asking, type Database } from '../history/database';
import { type TestSends } from '../destinations/test-send';
import { rotateSecret } from '../destinations/rotation';
import { requireMatch } from '../http/entry-patch';
import { type HandlersOf } from '../http/handlers';
import { readPage } from '../http/paging';
import { Problem, unknownId } from '../http/problem';
import { parseBody } from '../http/validate';
import { channelsOf } from './channels';
import { alertDelivery, hasAddress, type Notice, noticeView, sampleNotice } from './notice';
import { type PresentNotice, presentNotices } from './open-notices';
import { alertsView, blankAlerts, patchAlerts } from './settings';
import { acknowledge, acknowledgeAll, countNotices, getNotice, listNotices } from './store';

export interface AlertDeps {
  config: Pick<ConfigView, 'destination'>;
  entries: ConfigEntries;
  encryptor: Encryptor;
  testSends: TestSends;
  /** WAYPOST_SMTP_URL is set */
  sendsMail: boolean;
  now: () => Date;
  log: Log;
}

/** /api/v1/alerts: the settings always exist, with defaults until somebody changes them. */
export function alertHandlers(deps: AlertDeps): HandlersOf<'alerts'> {
  const { config, encryptor, now, log, testSends, sendsMail } = deps;
  const view = (by: Actor, entry: Entry<Destination>) =>
    alertsView(entry, { encryptor, now: now() }, seesSecrets(by));
  return {
    'GET /alerts': ({ by }) =>
      view(by, config.destination(ALERTS_ID) ?? { version: 0, data: blankAlerts(now()) }),
    'PATCH /alerts': async (call) => {
      const making = { now: now(), encryptor, newWebhookId: () => newId('whk', now()), sendsMail };
      const entry = await change(deps, { ...call, id: ALERTS_ID }, (before) =>
        patchAlerts(before, call.body, making),
      );
      log.info({ version: entry.version }, 'alerts.changed');
      return view(call.by, entry);
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
      return {
        ...view(call.by, entry),
        ...defined({ sharedSecret: generated }),
      };
    },
    'POST /alerts/test': async () => {
      const to = config.destination(ALERTS_ID)?.data;
      if (!to || !hasAddress(to)) {
        throw new Problem('conflict', 'No webhook and no e-mail address is configured for alerts');
      }
      const notice = sampleNotice(now().getTime());
      const sent = channelsOf(to, encryptor).map(({ body, excludedUrls, endpoints }) =>
        testSends.send(to, {}, { value: JSON.stringify(body(notice)), excludedUrls, endpoints }),
      );
      return mergeTests(await Promise.all(sent));
    },
  };
}

type TestResult = Awaited<ReturnType<TestSends['send']>>;

/**
 * Returns the tests of all channels as one: the first that did not arrive, with the requests of
 * all.
 */
function mergeTests(tests: readonly TestResult[]): TestResult {
  const [shown] = [...tests.filter(({ status }) => status !== 'delivered'), ...tests];
  if (!shown) throw new Error('an alert has no channel');
  const urls = tests.flatMap(({ attempt }) => attempt?.urls ?? []);
  return { ...shown, attempt: shown.attempt && { ...shown.attempt, urls } };
}

async function change(
  { config, entries, now }: AlertDeps,
  at: At,
  decide: (before: Destination) => Destination,
): Promise<Entry<Destination>> {
  if (config.destination(ALERTS_ID)) return entries.change('destination', at, decide);
  requireMatch(at.ifMatch, 0);
  return entries.create('destination', at.by, () => decide(blankAlerts(now())));
}

export interface NoticeDeps {
  config: Pick<ConfigView, 'destination'>;
  history: Asking;
  /** Returns the number of users whose profiles are full; undefined: not known yet. */
  fullProfiles: () => number | undefined;
  now: () => Date;
}

export function noticeHandlers(deps: NoticeDeps): HandlersOf<'notices'> {
  const { config, history, fullProfiles, now } = deps;
  const shown = (notice: PresentNotice) => presentView(notice, config);
  const presentAll = (database: Database, notices: readonly Notice[]) =>
    presentNotices(database, notices, { fullProfiles: fullProfiles(), nowMs: now().getTime() });
  const present = async (database: Database, notice: Notice | undefined) => {
    const [found] = notice ? await presentAll(database, [notice]) : [];
    return found;
  };
  return {
    'GET /notices': ({ query: { limit, after, total, ...filter } }) =>
      readPage(
        { limit, after, total },
        {
          read: (page) =>
            history.ask(async (database) => {
              const { rows, stoppedAt } = await listNotices(database, filter, page);
              return { rows: await presentAll(database, rows), stoppedAt };
            }),
          count: () => history.ask((database) => countNotices(database, filter)),
          cursorOf: ({ at, id }) => ({ at, id }),
          view: shown,
          newestMs: now().getTime(),
        },
      ),
    'GET /notices/{id}': async ({ id }) =>
      shown(
        required(
          id,
          await history.ask(async (database) => present(database, await getNotice(database, id))),
        ),
      ),
    'POST /notices/{id}/acknowledge': async ({ id, by }) => {
      const acknowledged = { at: now().getTime(), by: { id: by.id, name: by.name } };
      return shown(
        required(
          id,
          await history.ask(async (database) =>
            present(database, await acknowledge(database, id, acknowledged)),
          ),
        ),
      );
    },
    'POST /notices/acknowledge': async ({ body, by }) => {
      const which = parseBody(acknowledgeBody, body);
      const acknowledged = { at: now().getTime(), by: { id: by.id, name: by.name } };
      return {
        ids: await history.ask((database) => acknowledgeAll(database, which, acknowledged)),
      };
    },
  };
}

/** Adds the alert's delivery, so that a client can look up whether it arrived. */
function presentView(
  { count, deliveries, ...notice }: PresentNotice,
  config: Pick<ConfigView, 'destination'>,
) {
  const { id, destination, alert } = notice;
  return {
    ...noticeView(notice),
    destinationDeleted: destination !== '' && config.destination(destination) === undefined,
    count,
    deliveries,
    delivery: alert === 'sent' ? alertDelivery(id) : null,
  };
}

function required(id: string, notice: PresentNotice | undefined): PresentNotice {
  if (notice) return notice;
  throw unknownId('notice', id);
}
