import { type Refusal } from '../lanes/types';

/**
 * Judges one egress proxy by the connections that are opened through it. A proxy that is down fails for every endpoint
 * behind it: the gate then holds their deliveries without an attempt, and lets one connection at a time probe it. `now`
 * is the clock of the lanes.
 *
 * | the proxy                                             | a connection is refused                                  |
 * | ----------------------------------------------------- | -------------------------------------------------------- |
 * | answers                                               | never                                                    |
 * | failed five times in a row                            | but for one a second, once no other waits for it         |
 * | has been silent for a second to those that wait for it | if five wait already, so that a hanging one holds no more |
 */

const FAILURES_TO_CLOSE = 5;
const PROBE_PAUSE_MS = 1_000;
const SILENCE_MS = 1_000;
const MOST_IN_SILENCE = 5;

/** A connection or request that waits for the proxy. */
export interface Opening {
  readonly at: number;
  /** number of answers of the proxy until then: more exact than the clock */
  readonly answers: number;
}

export class ProxyGate {
  #failures = 0;
  #failingSince: number | undefined;
  #probeAt = -Infinity;
  #answers = 0;
  /** oldest first */
  readonly #openings = new Set<Opening>();
  /** targets that the proxy refuses to connect to → since when */
  readonly #denied = new Map<string, number>();

  constructor(
    private readonly now: () => number,
    /** reports that the proxy failed too often, or answers again */
    private readonly onChange: (isDown: boolean, why: string) => void = () => undefined,
  ) {}

  /** Begins a connection through the proxy: end it with one of the calls below. */
  begin(): Opening {
    const opening = this.mark();
    this.#openings.add(opening);
    return opening;
  }

  /** Marks the present time, for `answeredSince`. */
  mark(): Opening {
    return { at: this.now(), answers: this.#answers };
  }

  /** The proxy has connected, or has said why it does not. */
  answered(opening?: Opening): void {
    if (opening) this.#openings.delete(opening);
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

  /** Records whether the proxy refuses to connect to this target. */
  denies(target: string, denied: boolean): void {
    if (!denied) this.#denied.delete(target);
    else if (!this.#denied.has(target)) this.#denied.set(target, this.now());
  }

  /** Returns whether the proxy has answered any request since this connection began. */
  answeredSince({ answers }: Opening): boolean {
    return this.#answers > answers;
  }

  /** Returns why no connection may begin now. */
  refusal(): Refusal | undefined {
    const now = this.now();
    if (this.#failures >= FAILURES_TO_CLOSE) {
      return this.#openings.size === 0 && now >= this.#probeAt ? undefined : this.outage();
    }
    const [oldest] = this.#openings;
    if (!oldest || this.#openings.size < MOST_IN_SILENCE) return undefined;
    return now - oldest.at > SILENCE_MS && !this.answeredSince(oldest) ? this.outage() : undefined;
  }

  /** Returns the wait of a delivery that the proxy holds up: it grows with the outage. */
  outage(target = ''): Refusal {
    const now = this.now();
    const [oldest] = this.#openings;
    return { reason: 'proxy', waitMs: now - (this.#failingSince ?? this.#denied.get(target) ?? oldest?.at ?? now) };
  }
}
