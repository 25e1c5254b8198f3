import { z } from 'zod';
import { destinationBody, retryAllBody, webhookChoice } from '../../../shared/api/destinations';
import { type Entry } from '../../../shared/config/types';
import { ALERTS_ID, type Destination, GENERATE_SECRET } from '../../../shared/model/config';
import { type Json } from '../../../shared/model/message';
import { seesSecrets } from '../auth/authenticate';
import { type Actor } from '../http/identity';
import { type At, type ConfigEntries, newId, newSharedSecret } from '../config/config-entries';
import { type ConfigReader } from '../../../shared/config/types';
import { type Encryptor } from '../../../shared/config/encryption';
import { isoTimeOrNull } from '../../../shared/model/time';
import { type Log } from '../../../shared/telemetry/log';
import { type TopicRetention } from '../../../shared/runtime/retention';
import { type Replays } from '../replays/runner';
import { tryOnEvents } from '../debugger/filters';
import { compileInTurn } from '../expressions/request-expressions';
import { type HandlersOf } from '../http/handlers';
import { Problem } from '../http/problem';
import { lostToDisabled } from '../history/queries';
import { type Figures, listDestinations } from './list-destinations';
import { disableWebhook, enableWebhook, webhookOf } from './disabled-webhooks';
import { type RequestPreviewDeps, previewRequest } from './preview';
import { createDestination, destinationView, type Making, patchDestination } from './model';
import { rotateSecret } from './rotation';
import { publicKeys } from './signature';
import { showHealth } from './show-health';
import { type TestSends } from './test-send';
import { parseBody } from '../http/validate';
import { SharedAnswers } from '../overview/shared-answers';
import { jobView } from '../replays/job-view';
import { requireSendable } from '../replays/require';
import { type Asking } from '../history/database';

/** The newest events, on which a filter is tried. */
const EVENTS_IN_TRIAL = 200;

export interface DestinationDeps extends RequestPreviewDeps {
  config: Pick<ConfigReader, 'source' | 'destination' | 'onChange'>;
  entries: ConfigEntries;
  encryptor: Encryptor;
  testSends: TestSends;
  replays: Pick<Replays, 'startRecall'>;
  history: Asking;
  /** for this time a list is sorted by the same figures */
  keepAnswersMs: number;
  /** WAYPOST_RETRY_DELAYS */
  tiersMs: readonly number[];
  retention: TopicRetention;
  log: Log;
}

export function destinationHandlers(deps: DestinationDeps): HandlersOf<'destinations'> {
  const { entries } = deps;
  const view = (by: Actor, entry: Entry<Destination>) =>
    destinationView(entry, making(deps, entry.data.id), seesSecrets(by));
  const figures = new SharedAnswers<Figures>(deps.keepAnswersMs);
  deps.config.onChange(() => figures.clear());
  return {
    'GET /destinations': ({ query, by }) =>
      listDestinations({ ...deps, figures }, query, (entry) => view(by, entry)),
    'POST /destinations': async ({ body, by }) => {
      const id = newId('dst', deps.now());
      const { given, made } = withMadeSecret(body);
      const expressions = await compileInTurn(deps, by, [given]);
      const entry = await entries.create('destination', by, () =>
        createDestination(given, { ...making(deps, id), expressions }),
      );
      deps.log.info({ destination: id }, 'destination.created');
      return withSecret(view(by, entry), made);
    },
    'POST /destinations/preview': ({ body, identity }) => previewRequest(deps, body, identity),
    'GET /destinations/{id}': (call) => view(call.by, entries.get('destination', own(call).id)),
    'PATCH /destinations/{id}': async (call) => {
      const { id, body: patch = {} } = own(call);
      const { data } = entries.get('destination', id);
      const expressions = await compileInTurn(deps, call.by, [patch, data]);
      const entry = await entries.change('destination', call, (before) =>
        patchDestination(before, patch, { ...making(deps, id), expressions }),
      );
      deps.log.info({ destination: id, version: entry.version }, 'destination.changed');
      return view(call.by, entry);
    },
    'DELETE /destinations/{id}': async (call) => {
      await entries.remove('destination', own(call));
      deps.log.info({ destination: call.id }, 'destination.deleted');
    },
    'POST /destinations/{id}/rotate-secret': async (call) => {
      const { entry, generated } = await rotate(deps, own(call));
      return withSecret(view(call.by, entry), generated);
    },
    'GET /destinations/{id}/public-keys': ({ id }) => {
      const destination = deps.config.destination(id)?.data;
      const data = destination ? publicKeys(destination, deps.now()) : [];
      if (data.length > 0) return { data };
      // The same for every id: callers without a token must not learn which destinations exist.
      throw new Problem('not_found', 'There is no Ed25519 key of a destination with this id');
    },
    'POST /destinations/{id}/enable-webhook': (call) => enable(deps, call),
    'POST /destinations/{id}/disable-webhook': async (call) => {
      const { webhook } = parseBody(webhookChoice, call.body);
      const at = deps.now();
      const disabled = { at: at.toISOString(), reason: 'user' as const };
      const entry = await entries.change('destination', call, (before) =>
        disableWebhook(before, webhook, disabled, at),
      );
      deps.log.info({ destination: call.id, url: webhook }, 'webhook.disabled');
      return view(call.by, entry);
    },
    'GET /destinations/{id}/health': (call) => showHealth(deps, own(call).id, call.query),
    'GET /destinations/{id}/filter': (call) => {
      const { filter = 'true', sources } = entries.get('destination', own(call).id).data;
      return tryOnEvents(deps, call.by, { filter, sources, limit: EVENTS_IN_TRIAL });
    },
    'POST /destinations/{id}/retry': (call) => recallAll(deps, own(call), 'retry'),
    'POST /destinations/{id}/cancel': (call) => recallAll(deps, own(call), 'cancel'),
    'POST /destinations/{id}/test': (call) =>
      deps.testSends.send(entries.get('destination', own(call).id).data, call.body),
  };
}

