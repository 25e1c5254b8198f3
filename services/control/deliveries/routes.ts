import { replayOneBody } from '../../../shared/api/deliveries';
import { type Query } from '../../../shared/api/operations';
import { type OutRecord } from '../../../shared/kafka/port';
import { ATTEMPTS } from '../../../shared/kafka/topics';
import { type Json } from '../../../shared/model/message';
import { isUnderWay, RENDER_FAILED, TOO_LARGE } from '../../../shared/model/reasons';
import { seesSecrets } from '../auth/authenticate';
import { type ConfigView } from '../../../shared/config/types';
import { isoTime } from '../../../shared/model/time';
import { pausedIds } from '../destinations/model';
import { fieldError } from '../destinations/request';
import { type Health } from '../health/destination-health';
import { healthOfSome } from '../health/store';
import { readVersions, versionKey } from '../history/destination-versions';
import { type DeliveryRow } from '../history/delivery-row';
import { countDeliveries, cursorOf, fillDeliveryPage, getDelivery } from '../history/queries';
import { lastReplay } from '../history/tries';
import { type History } from '../history/history';
import { type HandlersOf } from '../http/handlers';
import { decodeCursor, encodeCursor, pageOf, readPage } from '../http/paging';
import { Problem, quoted } from '../http/problem';
import { type CircuitDeps, currentCircuits } from '../destinations/open-circuits';
import { invalidFields, parseBody } from '../http/validate';
import {
  type Candidate,
  deadDelivery,
  renderCandidate,
  replayRecords,
  windowOf,
} from '../replays/candidates';
import { requireOn, requireReplayable } from '../replays/require';
import { type BodyIndex } from '../search/body-index';
import { searchDeliveries } from '../search/search';
import { calledUrl } from './called-url';
import { bodyJson, findMessageOf, findRecord } from './delivery-body';
import { deliveryDetail, deliveryView, filterOf, type Present } from './model';
import { hashesOfOthers, recallDelivery, type RecallDeps } from './recall';
import { readResponses } from './stored-responses';

export interface DeliveryDeps extends CircuitDeps, RecallDeps {
  config: Pick<ConfigView, 'source' | 'destination' | 'list'>;
  history: Pick<History, 'ask' | 'forgotten' | 'learnDeletions'>;
  bodies: Pick<BodyIndex, 'retentionMs'>;
  /** WAYPOST_RETRY_WINDOW; also the window of replayed deliveries */
  windowMs: number;
  /** WAYPOST_RETRY_DELAYS */
  tiersMs: readonly number[];
}

export function deliveryHandlers(deps: DeliveryDeps): HandlersOf<'deliveries'> {
  return {
    'GET /deliveries': ({ query }) =>
      query.q === undefined ? list(deps, query) : search(deps, query, query.q),
    'GET /deliveries/{id}': ({ id, by }) => showDelivery(deps, id, seesSecrets(by)),
    'POST /deliveries/{id}/replay': ({ id, body }) => replayDelivery(deps, id, body),
    'POST /deliveries/{id}/retry': async ({ id }) =>
      recallDelivery(deps, await find(deps, id), 'retry'),
    'POST /deliveries/{id}/cancel': async ({ id }) =>
      recallDelivery(deps, await find(deps, id), 'cancel'),
  };
}

type ListQuery = Query<'GET /deliveries'>;

/** How long a page searches, ms. The few that fit may lie behind many that do not. */
const LIST_MS = 1_000;

async function list(deps: DeliveryDeps, query: ListQuery) {
  const filter = filterOf(query, pausedIds(deps.config.list('destination')));
  return readPage(query, {
    read: async (page) => {
      const begunAt = performance.now();
      const mayGoOn = () => performance.now() - begunAt < LIST_MS;
      const { rows, stoppedAt } = await fillDeliveryPage(deps.history, filter, page, mayGoOn);
      const present = await presentOf(deps, rows);
      return { rows: rows.map((row) => ({ row, present })), stoppedAt };
    },
    count: () => deps.history.ask((database) => countDeliveries(database, filter)),
    cursorOf: ({ row }) => cursorOf(row),
    view: ({ row, present }) => deliveryView(row, present),
    newestMs: query.until ?? deps.now().getTime(),
  });
}

/** Sorts before every id of a delivery. */
const BEFORE_IDS = '0';

async function search(deps: DeliveryDeps, query: ListQuery, text: string) {
  const { kafka, history, bodies, now } = deps;
  const { retentionMs } = bodies;
  if (retentionMs === 0) {
    const errors = [
      { parameter: 'q', detail: 'cannot be used: the search is off (WAYPOST_SEARCH_RETENTION=0s)' },
    ];
    throw new Problem('invalid_fields', 'The search is off', { errors });
  }
  const context = {
    kafka,
    history,
    retentionMs,
    nowMs: now().getTime(),
    steadyMs: () => performance.now(),
  };
  const wanted = {
    query: text,
    filter: filterOf(query, pausedIds(deps.config.list('destination'))),
  };
  const { rows, stoppedAt, searched } = await searchDeliveries(context, wanted, {
    limit: query.limit + 1,
    after: decodeCursor(query.after),
  });
  const present = await presentOf(deps, rows);
  const page = pageOf(rows, query.limit, {
    nextOf: (row) => encodeCursor(cursorOf(row)),
    view: (row) => deliveryView(row, present),
  });
  // Without a whole page, the next request continues where the time ran out.
  const resume =
    stoppedAt === undefined ? null : encodeCursor({ at: stoppedAt + 1, id: BEFORE_IDS });
  const { from, to, complete } = searched;
  const times = { from: isoTime(from), to: isoTime(to) };
  return { ...page, next: page.next ?? resume, searched: { ...times, complete } };
}

