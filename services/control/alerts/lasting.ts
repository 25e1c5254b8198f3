import {
  type CertificateEvent,
  filterDigest,
  type FilterEvent,
  type NoticeEvent,
} from '../../../shared/model/attempt-events';
import { type Destination, type EncryptedWebhook } from '../../../shared/model/config';
import { type LastingKind } from '../../../shared/model/notice-kinds';
import { tlsEnds } from '../destinations/certificates';
import { type Notice, newNotice } from './notice';

/**
 * Decides which trouble lasts, and which notices begin and end by it. Pure: the time is an
 * argument.
 */

/** Trouble at the moment. */
interface Condition {
  kind: LastingKind;
  /** empty: it is not about a destination */
  destination: string;
  name: string;
  error: string;
  /** of the endpoint that it is about */
  origin?: string;
  /** when the certificate ends, ms since 1970 */
  expiresAt?: number;
  fullProfiles?: number;
  /** id of the webhook that it is about, and when it began, ms since 1970 */
  webhook?: string;
  since?: number;
  /** keeps its notice open, and raises none: another certificate of the destination ends earlier */
  isLater?: boolean;
}

export interface Facts {
  destinations: readonly Destination[];
  signals: readonly NoticeEvent[];
  /** users whose profiles are full; undefined: not known yet */
  fullProfiles: number | undefined;
  nowMs: number;
}

/** Long enough to renew a certificate by hand. */
const EXPIRES_SOON_MS = 14 * 86_400_000;
/**
 * A filter may take much work at the busiest hour of each day only: it is one trouble, with one
 * alert.
 */
const FILTER_QUIET_MS = 24 * 3_600_000;

function conditionsOf(facts: Facts): Condition[] {
  const { destinations, signals, fullProfiles = 0, nowMs } = facts;
  const servers = new Map(
    signals
      .filter(isCertificate)
      .map(({ origin, notAfter }) => [origin, Date.parse(notAfter)] as const),
  );
  const filters = new Map(
    signals.filter(isFilter).map((event) => [event.destination, event] as const),
  );
  const found = destinations
    .filter(({ enabled }) => enabled)
    .flatMap((each) => [
      ...expiring(each, servers, nowMs),
      ...costly(each, filters.get(each.id), nowMs),
      ...disabledBy(each),
    ]);
  if (fullProfiles > 0) found.push(fullOf(fullProfiles));
  return found;
}

function isCertificate(event: NoticeEvent): event is CertificateEvent {
  return event.kind === 'certificate';
}

function isFilter(event: NoticeEvent): event is FilterEvent {
  return event.kind === 'filter';
}

const DISABLED_BY = {
  gone: 'its receiver answered 410 (Gone), so nothing is sent to it any more',
  asked: 'its receiver asked to get nothing more',
} as const;

/**
 * Returns the URLs that their receivers have switched off. Who switches one off himself needs no
 * notice.
 */
function disabledBy({ id, name, webhooks }: Destination): Condition[] {
  return webhooks.flatMap(({ id: webhook, origin, disabled }) => {
    if (!disabled || disabled.reason === 'user') return [];
    const error = `${origin}: ${DISABLED_BY[disabled.reason]}`;
    return [
      {
        kind: 'webhook_disabled',
        destination: id,
        name,
        error,
        origin,
        webhook,
        since: Date.parse(disabled.at),
      },
    ];
  });
}

function fullOf(fullProfiles: number): Condition {
  const error =
    'some events and traits of these users are not stored, because their profiles have ' +
    'reached the size limit';
  return { kind: 'profile_full', destination: '', name: 'Profiles', error, fullProfiles };
}

/** Returns the certificates that end soon or have ended, the first one to end first. */
function expiring(
  { id, name, webhooks }: Destination,
  servers: ReadonlyMap<string, number>,
  nowMs: number,
): Condition[] {
  const ends = webhooks
    .flatMap((webhook) => endsOf(webhook, servers, nowMs))
    .filter(({ at }) => at - nowMs < EXPIRES_SOON_MS)
    .sort((a, b) => a.at - b.at);
  return ends.map(({ origin, what, at }, i) => {
    const error = `${origin}: ${what} ends at ${new Date(at).toISOString()}`;
    return {
      kind: 'certificate_expiring',
      destination: id,
      name,
      error,
      origin,
      expiresAt: at,
      isLater: i > 0,
    };
  });
}

