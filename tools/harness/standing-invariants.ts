import { type DeletionInvariant } from './deleted-users';

/**
 * What holds for every delivery at every moment, whatever endpoints, users and processes do. The
 * simulator and chaos report what they see, each with its own clock; the rules are here, once.
 * Pure.
 *
 * A delivery that is forgotten shows only at the end of a run: both look for it there.
 */

export const STANDING_INVARIANTS = [
  'attempted before the time asked for',
  'two attempts at the same time',
  'sent to a URL that is off',
  'attempted after its cancellation',
] as const;
type StandingInvariant = (typeof STANDING_INVARIANTS)[number];

/** A request of a delivery to a URL. */
export interface DeliveryRequest {
  delivery: string;
  url: string;
  /** of Waypost; absent: not known */
  process?: string | undefined;
}

/** A request that breaks an invariant. */
export interface Breach {
  what: StandingInvariant | DeletionInvariant;
  delivery: string;
  url: string;
  /** when the previous request of the delivery to the URL began, ms */
  previousAt: number;
  /** the time asked for, ms; -Infinity: none */
  notBefore: number;
  atMs: number;
}

/** What is known about a delivery at a URL. */
interface Known {
  open: number;
  beganAt: number;
  notBefore: number;
}

export class StandingInvariants {
  /** by delivery, and then by URL */
  readonly #known = new Map<string, Map<string, Known>>();
  /** URLs, and URLs of a process */
  readonly #off = new Set<string>();
  readonly #cancelled = new Set<string>();

  constructor(private readonly broken: (breach: Breach) => void) {}

  /** A request begins. */
  began({ delivery, url, process = '' }: DeliveryRequest, atMs: number): void {
    const known = this.#of(delivery, url);
    const { notBefore } = known;
    const breaks = (what: StandingInvariant) =>
      this.broken({ what, delivery, url, previousAt: known.beganAt, notBefore, atMs });
    if (atMs < notBefore) breaks('attempted before the time asked for');
    if (known.open > 0) breaks('two attempts at the same time');
    if (this.#off.has(url) || this.#off.has(nameOf(url, process))) {
      breaks('sent to a URL that is off');
    }
    if (this.#cancelled.has(delivery)) breaks('attempted after its cancellation');
    known.open++;
    known.beganAt = atMs;
  }

  /** @param notBefore the least time of the next request, as the response asks for */
  ended({ delivery, url }: DeliveryRequest, notBefore = -Infinity): void {
    const known = this.#of(delivery, url);
    known.open = Math.max(0, known.open - 1);
    known.notBefore = notBefore;
  }

  /** A user sends it now, or it is replayed. */
  released(delivery: string): void {
    for (const known of this.#known.get(delivery)?.values() ?? []) known.notBefore = -Infinity;
  }

  /** @param process the only one that knows it; absent: all do */
  switchedOff(url: string, process = ''): void {
    this.#off.add(process === '' ? url : nameOf(url, process));
  }

  /** From now on nobody may attempt it, until it is replayed. */
  cancelled(delivery: string): void {
    this.#cancelled.add(delivery);
  }

  /** A delivery that has ended begins anew. */
  replayed(delivery: string): void {
    this.#cancelled.delete(delivery);
    this.released(delivery);
  }

  #of(delivery: string, url: string): Known {
    let urls = this.#known.get(delivery);
    if (!urls) this.#known.set(delivery, (urls = new Map<string, Known>()));
    let known = urls.get(url);
    if (!known) urls.set(url, (known = { open: 0, beganAt: -Infinity, notBefore: -Infinity }));
    return known;
  }

  /** A delivery has ended: no more is expected of it than that it is not attempted again. */
  forget(delivery: string): void {
    const urls = this.#known.get(delivery);
    if (urls && [...urls.values()].every(({ open }) => open === 0)) this.#known.delete(delivery);
  }
}

function nameOf(url: string, process: string): string {
  return `${process} ${url}`;
}
