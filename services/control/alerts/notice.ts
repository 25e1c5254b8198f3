import { createHash } from 'node:crypto';
import { defined } from '../../../shared/collections/defined';
import { type Actor } from '../http/identity';
import { type ALERT_STATES } from '../../../shared/api/alerts';
import { ALERTS_ID, DEFAULT_SHARDS, type Destination } from '../../../shared/model/config';
import { LASTING_KINDS, type NOTICE_KINDS } from '../../../shared/model/notice-kinds';
import {
  type Delivery,
  deliveryId,
  deliveryKey,
  encodeDelivery,
} from '../../../shared/model/delivery';
import { type OutRecord } from '../../../shared/kafka/port';
import { WEBHOOKS } from '../../../shared/kafka/topics';
import { isoTime, isoTimeOrNull } from '../../../shared/model/time';

/** A notice, as shown in the console and sent to the alert webhook. Pure. */

type NoticeKind = (typeof NOTICE_KINDS)[number];

/** Times are ms since 1970. */
export interface Notice {
  id: string;
  at: number;
  /** empty: it is not about a destination */
  destination: string;
  /** the destination's name at that time */
  name: string;
  /** of the endpoint that it is about; null: of none */
  origin: string | null;
  kind: NoticeKind;
  since: number;
  /** null: not over */
  endedAt: number | null;
  failures: number;
  deadLetters: number;
  partlyDelivered: number;
  fullProfiles: number;
  /** end of the certificate */
  expiresAt: number | null;
  /** id of the webhook that it is about */
  webhook: string | null;
  /** the last failure, or what the trouble is, as text */
  error: string | null;
  /** its destination was switched off or deleted by somebody */
  closed?: true;
  /** the later notice of the same trouble, which has taken its place */
  followedBy: string | null;
  alert: (typeof ALERT_STATES)[number];
  acknowledged: { at: number; by: Pick<Actor, 'id' | 'name'> } | null;
}

/** Returns the same id for the same event, so that a repeated decision adds no second notice. */
function noticeId(destination: string, kind: NoticeKind, mark: number | string): string {
  const digest = createHash('sha256')
    .update(`${destination}\0${kind}\0${String(mark)}`)
    .digest('base64url');
  return `ntc_${digest.slice(0, 22)}`;
}

/** Fills in the fields that most kinds do not use. */
export function newNotice(
  given: Pick<Notice, 'kind' | 'destination' | 'name' | 'at' | 'since' | 'error'> & Partial<Notice>,
  mark: number | string,
): Notice {
  return {
    id: noticeId(given.destination, given.kind, mark),
    endedAt: null,
    failures: 0,
    deadLetters: 0,
    partlyDelivered: 0,
    fullProfiles: 0,
    expiresAt: null,
    webhook: null,
    origin: null,
    followedBy: null,

    // Otherwise an alert about the alerts would cause the next one.
    alert: given.destination === ALERTS_ID ? 'none' : 'due',
    acknowledged: null,
    ...given,
  };
}

/**
 * Returns whether this notice stays open while its trouble lasts, and an alert tells the end of it.
 */
export function isLasting({ kind }: Pick<Notice, 'kind'>): boolean {
  return (LASTING_KINDS as readonly NoticeKind[]).includes(kind);
}

/** Returns whether the alert to send tells that the trouble is over. */
export function isOver(notice: Pick<Notice, 'kind' | 'endedAt' | 'closed'>): boolean {
  return (isLasting(notice) || notice.closed === true) && notice.endedAt !== null;
}

export function noticeView({
  at,
  since,
  endedAt,
  expiresAt,
  destination,
  acknowledged,
  closed: _,
  ...notice
}: Notice) {
  return {
    ...notice,
    destination: destination === '' ? null : destination,
    at: isoTime(at),
    since: isoTime(since),
    endedAt: isoTimeOrNull(endedAt),
    expiresAt: isoTimeOrNull(expiresAt),
    acknowledged: acknowledged && { at: isoTime(acknowledged.at), by: acknowledged.by },
  };
}

