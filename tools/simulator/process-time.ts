import { type Clock } from '../../services/delivery/clock/clock';
import { BrokerClock } from '../../shared/kafka/broker-clock';
import { type Agenda } from './virtual-clock';

/**
 * The start of every simulation, ms since 1970: fixed, so that a seed always gives the same run.
 */
export const EPOCH_MS = Date.parse('2026-11-21T10:00:00.000Z');

/**
 * The time of one process, which may freeze for a while, and whose machine's clock may be wrong.
 * Events due during the freeze happen at its end: first timers, each once, then events from
 * outside. That is the order of Node's event loop after a stop.
 */
export class ProcessTime implements Clock {
  #frozenUntil = 0;
  #frozenMs = 0;
  readonly #clocks = new Set<() => void>();
  #outside: (() => void)[] = [];
  #aheadMs = 0;
  readonly brokerClock: BrokerClock;

  constructor(private readonly agenda: Agenda) {
    this.brokerClock = new BrokerClock(
      () => this.steadyMs(),
      () => this.wallMs(),
    );
  }

  wallMs(): number {
    return EPOCH_MS + this.agenda.now + this.#aheadMs;
  }

  agreedMs(): number {
    return this.brokerClock.now();
  }

  brokersMs(): number {
    return this.brokerClock.brokersNow();
  }

  /** The clock of its machine jumps. @param byMs negative: back */
  step(byMs: number): void {
    this.#aheadMs += byMs;
  }

  steadyMs(): number {
    return this.agenda.now;
  }

  /** Code takes no time here, but a frozen loop counts as busy. */
  busyMs(): number {
    return this.#frozenMs;
  }

  /** Virtual time costs no CPU: no process uses a whole core. */
  cpuMs(): number {
    return 0;
  }

  every(ms: number, act: () => void): () => void {
    let stopped = false;
    const next = () => {
      if (stopped) return;
      act();
      this.after(ms, next);
    };
    this.after(ms, next);
    return () => {
      stopped = true;
    };
  }

  after(ms: number, act: () => void): () => void {
    let stopped = false;
    const due = () => {
      if (stopped) return;
      if (this.#frozen) this.#clocks.add(due);
      else act();
    };
    this.agenda.in(ms, due);
    return () => {
      stopped = true;
    };
  }

  /**
   * An event reaches the process from outside at that time: a response, records, an
   * acknowledgement.
   */
  at(ms: number, act: () => void): void {
    this.agenda.at(ms, () => {
      if (this.#frozen) this.#outside.push(act);
      else act();
    });
  }

  /** when its last standstill ended, or will end */
  get awakeSince(): number {
    return this.#frozenUntil;
  }

  freeze(ms: number): void {
    this.#frozenUntil = this.agenda.now + ms;
    this.agenda.at(this.#frozenUntil, () => {
      this.#frozenMs += ms;
      const [clocks, outside] = [[...this.#clocks], this.#outside];
      this.#clocks.clear();
      this.#outside = [];
      for (const act of [...clocks, ...outside]) act();
    });
  }

  get #frozen(): boolean {
    return this.agenda.now < this.#frozenUntil;
  }
}