async function find({ history }: DeliveryDeps, id: string): Promise<DeliveryRow> {
  const row = await history.ask((database) => getDelivery(database, id));
  if (row) return row;
  throw new Problem('not_found', `The history has no delivery ${quoted(id)}`);
}

/** Replays one delivery, even if it was delivered, since it was requested by id. */
async function replayDelivery(deps: DeliveryDeps, id: string, body: Json | undefined) {
  const { config, producer, now, log } = deps;
  const { render, webhooks } = parseBody(replayOneBody, body);
  const row = await find(deps, id);
  requireReplayable(row.destination);
  if (isUnderWay(row.status)) {
    throw new Problem(
      'conflict',
      `The delivery is in progress (${row.status}) and cannot be replayed`,
    );
  }
  requireOn(config, row.destination);
  const excludedUrls = webhooks ? hashesOfOthers(deps, row.destination, webhooks) : [];
  const nowMs = now().getTime();
  const hasNoBody = row.reason === RENDER_FAILED || row.reason === TOO_LARGE;
  const candidate = await (render === 'again' || hasNoBody
    ? renderAgain(deps, row)
    : asSent(deps, row));
  const replay = lastReplay(row) + 1;
  const windowMs = windowOf(config, row.destination, deps.windowMs);
  const records = replayRecords(candidate, replay, { nowMs, windowMs, excludedUrls });
  const isEvent = ({ topic }: OutRecord) => topic === ATTEMPTS;
  // The record first: with its event alone the delivery would seem under way for good.
  await producer.send(records.filter((each) => !isEvent(each)));
  await producer.send(records.filter(isEvent));
  log.info({ delivery: id, destination: row.destination, replay }, 'delivery.replayed');
  return { id, replay, status: 'waiting' as const };
}

async function asSent({ kafka }: DeliveryDeps, row: DeliveryRow): Promise<Candidate> {
  const record = await findRecord(kafka, row);
  const candidate = record && deadDelivery(record);
  if (candidate) return candidate;
  throw new Problem('conflict', 'Kafka no longer has the body, so the delivery cannot be replayed');
}

/** @throws Problem `invalid_fields` with the field of the destination that cannot be rendered */
async function renderAgain({ kafka, config }: DeliveryDeps, row: DeliveryRow): Promise<Candidate> {
  const destination = config.destination(row.destination);
  const record = destination && (await findMessageOf(kafka, row));
  const candidate = record && renderCandidate(record, destination.data);
  if (!candidate) {
    throw new Problem(
      'conflict',
      'Kafka no longer has the message, so it cannot be rendered again',
    );
  }
  if ('field' in candidate.content) throw invalidFields([fieldError(candidate.content)]);
  candidate.delivery.destinationVersion = destination.version;
  return candidate;
}

/** Reads what decides what these deliveries wait for. @throws Problem `unavailable` */
async function presentOf(deps: DeliveryDeps, rows: readonly DeliveryRow[]): Promise<Present> {
  const { config, history, tiersMs, windowMs, now } = deps;
  const waiting = new Set(
    rows.flatMap(({ status, destination }) => (isUnderWay(status) ? [destination] : [])),
  );
  const [circuits, health] = await Promise.all([
    waiting.size === 0 ? [] : currentCircuits(deps),
    waiting.size === 0
      ? new Map<string, Health>()
      : history.ask((database) => healthOfSome(database, [...waiting])),
  ]);
  return {
    nowMs: now().getTime(),
    tiersMs,
    windowMs,
    at: (id) => {
      const { name = null, paused = false, webhooks = [] } = config.destination(id)?.data ?? {};
      const urls = webhooks.filter(({ disabled }) => !disabled).map((webhook) => webhook.id);
      return {
        name,
        isPaused: paused,
        urls,
        circuits: circuits.filter(
          ({ destination, url }) => destination === id && urls.includes(url),
        ),
        health: health.get(id),
      };
    },
  };
}

async function versionsOf({ history, config }: DeliveryDeps, { destination, tries }: DeliveryRow) {
  const named = new Set(tries.flatMap(({ urls }) => urls.map((url) => url.destinationVersion)));
  const wanted = [...named].map((version) => ({ destination, version }));
  const known = await history.ask((database) => readVersions(database, wanted));
  const today = config.destination(destination);
  return (version: number) =>
    today?.version === version ? today.data : known.get(versionKey(destination, version));
}

async function showDelivery(deps: DeliveryDeps, id: string, seesUrls: boolean) {
  const { kafka, config, encryptor } = deps;
  const row = await find(deps, id);
  const today = config.destination(row.destination);
  const versionOf = await versionsOf(deps, row);
  const record = await findRecord(kafka, row);
  const sent = record && deadDelivery(record)?.delivery;
  const called = calledUrl({
    deliveryId: row.id,
    sent,
    today: today?.data,
    versionOf,
    encryptor,
    seesUrls,
  });
  const responses = await deps.history.ask((database) => readResponses(database, row));
  return {
    ...deliveryDetail(row, await presentOf(deps, [row]), { called, responses }),
    body: record?.value ? bodyJson(record.value) : null,
  };
}