/** Replaces the word that asks for a secret by a new one. */
function withMadeSecret(body: Json | undefined): {
  given: Json | undefined;
  made: string | undefined;
} {
  const isAsked =
    typeof body === 'object' &&
    body !== null &&
    'sharedSecret' in body &&
    body.sharedSecret === GENERATE_SECRET;
  if (!isAsked) return { given: body, made: undefined };
  const made = newSharedSecret();
  return { given: { ...body, sharedSecret: made }, made };
}

/** Adds a secret that Waypost made. It is shown in this response and never again. */
function withSecret<V extends object>(
  view: V,
  made: string | undefined,
): V & { sharedSecret?: string } {
  return made === undefined ? view : { ...view, sharedSecret: made };
}

/** Switches a URL on, also one of the alerts. The history need not be there for that. */
async function enable(deps: DestinationDeps, call: At & { body: Json | undefined }) {
  const { entries, history, now, log } = deps;
  const { webhook } = parseBody(webhookChoice, call.body);
  const { data } = entries.get('destination', call.id);
  const { disabled } = webhookOf(data, webhook);
  await entries.change('destination', call, (before) => enableWebhook(before, webhook, now()));
  log.info({ destination: call.id, url: webhook }, 'webhook.enabled');
  // Delivery stops by itself, and control may not have recorded that yet.
  const at = disabled?.at ?? data.updatedAt;
  const lost = await history
    .ask((database) => lostToDisabled(database, call.id, Date.parse(at)))
    .catch(() => ({ count: null, oldestAt: null }));
  if (!disabled && lost.count === 0) return { lostSince: null, count: 0 };
  return {
    lostSince: isoTimeOrNull(lost.oldestAt) ?? at,
    count: lost.count,
  };
}

/** Sends or cancels all that waits at a destination, as a job. */
async function recallAll(
  deps: DestinationDeps,
  { id, body }: { id: string; body: Json | undefined },
  action: 'retry' | 'cancel',
) {
  const { entries, replays, now } = deps;
  const { data } = entries.get('destination', id);
  if (action === 'retry') requireSendable(data);
  const { maxPerSecond = null } = action === 'retry' ? parseBody(retryAllBody, body) : {};
  const job = await replays.startRecall(
    { destination: id, action, maxPerSecond },
    newId('rpl', now()),
  );
  return jobView(
    job,
    action === 'retry'
      ? {
          attempted: 0,
          delivered: 0,
          failedAgain: 0,
          held: 0,
          superseded: 0,
        }
      : undefined,
  );
}

/** Hides the destination of alerts, which is set at /alerts only. @throws Problem `not_found` */
function own<C extends { id: string }>(call: C): C {
  if (call.id !== ALERTS_ID) return call;
  throw new Problem('not_found', 'Unknown destination "alerts". Use /alerts');
}

async function rotate(deps: DestinationDeps, call: At & { body: Json | undefined }) {
  const made = { secret: newSharedSecret(), now: deps.now(), encryptor: deps.encryptor };
  let generated: string | undefined;
  const entry = await deps.entries.change('destination', call, (before) => {
    const rotated = rotateSecret(before, call.body, made);
    generated = rotated.generated;
    return rotated.destination;
  });
  deps.log.info({ destination: call.id }, 'destination.secret_rotated');
  return { entry, generated };
}

function making(
  { encryptor, config, now, tiersMs, retention }: DestinationDeps,
  id: string,
): Omit<Making, 'expressions'> {
  const time = now();
  return {
    id,
    now: time,
    encryptor,
    newWebhookId: () => newId('whk', time),
    sourceExists: (source) => config.source(source) !== undefined,
    tiersMs,
    retention,
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
  return { 'GET /catalog': () => catalog };
}
