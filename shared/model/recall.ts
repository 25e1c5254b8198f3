import { defined } from '../collections/defined';
import { aboutDelivery, type WaitingEvent } from './attempt-events';
import { decodeDelivery } from './delivery';
import { RETRY_REQUESTED } from './reasons';
import { callHash } from './dedup-window';

/**
 * Topic `webhooks.recalls`: requests to take waiting deliveries out of their tiers early, and the
 * notes of retry about what it took. Pure. Whatever must leave early goes this way: what waited for
 * an endpoint that has recovered, for a corrected URL or for the end of a pause; what a user sends
 * now or cancels; one delivery that probes an endpoint.
 *
 * A recall copies the record of a tier to `webhooks.due` with the same step (delivery, replay,
 * attempt, hop), exactly as its return would have done later. The step is then noted here, and
 * retry drops the record in the tier when it falls due. If a crash prevents the note, both copies
 * reach delivery, which drops the second record of a step.
 */

/**
 * `retry`: a user sends it now; `retry_all`: a user sends all that wait at a destination;
 * `recovered`: what they wait for is over; `probe`: one of them asks whether its circuit can close;
 * `cancel`: a user ends it. It is also the header `recalled` of the copy.
 */
export const RECALL_ACTIONS = ['retry', 'retry_all', 'recovered', 'probe', 'cancel'] as const;
export type RecallAction = (typeof RECALL_ACTIONS)[number];

/** Waits that end together when what they wait for is over. */
export const RECOVERED_REASONS = ['circuit_open', 'token', 'proxy', 'paused'] as const;
export type RecoveredReason = (typeof RECOVERED_REASONS)[number];

/** Which waiting deliveries are meant: those to which all fields apply. Tests are never meant. */
export interface Predicate {
  destination?: string;
  /** hash of a URL (`urlHash`): it has not refused them for good */
  url?: string;
  /** why they wait */
  reason?: RecoveredReason;
  /** with `attempt`: not after a later attempt */
  delivery?: { id: string; replay: number; attempt?: number };
  /** user id or anonymous id */
  user?: string;
}

/** A request. */
export interface Recall {
  kind: 'recall';
  id: string;
  action: RecallAction;
  where: Predicate;
  /**
   * keys of the destination's shards: their partitions are searched first, and for `recovered` and
   * `probe` they alone; empty: they are not known
   */
  keys: string[];
  /**
   * For `cancel`: ends of the windows of the deliveries that are under way, ms since 1970. It also
   * cancels deliveries that enter a tier within `STANDS_MS`, but no later replay.
   */
  expiresBy?: number;
  /** over all retry processes */
  maxPerSecond?: number;
  /** the job in control, named in the events of what it takes */
  job?: string;
}

/** Steps whose copies Kafka has acknowledged. */
export interface TakenNote {
  kind: 'taken';
  recall: string;
  count: number;
  /** base64 of their hashes, 8 bytes each */
  steps: string;
}

/** Partitions of the tiers that are searched to their end. */
interface SearchedNote {
  kind: 'searched';
  recall: string;
  partitions: number[];
  /** number of partitions of the tiers */
  of: number;
}

/** Ends a recall early: its job was cancelled, or the circuit opened again. */
interface StopRecall {
  kind: 'stop';
  recall: string;
}

export type RecallRecord = Recall | TakenNote | SearchedNote | StopRecall;

/** Reads a record of the topic. @returns undefined for a record that this version does not know */
export function readRecall(value: Buffer | null): RecallRecord | undefined {
  try {
    const read = JSON.parse(String(value)) as RecallRecord | null;
    return read !== null && isComplete(read) ? read : undefined;
  } catch {
    return undefined;
  }
}

/** Returns whether a record has a known kind and all fields of that kind. */
function isComplete(read: RecallRecord): boolean {
  switch (read.kind) {
    case 'recall':
      return (
        RECALL_ACTIONS.includes(read.action) &&
        isText(read.id) &&
        isListOf(read.keys, isText) &&
        isPredicate(read.where)
      );
    case 'taken':
      return [read.recall, read.steps].every(isText) && isCount(read.count);
    case 'searched':
      return isText(read.recall) && isListOf(read.partitions, isCount) && isCount(read.of);
    case 'stop':
      return isText(read.recall);
    default:
      return false;
  }
}

function isPredicate(where: Predicate | undefined): boolean {
  if (where === undefined) return false;
  const { destination, url, reason, delivery, user } = where;
  const texts = [destination, url, reason, user].filter((each) => each !== undefined);
  if (!texts.every(isText) || (texts.length === 0 && !delivery)) return false;
  return (
    !delivery || (isText(delivery.id) && [delivery.replay, delivery.attempt ?? 0].every(isCount))
  );
}

const isText = (value: unknown) => typeof value === 'string';
const isCount = (value: unknown) => Number.isInteger(value);
const isListOf = (value: unknown, isOne: (each: unknown) => boolean) =>
  Array.isArray(value) && value.every(isOne);

/** The record of a delivery in a tier, as far as a recall looks at it. */
export interface ParkedRecord {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  readonly timestampMs: number;
  readonly key: Buffer | null;
  readonly headers: Readonly<Record<string, string | undefined>>;
}

/**
 * Time for which a cancel also concerns deliveries that were under way when it came, ms: longer
 * than the longest timeout of a request, as much for a token before it, and the queue of a lane.
 */
export const STANDS_MS = 75_000;
/** Age at which retry drops the request of a job that no process of it works on, ms. */
export const JOB_LIFETIME_MS = 86_400_000;

