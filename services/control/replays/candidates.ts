import { defined } from '../../../shared/collections/defined';
import { type ConfigView } from '../../../shared/config/types';
import { aboutDelivery, type WaitingEvent } from '../../../shared/model/attempt-events';
import { type Destination } from '../../../shared/model/config';
import {
  findsStatus,
  isDelivered,
  isUnderWay,
  RENDER_FAILED,
  TOO_LARGE,
  REPLAYED,
} from '../../../shared/model/reasons';
import { decodeDelivery, type Delivery, encodeDelivery } from '../../../shared/model/delivery';
import { firstDelivery } from '../../../shared/model/first-delivery';
import { parseMessage, readMessageHeaders } from '../../../shared/model/message-codec';
import { routeOutcomeOf } from '../../../shared/model/route';
import { filtersOf } from '../../../shared/cel/compile';
import { type InRecord, type OutRecord } from '../../../shared/kafka/port';
import { attemptsRecord, DUE } from '../../../shared/kafka/topics';
import {
  type MessagePlace,
  placeOfMessage,
  renderFailedRecords,
} from '../../../shared/render/render-failed';
import { type RenderFailure, renderOnce } from '../../../shared/render/render-request';
import { tooLargeRecords } from '../../../shared/render/too-large';
import { requireKnownFormat } from '../../../shared/runtime/errors';
import { type DeliveryRow } from '../history/delivery-row';
import { type Try } from '../history/tries';
import { readsMessages, type Scope } from './job';

/** Decides which records a replay sends again, and in which form. Pure. */

export interface Candidate {
  delivery: Delivery;
  key: string | null;
  /** the body, why there is none, or the message to render it from */
  content: Buffer | RenderFailure | MessagePlace;
  /** the record it comes from */
  record: { topic: string; partition: number; offset: number };
}

export function messageOfCandidate({ content }: Candidate): MessagePlace | undefined {
  return 'offset' in content && !Buffer.isBuffer(content) ? content : undefined;
}

/** The history's data of a delivery that a replay needs. */
export type KnownDelivery = Pick<DeliveryRow, 'status' | 'reason' | 'replay'> &
  Partial<Pick<DeliveryRow, 'tries'>>;

/**
 * Returns the delivery of a record if it is within the scope.
 * @throws AppError `newer_format`: a newer control process must run the replay
 */
export function candidateOf(
  record: InRecord,
  scope: Scope,
  config: Pick<ConfigView, 'source' | 'destination'>,
): Candidate | undefined {
  requireKnownFormat(record, 'this control process');
  const found = readsMessages(scope) ? fromMessage(record, scope, config) : deadDelivery(record);
  if (!found) return undefined;
  const { destinationId, acceptedAt, type, test } = found.delivery;
  const wanted =
    destinationId === scope.destination &&
    (scope.type === null || scope.type === type) &&
    (scope.from === null || scope.from <= acceptedAt) &&
    acceptedAt < scope.to &&
    !test;
  if (!wanted) return undefined;
  // A replay uses a destination only in its current version, which may have been corrected just
  // before.
  const version = config.destination(destinationId)?.version;
  if (version !== undefined) found.delivery.destinationVersion = version;
  return found;
}

/**
 * Decodes the delivery in a record of any webhooks topic. A dead letter that was never rendered
 * names its message. Returns undefined if it cannot be read, or has no body (`too_large`).
 */
export function deadDelivery(record: InRecord): Candidate | undefined {
  const decoded = decodeDelivery(record.headers);
  if (decoded.kind !== 'delivery' || decoded.delivery.reason === TOO_LARGE) return undefined;
  const { topic, partition, offset } = record;
  const value = Buffer.from(record.value ?? '');
  const content = decoded.delivery.reason === RENDER_FAILED ? placeOfMessage(value) : value;
  if (!content) return undefined;
  const key = record.key?.toString() ?? null;
  return { delivery: decoded.delivery, key, content, record: { topic, partition, offset } };
}

/**
 * Routes a message to this destination as the router would today, by the same rules. To render a
 * dead letter again, only the destination counts: its message was routed before.
 */
function fromMessage(
  record: InRecord,
  { destination: id, origin }: Scope,
  config: Pick<ConfigView, 'source' | 'destination'>,
): Candidate | undefined {
  const destination = config.destination(id)?.data;
  if (!destination) return undefined;
  const source = config.source(record.headers.source ?? '')?.data;
  const message = parseMessage(record.value);
  if (typeof message === 'string') return undefined;
  const isRouted = () =>
    source && routeOutcomeOf(message, source, destination, filtersOf(message)).outcome === 'routed';
  return origin === 'dead_letters' || isRouted() ? renderCandidate(record, destination) : undefined;
}

/**
 * Renders the delivery of a message for a destination as the router would today. Returns undefined
 * if it cannot be read.
 */