/**
 * Builds the delivery of an alert, which is like any other, to Waypost's own destination. Pure: the
 * time is an argument.
 *
 * Its id is derived from the notice. If control is killed after it sent the alert and before it
 * stored that, it sends the same id again, which delivery drops or the receiver recognizes.
 */

/** Replaces the source id, since an alert has no source. */
const ALERTS_SOURCE = 'waypost';

/** Returns whether alerts go anywhere: their destination is on, and has a URL or a mailbox. */
export function isAddressed(destination: Destination | undefined): destination is Destination {
  return destination !== undefined && destination.enabled && hasAddress(destination);
}

export function hasAddress({ webhooks, alerts }: Destination): boolean {
  return webhooks.length > 0 || (alerts?.email ?? []).length > 0;
}

/** Returns the id of the delivery of a notice. @param channel absent: of the first channel */
export function alertDelivery(noticeId: string, channel?: string): string {
  return deliveryId(
    ALERTS_SOURCE,
    channel === undefined ? noticeId : `${noticeId}/${channel}`,
    ALERTS_ID,
  );
}

export function alertRecord(
  notice: Notice,
  to: Destination,
  made: {
    nowMs: number;
    windowMs: number;
    traceparent: string;
    body: object;
    /** hashes of the endpoints that do not get it */
    excludedUrls: string[];
    /** absent: the first channel */
    channel?: string | undefined;
  },
): OutRecord {
  const { nowMs, windowMs, traceparent, body, excludedUrls, channel } = made;
  const messageId = isOver(notice) ? `${notice.id}_over` : notice.id;
  const delivery: Delivery = {
    id: alertDelivery(messageId, channel),
    messageId,
    sourceId: ALERTS_SOURCE,
    destinationId: to.id,
    type: 'track',
    event: alertType(notice),

    // The time of the notice, so that it is the same in each repetition: the history finds a
    // delivery by it.
    acceptedAt: isOver(notice) ? (notice.endedAt ?? notice.at) : notice.at,
    expiresAt: nowMs + windowMs,
    attempt: 0,
    hop: 0,
    replay: 0,
    excludedUrls,
    traceparent,
  };
  const key = deliveryKey(to.id, notice.destination, to.shards ?? DEFAULT_SHARDS);
  return { topic: WEBHOOKS, key, value: JSON.stringify(body), headers: encodeDelivery(delivery) };
}

export function sampleNotice(nowMs: number): Notice {
  const about = { destination: 'dst_test', name: 'A test', kind: 'failing' as const };
  const said = { at: nowMs, since: nowMs, failures: 1, error: 'this is a test' };
  return { ...newNotice({ ...about, ...said }, nowMs), id: 'ntc_test', alert: 'none' };
}

function alertType({ kind, destination }: Notice): string {
  return `${destination === '' ? 'waypost' : 'destination'}.${kind}`;
}

/** Returns the body in the form that Standard Webhooks proposes: `type`, `timestamp`, `data`. */
export function alertBody(notice: Notice) {
  const { id, at, kind, destination, name, since, endedAt, failures, deadLetters, error } = notice;
  const { partlyDelivered, fullProfiles, expiresAt, webhook } = notice;
  const overAt = isOver(notice) ? endedAt : null;
  return {
    type: alertType(notice),
    timestamp: isoTime(overAt ?? at),
    data: {
      notice: id,
      ...defined({ destination: destination !== '' ? destination : undefined }),
      name,
      since: isoTime(since),
      ...defined({
        recoveredAt: kind === 'recovered' && endedAt !== null ? isoTime(endedAt) : undefined,
        endedAt: overAt !== null ? isoTime(overAt) : undefined,
        failures: failures > 0 ? failures : undefined,
        deadLetters: deadLetters > 0 ? deadLetters : undefined,
        partlyDelivered: partlyDelivered > 0 ? partlyDelivered : undefined,
        fullProfiles: fullProfiles > 0 ? fullProfiles : undefined,
        expiresAt: expiresAt !== null ? isoTime(expiresAt) : undefined,
        webhook: webhook ?? undefined,
        error: error ?? undefined,
      }),
    },
  };
}