/**
 * Returns whether a recall concerns a record that a search finds in a tier. A recovery, a probe and
 * the recall of one delivery concern all that they match. What a user sends now or cancels together
 * entered its tier before the recall, so that none is sent twice; a cancellation also concerns what
 * was under way (`expiresBy`).
 * @param beforeMs when Kafka appended the recall, by the brokers' clock
 */
export function isRecalled(
  { action, where, expiresBy }: Recall,
  record: ParkedRecord,
  beforeMs: number,
) {
  if (!isMeant(where, record)) return false;
  return (
    where.delivery !== undefined ||
    action === 'probe' ||
    action === 'recovered' ||
    record.timestampMs <= beforeMs ||
    Number(record.headers['expires-at']) <= (expiresBy ?? 0)
  );
}

/** Returns whether a predicate applies to a record. */
function isMeant(where: Predicate, { key, headers }: Pick<ParkedRecord, 'key' | 'headers'>) {
  const { destination, url, reason, delivery, user } = where;
  if (destination !== undefined) {
    // The key is compared first, because headers are decoded on access.
    if (key !== null && destinationOfKey(key) !== destination) return false;
    if (headers.destination !== destination) return false;
  }
  if (reason !== undefined && headers.reason !== reason) return false;
  if (delivery && !isOf(delivery, headers)) return false;
  if (user !== undefined && headers.user !== user && headers.anonymous !== user) return false;
  if (url !== undefined && headers.closed?.split(',').includes(url)) return false;
  return headers.test === undefined;
}

function isOf(
  { id, replay, attempt = Infinity }: NonNullable<Predicate['delivery']>,
  headers: ParkedRecord['headers'],
): boolean {
  return (
    headers.delivery === id &&
    Number(headers.replay ?? 0) === replay &&
    Number(headers.attempt ?? 0) <= attempt
  );
}

/** Returns the destination in the key of a delivery's record. */
export function destinationOfKey(key: Buffer): string {
  const end = key.lastIndexOf(COLON);
  return key.toString('latin1', 0, end < 0 ? key.length : end);
}
const COLON = ':'.charCodeAt(0);

/** Ages of an outage: until the first, its endpoint is probed often, and then seldom, ms. */
const PROBED_OFTEN_MS = 900_000;
/** A little less than a minute and five minutes: a search and a return follow. */
const PROBES_OFTEN_EVERY_MS = 50_000;
const PROBES_EVERY_MS = 280_000;

/**
 * Returns when the next delivery that waits for a circuit probes its endpoint, ms since 1970.
 * @param askedMs when the probes were asked for
 * @param lastMs the last one; undefined: none yet
 */
export function nextProbeMs(askedMs: number, lastMs: number | undefined): number {
  if (lastMs === undefined || lastMs < askedMs) return askedMs;
  return lastMs + (lastMs - askedMs < PROBED_OFTEN_MS ? PROBES_OFTEN_EVERY_MS : PROBES_EVERY_MS);
}

/** The same with the time that a search, a return and a request take, ms. */
const PROBED_OFTEN_WITHIN_MS = 60_000;
const PROBED_WITHIN_MS = 300_000;

/**
 * Returns by when an endpoint is asked again whose circuit is open, ms since 1970.
 * @param openedMs when the circuit opened
 * @param lastMs when it was last asked, or when the circuit opened
 */
export function probedBy(openedMs: number, lastMs: number): number {
  return lastMs + (lastMs - openedMs < PROBED_OFTEN_MS ? PROBED_OFTEN_WITHIN_MS : PROBED_WITHIN_MS);
}

/**
 * Hashes the step of a record, in 16 hexadecimal digits. @returns undefined for a record without a
 * delivery
 */
export function stepHash(headers: ParkedRecord['headers']): string | undefined {
  const { delivery, replay = '0', attempt = '0', hop = '0' } = headers;
  if (!delivery) return undefined;
  return callHash(delivery, `${replay}.${attempt}.${hop}`);
}

/** @param hashes of `stepHash` */
export function takenNote(recall: string, hashes: readonly string[]): TakenNote {
  return {
    kind: 'taken',
    recall,
    count: hashes.length,
    steps: Buffer.from(hashes.join(''), 'hex').toString('base64'),
  };
}

/** Returns the hashes of a note. */
export function stepsOf({ steps }: TakenNote): string[] {
  return Buffer.from(steps, 'base64').toString('hex').match(/.{16}/g) ?? [];
}

/** Returns the headers of the copy: the record's headers, and the mark. */
export function recalledHeaders(
  recall: Recall,
  headers: ParkedRecord['headers'],
): Record<string, string> {
  return { ...(headers as Record<string, string>), recalled: recall.action };
}

/**
 * Returns the event that shows a retry in the history; undefined for what needs none: a recovered
 * endpoint and a cancelled delivery have other events.
 */
export function recallEvent(
  recall: Recall,
  record: ParkedRecord,
  nowMs: number,
): WaitingEvent | undefined {
  if (recall.action !== 'retry' && recall.action !== 'retry_all') return undefined;
  const decoded = decodeDelivery(record.headers);
  if (decoded.kind !== 'delivery') return undefined;
  const { delivery } = decoded;
  const { topic, partition, offset } = record;
  const about = aboutDelivery(delivery, { topic, partition, offset }, nowMs);
  return {
    ...about,
    kind: 'waiting',
    n: delivery.attempt,
    reason: RETRY_REQUESTED,
    nextAttemptAt: about.at,
    ...defined({ job: recall.job }),
  };
}