interface End {
  origin: string;
  what: string;
  at: number;
}

function endsOf(
  { origin, auth, tls }: EncryptedWebhook,
  servers: ReadonlyMap<string, number>,
  nowMs: number,
): End[] {
  const ends: End[] = [];
  const add = (from: string, what: string, at: number | undefined) => {
    if (at !== undefined) ends.push({ origin: from, what, at });
  };
  add(origin, 'the certificate of the server', servers.get(origin));
  if (auth?.type === 'oauth2') {
    add(auth.tokenOrigin, 'the certificate of the token endpoint', servers.get(auth.tokenOrigin));
  }
  if (tls) {
    const { certificate, ca } = tlsEnds(tls);
    add(origin, 'the client certificate (tls.certificate)', firstOf(certificate));
    add(origin, 'an authority (tls.ca)', firstUsable(ca, nowMs));
  }
  return ends;
}

function firstOf(ends: readonly number[]): number | undefined {
  return ends.length > 0 ? Math.min(...ends) : undefined;
}

/**
 * Returns the first end of the authorities that are valid; the last one if none is. Bundles often
 * contain expired ones.
 */
function firstUsable(ends: readonly number[], nowMs: number): number | undefined {
  const valid = ends.filter((at) => at > nowMs);
  if (valid.length > 0) return Math.min(...valid);
  return ends.length > 0 ? Math.max(...ends) : undefined;
}

/** An event about an earlier text of the filter says nothing about the present one. */
function costly(
  { id, name, filter }: Destination,
  event: FilterEvent | undefined,
  nowMs: number,
): Condition[] {
  if (!event || filter === undefined || nowMs - Date.parse(event.at) > FILTER_QUIET_MS) return [];
  if (filterDigest(filter) !== event.filter) return [];
  const { units, limit } = event;
  const whole = `${String(Math.round(limit))} units of work that one message may take`;
  const error =
    units >= limit
      ? `a message needed more than the ${whole}, and was not delivered`
      : `a message took ${String(Math.round(units))} of the ${whole}`;
  return [{ kind: 'filter_costly', destination: id, name, error }];
}

interface Ended {
  id: string;
  at: number;
  /** false: nobody mended the trouble, so an alert of its end would be wrong */
  tells: boolean;
}

/** @param open the notices of these kinds that have not ended */
export function decideLasting(
  facts: Facts,
  open: readonly Notice[],
): { raised: Notice[]; ended: Ended[] } {
  const { nowMs, fullProfiles, destinations } = facts;
  const conditions = conditionsOf(facts);
  const isSame = (notice: Notice, { kind, destination, expiresAt, webhook, since }: Condition) =>
    notice.kind === kind &&
    notice.destination === destination &&
    notice.expiresAt === (expiresAt ?? null) &&
    notice.webhook === (webhook ?? null) &&
    notice.since === (since ?? notice.since);
  const raised = conditions
    .filter((condition) => !condition.isLater && !open.some((notice) => isSame(notice, condition)))
    .map(({ isLater: _, since = nowMs, ...condition }) => {
      const mark =
        condition.webhook === undefined ? nowMs : `${condition.webhook}/${String(since)}`;
      return newNotice({ ...condition, at: nowMs, since }, mark);
    });
  const byId = new Map(destinations.map((each) => [each.id, each]));
  const ended = open
    .filter((notice) => notice.kind !== 'profile_full' || fullProfiles !== undefined)
    .filter((notice) => !conditions.some((condition) => isSame(notice, condition)))
    .map((notice) => ({
      id: notice.id,
      at: nowMs,
      tells: isMended(notice, byId.get(notice.destination)),
    }));
  return { raised, ended };
}

/**
 * Returns false if the destination is off or deleted, or no longer calls the server that the notice
 * is about.
 */
function isMended({ kind, error }: Notice, destination: Destination | undefined): boolean {
  if (kind === 'profile_full') return true;
  if (!destination?.enabled) return false;
  if (kind !== 'certificate_expiring' || error === null) return true;
  const origins = destination.webhooks.flatMap(({ origin, auth }) =>
    auth?.type === 'oauth2' ? [origin, auth.tokenOrigin] : [origin],
  );
  return origins.some((origin) => error.startsWith(`${origin}: `));
}
