import { defined } from '../../../shared/collections/defined';
import {
  type CertificateEvent,
  type FilterEvent,
  type NoticeEvent,
  type UrlDisabledEvent,
} from '../../../shared/model/attempt-events';

/** Facts from `attempts` that hold until a newer one replaces them. Pure. */

/** Nearly all records are of other kinds, and are not parsed a second time. */
const BEGINS = ['certificate', 'filter', 'url_disabled'].map((kind) =>
  Buffer.from(`{"kind":"${kind}"`),
);

/** A fact with its key. */
export interface Signal {
  key: string;
  /** ms since 1970 */
  at: number;
  event: NoticeEvent;
}

/** Returns the fact in a record of `attempts`; undefined: it has none, or none that can be used. */
export function signalOf(value: Buffer | null): Signal | undefined {
  if (!value || !BEGINS.some((begin) => value.subarray(0, begin.length).equals(begin))) {
    return undefined;
  }
  try {
    return read(JSON.parse(value.toString()) as NoticeEvent);
  } catch {
    return undefined;
  }
}

function read(event: NoticeEvent): Signal | undefined {
  const at = Date.parse(event.at);
  const about = aboutOf(event);
  return Number.isNaN(at) || about === undefined
    ? undefined
    : { key: `${event.kind}/${about}`, at, event };
}

/** Returns what the fact is about; undefined: it cannot be used. */
function aboutOf(event: NoticeEvent): string | undefined {
  switch (event.kind) {
    case 'certificate':
      return isCertificate(event) ? event.origin : undefined;
    case 'filter':
      return isFilter(event) ? event.destination : undefined;
    case 'url_disabled':
      return isUrlDisabled(event)
        ? `${event.destination}/${event.webhook}/${String(event.enables)}`
        : undefined;
  }
}

function isCertificate({ origin, notAfter }: CertificateEvent): boolean {
  return typeof origin === 'string' && !Number.isNaN(Date.parse(notAfter));
}

function isFilter({ destination, filter, units, limit }: FilterEvent): boolean {
  return (
    [destination, filter].every((text) => typeof text === 'string') &&
    Number.isFinite(units + limit)
  );
}

function isUrlDisabled({ destination, webhook, enables, reason }: UrlDisabledEvent): boolean {
  const haveTexts = [destination, webhook].every((text) => typeof text === 'string');
  return haveTexts && Number.isInteger(enables) && ['gone', 'asked'].includes(reason);
}

/**
 * A server is tracked from this long before the end of its certificate. Longer than a notice needs.
 */
const TRACKED_MS = 60 * 86_400_000;

/**
 * Returns whether a fact is stored even if nothing is known about its key: nearly all certificates
 * are far from their end.
 */
export function isTracked({ at, event }: Signal): boolean {
  return event.kind !== 'certificate' || Date.parse(event.notAfter) - at < TRACKED_MS;
}

/** A server whose certificate ends soon is reported once an hour, if connections to it begin. */
const SEEN_MS = 24 * 3_600_000;

/** A stored fact about the certificate of an origin. */
interface SeenCertificate extends CertificateEvent {
  /** the certificate that was seen before it and ends earlier */
  replaced?: { notAfter: string; at: number } | undefined;
  /**
   * servers behind the origin have different certificates: an earlier one came back after a later
   * one
   */
  several?: true | undefined;
}

/**
 * Returns the fact that holds, of two with one key. A certificate that ends later replaces the
 * earlier one, unless the origin has several servers: then the earliest holds, until it was not
 * seen for a day.
 */
export function holding(before: Signal | undefined, after: Signal): Signal {
  if (!before) return after;
  // The receiver has said so since the earlier one.
  if (after.event.kind === 'url_disabled') return before.at <= after.at ? before : after;
  if (after.at < before.at) return before;
  if (before.event.kind !== 'certificate' || after.event.kind !== 'certificate') return after;
  const [old, fresh]: SeenCertificate[] = [before.event, after.event];
  if (!old || !fresh) return after;
  const later = Date.parse(fresh.notAfter) - Date.parse(old.notAfter);
  const isSoon = (atMs: number) => after.at - atMs <= SEEN_MS;
  if (later > 0 && old.several && isSoon(before.at)) return before;
  if (later > 0) {
    return {
      ...after,
      event: seen(fresh, { replaced: { notAfter: old.notAfter, at: before.at } }),
    };
  }
  const { replaced = fresh.replaced } = old;
  const isBack = later < 0 && replaced?.notAfter === fresh.notAfter && isSoon(replaced.at);
  const several = old.several ?? fresh.several ?? (isBack || undefined);
  return {
    ...after,
    event: seen(fresh, {
      several,
      ...defined({ replaced: later === 0 ? replaced : undefined }),
    }),
  };
}

function seen(event: CertificateEvent, more: Partial<SeenCertificate>): SeenCertificate {
  return { ...event, ...more };
}
