import { type CertificateEvent, type FilterEvent, type NoticeEvent } from '../../../shared/model/attempt-events';

/** Facts from `attempts` that hold until a newer one replaces them. Pure. */

/** Nearly all records are of other kinds, and are not parsed a second time. */
const BEGINS = [Buffer.from('{"kind":"certificate"'), Buffer.from('{"kind":"filter"')];

/** The latest fact with a key. */
export interface Signal {
  key: string;
  /** ms since 1970 */
  at: number;
  event: NoticeEvent;
}

/** Returns the fact in a record of `attempts`; undefined: it has none, or none that can be used. */
export function signalOf(value: Buffer | null): Signal | undefined {
  if (!value || !BEGINS.some((begin) => value.subarray(0, begin.length).equals(begin))) return undefined;
  try {
    return read(JSON.parse(value.toString()) as NoticeEvent);
  } catch {
    return undefined;
  }
}

function read(event: NoticeEvent): Signal | undefined {
  const at = Date.parse(event.at);
  const isUsable = event.kind === 'certificate' ? isCertificate(event) : isFilter(event);
  if (Number.isNaN(at) || !isUsable) return undefined;
  const about = event.kind === 'certificate' ? event.origin : event.destination;
  return { key: `${event.kind}/${about}`, at, event };
}

function isCertificate({ origin, notAfter }: CertificateEvent): boolean {
  return typeof origin === 'string' && !Number.isNaN(Date.parse(notAfter));
}

function isFilter({ destination, filter, units, limit }: FilterEvent): boolean {
  return [destination, filter].every((text) => typeof text === 'string') && Number.isFinite(units + limit);
}

/** A server is tracked from this long before the end of its certificate. Longer than a notice needs. */
const TRACKED_MS = 60 * 86_400_000;

/** Returns whether a fact is stored even if nothing is known about its key: nearly all certificates are far from their end. */
export function isTracked({ at, event }: Signal): boolean {
  return event.kind === 'filter' || Date.parse(event.notAfter) - at < TRACKED_MS;
}