export function renderCandidate(record: InRecord, destination: Destination): Candidate | undefined {
  const head = readMessageHeaders(record.headers);
  const message = parseMessage(record.value);
  if (head.kind !== 'message' || typeof message === 'string') return undefined;
  const { topic, partition, offset } = record;
  const { delivery, key } = firstDelivery({ head, message, destination, expiresAt: 0 });
  const result = renderOnce(message, head.sourceId, destination);
  if (result.kind === 'rendered') Object.assign(delivery, result.head);
  const content = result.kind === 'rendered' ? result.body : result;
  return { delivery, key, content, record: { topic, partition, offset } };
}

/**
 * Returns the replay number of a candidate, or undefined to leave it out: a delivery in progress, a
 * delivered one (unless requested), one with another status or reason than the scope's, or a dead
 * letter of an earlier replay.
 */
export function replayNumber(
  candidate: Candidate,
  known: KnownDelivery | undefined,
  scope: Scope,
): number | undefined {
  const { replay } = candidate.delivery;
  if (!known && scope.onlyFailedUrls) return undefined;
  // A dead letter has its reason; of a message, only the history knows one.
  const reason = readsMessages(scope) ? known?.reason : candidate.delivery.reason;
  if (scope.reason !== null && reason !== scope.reason) return undefined;
  if (scope.origin === 'dead_letters' && readsMessages(scope)) {
    return known?.status === (scope.status ?? 'dead') ? Math.max(0, known.replay) + 1 : undefined;
  }
  if (!known) return scope.status === null || scope.status === 'dead' ? replay + 1 : undefined;
  if (isDelivered(known.status) && !scope.includeDelivered && !scope.onlyFailedUrls) {
    return undefined;
  }
  if (scope.origin === 'dead_letters') {
    // A later replay has its own dead letter, or is in progress. A history that lags may not know
    // of this dead letter yet.
    if (known.replay > replay) return undefined;
    const status = isUnderWay(known.status) ? 'dead' : known.status;
    return scope.status === null || findsStatus(scope.status, status) ? replay + 1 : undefined;
  }
  if (isUnderWay(known.status)) return undefined;
  return scope.status === null || findsStatus(scope.status, known.status)
    ? Math.max(0, known.replay) + 1
    : undefined;
}

/** Returns the window of a destination's deliveries, ms. @param windowMs of the settings */
export function windowOf(
  config: Pick<ConfigView, 'destination'>,
  destination: string,
  windowMs: number,
): number {
  return config.destination(destination)?.data.retry?.windowMs ?? windowMs;
}

export interface ReplayContext {
  nowMs: number;
  windowMs: number;
  job?: string;
  /** hashes of the URLs that do not get it again */
  excludedUrls?: string[];
}

/**
 * Returns the same delivery with its own window, and the event of the replay; or another dead
 * letter if it cannot be rendered. The record goes to the topic of due
 * retries, so that it does not delay new deliveries.
 */
export function replayRecords(
  candidate: Candidate,
  replay: number,
  context: ReplayContext,
): OutRecord[] {
  const { key, content, record } = candidate;
  const { nowMs, job } = context;
  const again = deliveryAgain(candidate, replay, context);
  if ('field' in content) {
    return renderFailedRecords({ delivery: again, key, failure: content }, record, nowMs);
  }
  if (!Buffer.isBuffer(content)) return [];
  const about = aboutDelivery(again, record, nowMs);
  const event: WaitingEvent = {
    ...about,
    kind: 'waiting',
    n: 0,
    reason: REPLAYED,
    nextAttemptAt: about.at,
    ...defined({ job }),
  };
  return [
    attemptsRecord(again.id, event),
    {
      topic: DUE,
      key,
      value: content,
      // The next owner of the job finds the record by this header (unsaved.ts).
      headers: { ...encodeDelivery(again), ...defined({ job }) },
    },
  ];
}

/**
 * Returns the records that end a replay whose record Kafka refuses for good: with its event alone
 * it would seem under way.
 */
export function refusedReplayRecords(
  candidate: Candidate,
  replay: number,
  context: ReplayContext,
): OutRecord[] {
  const { key, record } = candidate;
  const again = deliveryAgain(candidate, replay, context);
  return tooLargeRecords(again, { ...record, key }, context.nowMs);
}

function deliveryAgain(
  { delivery }: Candidate,
  replay: number,
  { nowMs, windowMs, excludedUrls = [] }: ReplayContext,
): Delivery {
  const { halved, notBefore, due, final, reason, recalled, error, test, ...rest } = delivery;
  return {
    ...rest,
    attempt: 0,
    hop: 0,
    replay,
    excludedUrls,
    expiresAt: nowMs + windowMs,
  };
}

/**
 * Returns the ids of the webhooks whose last try delivered. A replay of failed URLs leaves these
 * out.
 * @param tries in order of time
 */
export function deliveredWebhooks(tries: readonly Try[]): Set<string> {
  const delivered = new Set<string>();
  for (const { url, outcome } of tries.flatMap(({ urls }) => urls)) {
    if (outcome === 'delivered') delivered.add(url);
    else delivered.delete(url);
  }
  return delivered;
}
