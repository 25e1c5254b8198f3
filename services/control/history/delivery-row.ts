import { type DeliveryEvent } from '../../../shared/model/attempt-events';
import {
  type DeliveryStatus,
  isDelivered,
  isUnderWay,
  REPLAYED,
  waitStatus,
} from '../../../shared/model/reasons';
import { cutEventName, type MessageType } from '../../../shared/model/message';
import { timeOf } from '../../../shared/model/time';
import { isSentAgain, jobAfter, jobOfDelivered, type SentByJob } from './sent-by-job';
import { storedId, storedText } from './stored-id';
import { addTry, addWithheld, settledStatus, type Try } from './tries';

/**
 * Applies events of `attempts` to the row of a delivery. Pure.
 *
 * Events come at least once, in order or, after a crash, mixed with older ones. So an event of an
 * earlier step (replay, then hop) than the row's changes no status, a repeated event changes
 * nothing, and `delivered` is final: later events only add attempts, which may make it
 * `partly_delivered` or whole.
 */

/** Times are ms since 1970. */
export interface DeliveryRow extends SentByJob {
  id: string;
  acceptedAt: number;
  message: string;
  source: string;
  destination: string;
  type: MessageType;
  /** name of the track call, page or screen; null: none */
  event: string | null;
  /** as stored (see `storedId`) */
  userId: string | null;
  /** as stored; null if `userId` is set */
  anonymousId: string | null;
  status: DeliveryStatus;
  /** why it waits or ended */
  reason: string | null;
  expiresAt: number;
  nextAt: number | null;
  /** when it was delivered, given up or cancelled */
  settledAt: number | null;
  replay: number;
  hop: number;
  /** attempts since it was sent or replayed */
  made: number;
  test: boolean;
  /** the record that contains its body: topic/partition/offset */
  record: string;
  tries: Try[];
  /**
   * why it was given up without an attempt: the field of its request, and the cause; null: an
   * attempt says it
   */
  deadError: string | null;
}

export function applyEvent(before: DeliveryRow | undefined, event: DeliveryEvent): DeliveryRow {
  const row = before ?? firstRow(event);
  const tries = triesAfter(row.tries, event);
  if (isDelivered(row.status)) {
    const sent = jobOfDelivered(row, event);
    if (tries === row.tries && sent === row) return row;
    const { job, jobResult } = sent;
    const status = tries === row.tries ? row.status : settledStatus({ ...row, tries });
    return { ...row, tries, status, job, jobResult };
  }
  if (isOlder(row, event)) return tries === row.tries ? row : { ...row, tries };
  const status = statusOf(event, tries);
  const waits = isUnderWay(status);
  const { topic, partition, offset } = event.record;
  const changed = {
    status,
    reason: reasonOf(event, status),
    expiresAt: timeOf(event.expiresAt),
    nextAt:
      waits && 'nextAttemptAt' in event && event.nextAttemptAt ? timeOf(event.nextAttemptAt) : null,
    settledAt: waits ? null : timeOf(event.at),
    replay: event.replay,
    hop: event.hop,
    made: event.n,
    record: `${topic}/${String(partition)}/${String(offset)}`,
    tries,
    deadError: event.kind === 'dead' && event.error !== undefined ? storedText(event.error) : null,
    ...jobAfter(row, event),
  };
  // No other code has a new row yet, so it needs no copy.
  return before ? { ...row, ...changed } : Object.assign(row, changed);
}

function triesAfter(tries: Try[], event: DeliveryEvent): Try[] {
  if (event.kind === 'attempt') return addTry(tries, event);
  return event.kind === 'waiting' ? addWithheld(tries, event) : tries;
}

/** The row before any of its events, older than all of them. */
function firstRow(event: DeliveryEvent): DeliveryRow {
  return {
    id: event.delivery,
    acceptedAt: timeOf(event.acceptedAt),
    message: event.message,
    source: event.source,
    destination: event.destination,
    type: event.type,
    event: event.event === undefined ? null : storedText(cutEventName(event.event)),
    userId: event.userId === undefined ? null : storedId(event.userId),
    anonymousId: event.anonymousId === undefined ? null : storedId(event.anonymousId),
    status: 'waiting',
    reason: null,
    expiresAt: timeOf(event.expiresAt),
    nextAt: null,
    settledAt: null,
    replay: -1,
    hop: 0,
    made: 0,
    test: event.test === true,
    record: '',
    tries: [],
    deadError: null,
    job: null,
    jobResult: null,
  };
}

function isOlder(row: DeliveryRow, event: DeliveryEvent): boolean {
  // Written together with the replayed record, so it may be read after the first event of that
  // record.
  if (event.kind === 'waiting' && event.reason === REPLAYED) return event.replay <= row.replay;
  // After a crash, retry may write it a second time, after the attempt that it announces.
  if (isSentAgain(event) && event.replay === row.replay && event.n < row.made) return true;
  return event.replay < row.replay || (event.replay === row.replay && event.hop < row.hop);
}

function statusOf(event: DeliveryEvent, tries: readonly Try[]): DeliveryStatus {
  switch (event.kind) {
    case 'attempt':
      if (event.outcome === 'delivered') {
        return settledStatus({ destination: event.destination, tries });
      }
      return event.nextAttemptAt === undefined ? 'dead' : 'retrying';
    case 'waiting':
      return waitStatus(event.reason, event.n);
    case 'dead':
    case 'cancelled':
      return event.kind;
  }
}

function reasonOf(event: DeliveryEvent, status: DeliveryStatus): string | null {
  if (isDelivered(status)) return null;
  // A test send is tried once, and has no later events.
  return event.reason ?? (status === 'dead' ? 'rejected' : null);
}
