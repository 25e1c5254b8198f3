import { defined } from '../collections/defined';
import { aboutDelivery, type WaitingEvent } from './attempt-events';
import { decodeDelivery } from './delivery';
import { RETRY_REQUESTED } from './reasons';
import { callHash } from './dedup-window';

/**
 * Topic `webhooks.recalls`: requests to take waiting deliveries out of their tiers early, and the
 * notes of retry about what it took. Pure.
 *
 * A recall copies the record of a tier to `webhooks.due` with the same step (delivery, replay,
 * attempt, hop), exactly as its return would have done later. The step is then noted here, and
 * retry drops the record in the tier when it falls due. If a crash prevents the note, both copies
 * reach delivery, which drops the second record of a step.
 */

/**
 * `retry`: a user sends it now; `retry_all`: a user sends all that wait at a destination;
 * `recovered`: the circuit of a URL closed, or its token endpoint or proxy answers again; `cancel`:
 * a user ends it. It is also the header `recalled` of the copy.
 */
export const RECALL_ACTIONS = ['retry', 'retry_all', 'recovered', 'cancel'] as const;
export type RecallAction = (typeof RECALL_ACTIONS)[number];

/** Waits that end together when what they wait for has recovered. */
export const RECOVERED_REASONS = ['circuit_open', 'token', 'proxy'] as const;
export type RecoveredReason = (typeof RECOVERED_REASONS)[number];

/** A request. It does not concern records that enter a tier later, except for a `cancel`. */
export interface Recall {
  kind: 'recall';
  id: string;
  action: RecallAction;
  destination: string;
  /**
   * keys of the destination's shards: their partitions are searched first, and for `recovered` they
   * alone
   */
  keys: string[];
  /** of `recovered`: the reason why its deliveries wait; absent: `circuit_open` */
  reason?: RecoveredReason;
  /** one delivery; absent: all that wait */
  delivery?: { id: string; replay: number; attempt: number };
  /**
   * For `cancel` of all: ends of the windows of the deliveries that are under way, ms since 1970.
   * It also cancels deliveries that enter a tier within `STANDS_MS`, but no later replay.
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
    case 'recall': {
      const { action, id, destination, keys, delivery } = read;
      const isOne =
        delivery === undefined ||
        (isText(delivery.id) && [delivery.replay, delivery.attempt].every(isCount));
      return (
        RECALL_ACTIONS.includes(action) &&
        [id, destination].every(isText) &&
        isListOf(keys, isText) &&
        isOne
      );
    }
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

/** @param beforeMs when Kafka appended the recall, by the brokers' clock */
export function isRecalled(recall: Recall, record: ParkedRecord, beforeMs: number): boolean {
  // The key is compared first, because headers are decoded on access.
  if (record.key !== null && !isOf(recall.destination, record.key)) return false;
  const { headers } = record;
  if (headers.destination !== recall.destination || headers.test !== undefined) return false;
  if (recall.delivery) {
    const { id, replay, attempt } = recall.delivery;
    const same = headers.delivery === id && Number(headers.replay ?? 0) === replay;
    // A retry is for the wait that the user saw, so it never takes the wait after the attempt that
    // it caused.
    return same && (recall.action === 'cancel' || Number(headers.attempt ?? 0) <= attempt);
  }
  if (record.timestampMs > beforeMs) {
    return Number(headers['expires-at']) <= (recall.expiresBy ?? 0);
  }
  return recall.action !== 'recovered' || headers.reason === (recall.reason ?? 'circuit_open');
}

function isOf(destination: string, key: Buffer): boolean {
  const { length } = destination;
  return key[length] === COLON && key.toString('latin1', 0, length) === destination;
}
const COLON = ':'.charCodeAt(0);

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
