import {
  type AttemptEvent,
  type DeliveryEvent,
  type Outcome,
  type UrlAttempt,
} from '../../../shared/model/attempt-events';
import { type DeliveryStatus, isUnderWay, REPLAYED } from '../../../shared/model/reasons';
import { type MessageType, MAX_ID_BYTES } from '../../../shared/model/message';
import { hash } from 'node:crypto';

/**
 * Converts a user id to its stored form. Pure.
 *
 * Ingest accepts ids of at most 512 bytes. Records from before that limit may have ids of any length, but an index row
 * of PostgreSQL holds at most 2,704 bytes. So a longer id is stored as its first 100 characters, `…`, and its SHA-256.
 */

const SHOWN_CHARACTERS = 100;

/** Returns the stored id. A text of PostgreSQL cannot contain U+0000, so U+FFFD replaces it. */
function storedId(id: string): string {
  const text = id.includes('\0') ? id.replaceAll('\0', '\ufffd') : id;
  // A UTF-16 code unit takes at most three bytes, so most ids need no byte count.
  if (text.length * 3 <= MAX_ID_BYTES || Buffer.byteLength(text) <= MAX_ID_BYTES) return text;
  return `${Array.from(text.slice(0, 2 * SHOWN_CHARACTERS))
    .slice(0, SHOWN_CHARACTERS)
    .join('')}…${hash('sha256', text)}`;
}

/** Returns the ids that a user's rows may have: older versions stored ids of up to about 2,700 bytes whole. */
export function storedIds(id: string): string[] {
  const stored = storedId(id);
  const whole = id.replaceAll('\0', '\ufffd');
  return stored === whole ? [stored] : [stored, whole];
}

/** Returns the statement that shortens ids stored by an older version, to run before the partition is indexed. */
export function shortenIds(part: string): string {
  return `update waypost.${part}
    set user_id = left(user_id, ${SHOWN_CHARACTERS}) || '…' || encode(sha256(convert_to(user_id, 'UTF8')), 'hex')
    where octet_length(user_id) > ${MAX_ID_BYTES}`;
}

/**
 * Applies events of `attempts` to the row of a delivery. Pure.
 *
 * Events come at least once, in order or, after a crash, mixed with older ones. So an event of an earlier step (replay,
 * then hop) than the row's changes no status, a repeated event changes nothing, and `delivered` is final: later events
 * only add attempts.
 */

/** One attempt. `n` restarts with each replay. */
export interface Try {
  n: number;
  replay: number;
  at: string;
  durationMs: number;
  outcome: Outcome;
  urls: UrlAttempt[];
}

/** Times are ms since 1970. */
export interface DeliveryRow {
  id: string;
  acceptedAt: number;
  message: string;
  source: string;
  destination: string;
  type: MessageType;
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
}

/** Bounds the row if an endpoint keeps failing or a tier lasts milliseconds. */
const MAX_TRIES = 100;
const MAX_RESPONSES = 30;

export function applyEvent(before: DeliveryRow | undefined, event: DeliveryEvent): DeliveryRow {
  const row = before ?? firstRow(event);
  const tries = event.kind === 'attempt' ? addTry(row.tries, event) : row.tries;
  if (row.status === 'delivered' || isOlder(row, event)) return tries === row.tries ? row : { ...row, tries };
  const status = statusOf(event);
  const waits = isUnderWay(status);
  const { topic, partition, offset } = event.record;
  return {
    ...row,
    status,
    reason: reasonOf(event, status),
    expiresAt: Date.parse(event.expiresAt),
    nextAt: waits && 'nextAttemptAt' in event && event.nextAttemptAt ? Date.parse(event.nextAttemptAt) : null,
    settledAt: waits ? null : Date.parse(event.at),
    replay: event.replay,
    hop: event.hop,
    made: event.n,
    record: `${topic}/${String(partition)}/${String(offset)}`,
    tries,
  };
}

/** The row before any of its events, older than all of them. */
function firstRow(event: DeliveryEvent): DeliveryRow {
  return {
    id: event.delivery,
    acceptedAt: Date.parse(event.acceptedAt),
    message: event.message,
    source: event.source,
    destination: event.destination,
    type: event.type,
    userId: event.userId === undefined ? null : storedId(event.userId),
    anonymousId: event.anonymousId === undefined ? null : storedId(event.anonymousId),
    status: 'waiting',
    reason: null,
    expiresAt: Date.parse(event.expiresAt),
    nextAt: null,
    settledAt: null,
    replay: -1,
    hop: 0,
    made: 0,
    test: event.test === true,
    record: '',
    tries: [],
  };
}

function isOlder(row: DeliveryRow, event: DeliveryEvent): boolean {
  // Written together with the replayed record, so it may be read after the first event of that record.
  if (event.kind === 'waiting' && event.reason === REPLAYED) return event.replay <= row.replay;
  return event.replay < row.replay || (event.replay === row.replay && event.hop < row.hop);
}

function statusOf(event: DeliveryEvent): DeliveryStatus {
  switch (event.kind) {
    case 'attempt':
      if (event.outcome === 'delivered') return 'delivered';
      return event.nextAttemptAt === undefined ? 'dead' : 'retrying';
    case 'waiting':
      return event.n > 0 ? 'retrying' : 'waiting';
    case 'dead':
    case 'cancelled':
      return event.kind;
  }
}

function reasonOf(event: DeliveryEvent, status: DeliveryStatus): string | null {
  if (status === 'delivered') return null;
  // A test send is tried once, and has no later events.
  return event.reason ?? (status === 'dead' ? 'rejected' : null);
}

function addTry(tries: Try[], event: AttemptEvent): Try[] {
  const { n, replay, at, durationMs, outcome, urls } = event;
  const same = tries.filter((each) => each.n === n && each.replay === replay);
  const added: Try = { n, replay, at, durationMs, outcome, urls };
  if (!event.late) return same.some((each) => each.at === at) ? tries : bounded([...tries, added]);
  // Requests that ended after the response of another URL had settled the attempt. A crash may have repeated the
  // attempt: the URLs are added to the last try without them.
  const lacks = (each: Try) => !urls.some(({ url }) => each.urls.some((known) => known.url === url));
  const target = same.findLast(lacks);
  if (!target) return same.length > 0 ? tries : bounded([...tries, added]);
  const merged = {
    ...target,
    durationMs: Math.max(target.durationMs, durationMs),
    urls: [...target.urls, ...urls],
  };
  return tries.map((each) => (each === target ? merged : each));
}

function bounded(tries: Try[]): Try[] {
  const kept = tries.slice(-MAX_TRIES);
  return kept.map((each, i) => (i < kept.length - MAX_RESPONSES ? withoutResponses(each) : each));
}

function withoutResponses(each: Try): Try {
  return { ...each, urls: each.urls.map(({ response, ...rest }) => rest) };
}
