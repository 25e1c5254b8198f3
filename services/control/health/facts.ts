import { groupBy } from '../../../shared/collections/group-by';
import {
  type CertificateEvent,
  type FilterEvent,
  type NoticeEvent,
  type UrlDisabledEvent,
} from '../../../shared/model/attempt-events';

/** Facts in `attempts` that hold until another one replaces them. Pure. */

/** Times are ms since 1970. */
export interface Fact {
  /** an origin, or the id of a destination */
  about: string;
  /** tells facts of one kind about the same from each other; the newest with one mark holds */
  mark: string;
  /** the first and the last time that it was seen */
  firstAt: number;
  at: number;
  event: NoticeEvent;
}

export function factOf(event: NoticeEvent): Fact | undefined {
  const at = Date.parse(event.at);
  const named = nameOf(event);
  return Number.isNaN(at) || !named ? undefined : { ...named, firstAt: at, at, event };
}

function nameOf(event: NoticeEvent): Pick<Fact, 'about' | 'mark'> | undefined {
  switch (event.kind) {
    case 'certificate':
      return isCertificate(event)
        ? { about: event.origin, mark: new Date(event.notAfter).toISOString() }
        : undefined;
    case 'filter':
      return isFilter(event) ? { about: event.destination, mark: '' } : undefined;
    case 'url_disabled':
      return isUrlDisabled(event)
        ? { about: event.destination, mark: `${event.webhook}/${String(event.enables)}` }
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
 * Returns whether a fact is stored even if nothing is known about the same: nearly all certificates
 * are far from their end.
 */
export function isTracked({ at, event }: Fact): boolean {
  return event.kind !== 'certificate' || Date.parse(event.notAfter) - at < TRACKED_MS;
}

/** A certificate that ends soon is reported once an hour, if connections to its server begin. */
const SEEN_MS = 24 * 3_600_000;

/**
 * Returns when the certificate of each origin ends, ms since 1970: of the one that was seen last.
 * Servers behind one origin may have different ones: then another one was seen after the last one
 * appeared, and counts until it was not seen for a day. The earliest end counts.
 */
export function certificateEnds(facts: readonly Fact[], nowMs: number): Map<string, number> {
  const seen = groupBy(
    facts.filter(({ event }) => event.kind === 'certificate'),
    ({ about }) => about,
  );
  return new Map(
    [...seen].map(([origin, certificates]) => {
      const last = certificates.reduce((a, b) => (b.at > a.at ? b : a));
      const inUse = certificates.filter(
        ({ at }) => at === last.at || (at > last.firstAt && nowMs - at <= SEEN_MS),
      );
      return [origin, Math.min(...inUse.map(({ mark }) => Date.parse(mark)))];
    }),
  );
}
