import { RecentMap } from '../../../shared/collections/recent-map';
import { type Refusal } from '../lanes/job';

/**
 * Judges one egress proxy by the connections that are opened through it. A proxy that is down fails
 * for every endpoint behind it: the gate then holds their deliveries without an attempt, and lets
 * one connection at a time probe it. A proxy that refuses one endpoint holds the deliveries of this
 * endpoint alone. `now` is the clock of the lanes.
 *
 * - The proxy answers: the gate refuses no connection.
 * - It failed five times in a row: the gate lets through one a second, once no other waits for it.
 * - It refused one endpoint five times in a row: the same, for connections to this endpoint.
 * - It was silent for a second to all that wait for it: the gate refuses a connection if five wait
 *   already, so that a hanging proxy holds no more.
 */

const FAILURES_TO_CLOSE = 5;
const PROBE_PAUSE_MS = 1_000;
const SILENCE_MS = 1_000;
const MOST_IN_SILENCE = 5;
/** An endpoint that is still refused is asked for more often, ms. */
const DENIALS_KEPT_MS = 3_600_000;

/** A connection or request that waits for the proxy. */
export interface Opening {
  readonly at: number;
  /** number of answers of the proxy until then: more exact than the clock */
  readonly answers: number;
  /** origin of the endpoint */
  readonly target: string;
}

/** An endpoint that the proxy refuses to connect to. */
interface Denial {
  readonly since: number;
  /** in a row */
  count: number;
  probeAt: number;
}

export class ProxyGate {
  #failures = 0;
  #failingSince: number | undefined;
  #probeAt = -Infinity;
  #answers = 0;
  /** oldest first */
  readonly #openings = new Set<Opening>();
  /** by origin of the endpoint */
  readonly #denials = new RecentMap<string, Denial>(DENIALS_KEPT_MS);

  constructor(
    private readonly now: () => number,
    /** reports that the proxy failed too often, or answers again */
    private readonly onChange: (isDown: boolean, why: string) => void = () => undefined,
  ) {}

  /** Begins a connection through the proxy: end it with one of the calls below. */
  begin(target: string): Opening {
    const opening = this.mark(target);
    this.#openings.add(opening);
    return opening;
  }

  /** Marks the present time, for `answeredSince`. */
  mark(target: string): Opening {
    return { at: this.now(), answers: this.#answers, target };
  }

  /** The proxy does what it is asked: it has connected, has tried to, or has carried a response. */
  passes(opening: Opening): void {
    this.#denials.delete(opening.target);
    this.#answered(opening);
  }

  /** The proxy refuses to connect to this endpoint. */
  denied(opening: Opening): void {
    const { target } = opening;
    const now = this.now();
    const denial = this.#denials.get(target) ?? { since: now, count: 0, probeAt: now };
    denial.count++;
    denial.probeAt = now + PROBE_PAUSE_MS;
    this.#denials.set(target, denial, now);
    this.#answered(opening);
  }

  /** The proxy has said anything. */
  #answered(opening: Opening): void {
    this.#openings.delete(opening);
    this.#answers++;
    const wasDown = this.#failures >= FAILURES_TO_CLOSE;
    this.#failures = 0;
    this.#failingSince = undefined;
    if (wasDown) this.onChange(false, '');
  }

  /** The proxy did not answer, or refuses this login. */
  failed(opening: Opening, why: string): void {
    if (!this.#openings.delete(opening)) return;
    this.#failingSince ??= opening.at;
    this.#probeAt = this.now() + PROBE_PAUSE_MS;
    if (++this.#failures === FAILURES_TO_CLOSE) this.onChange(true, why);
  }

  /** The connection ended for a reason that says nothing about the proxy. */
  left(opening: Opening): void {
    this.#openings.delete(opening);
  }

  /** Returns whether the proxy has answered any request since this connection began. */
  answeredSince({ answers }: Opening): boolean {
    return this.#answers > answers;
  }

  /** Returns why no connection to this endpoint may begin now. */
  refusal(target: string): Refusal | undefined {
    const now = this.now();
    if (this.#failures >= FAILURES_TO_CLOSE) {
      return this.#openings.size === 0 && now >= this.#probeAt ? undefined : this.outage(target);
    }
    const denial = this.#denials.get(target);
    if (denial && denial.count >= FAILURES_TO_CLOSE) {
      return now >= denial.probeAt && !this.#isAskedFor(target) ? undefined : this.outage(target);
    }
    const [oldest] = this.#openings;
    if (!oldest || this.#openings.size < MOST_IN_SILENCE) return undefined;
    return now - oldest.at > SILENCE_MS && !this.answeredSince(oldest)
      ? this.outage(target)
      : undefined;
  }

  #isAskedFor(target: string): boolean {
    for (const opening of this.#openings) if (opening.target === target) return true;
    return false;
  }

  /** Returns the wait of a delivery that the proxy holds up: it grows with the outage. */
  outage(target: string): Refusal {
    const now = this.now();
    const [oldest] = this.#openings;
    const since = this.#failingSince ?? this.#denials.get(target)?.since ?? oldest?.at ?? now;
    return { reason: 'proxy', waitMs: now - since };
  }
}
