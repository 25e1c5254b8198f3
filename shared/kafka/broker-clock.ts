import { metrics } from '../telemetry/metrics';
import { steadyClock } from '../runtime/steady-clock';

/**
 * The time by which delivery plans the next attempt and retry returns a delivery: one clock for all
 * processes, although any clock of a machine may be wrong. Three clocks vote: that of this machine,
 * that of the brokers, and this one itself, which goes on by a clock that never jumps. The median
 * holds. So a step of one clock moves nothing, also if it lasts, and a process whose machine is
 * wrong at its start follows the brokers.
 *
 * The timestamps of the records that this process writes show the brokers' clock (LogAppendTime):
 * the median of the last ones, so that one broker with a wrong clock does not decide. A record that
 * was read proves that the brokers' time is at least its timestamp.
 *
 * If the clock of this machine jumps, either it was set, or the machine was stopped and its steady
 * clock stood still: then the former timestamps say nothing, and only the next one tells which.
 */
export class BrokerClock {
  /** leads over the steady clock, ms */
  #lead: number;
  #brokersLead: number | undefined;
  /**
   * least and greatest lead of the brokers' clock in the last writes, ms; the oldest is replaced
   */
  readonly #least: number[] = [];
  readonly #most: number[] = [];
  #writes = 0;
  /** lead of the clock of this machine at the last write, ms */
  #machineLead: number;

  /**
   * @param steadyMs never jumps, ms
   * @param wallMs the clock of this machine, ms since 1970
   */
  constructor(
    private readonly steadyMs = () => steadyClock.now(),
    private readonly wallMs = () => Date.now(),
  ) {
    this.#lead = this.#machineLead = this.#presentMachineLead();
  }

  /** Returns the time, ms since 1970. */
  now(): number {
    const steadyMs = this.steadyMs();
    const machine = this.wallMs() - steadyMs;
    this.#lead = middleOfThree(this.#lead, machine, this.#brokersLead ?? this.#lead);
    return Math.round(steadyMs + this.#lead);
  }

  /**
   * Returns whether the clock of this machine has jumped since the last write: a process that waits
   * for a time writes a record then.
   */
  get isInDoubt(): boolean {
    return this.#hasJumpedSince(this.#machineLead);
  }

  /** Returns the brokers' time, with which their timestamps are compared; ms since 1970. */
  brokersNow(): number {
    return this.#brokersLead === undefined
      ? this.now()
      : Math.round(this.steadyMs() + this.#brokersLead);
  }

  /** Returns how far the other clocks are ahead of this one, ms; undefined: not known. */
  differences(): { machine: number; brokers: number | undefined } {
    const now = this.now();
    return {
      machine: this.wallMs() - now,
      brokers: this.#brokersLead === undefined ? undefined : this.brokersNow() - now,
    };
  }

  /** Returns the moment to hand to `wrote` later. */
  mark(): Moment {
    return {
      steadyMs: this.steadyMs(),
      machineLead: this.#presentMachineLead(),
    };
  }

  /** Notes the timestamp of a record that was read. */
  read(stampMs: number): void {
    const lead = stampMs - this.steadyMs();
    if (this.#writes === 0) this.#lead = Math.max(this.#lead, lead);
    else this.#brokersLead = Math.max(this.#brokersLead ?? lead, lead);
  }

  /**
   * Notes the timestamp of a record that was sent at `mark` and acknowledged now: a broker set it
   * in between. If the clock of this machine has jumped meanwhile, it may be from before a stop,
   * and tells nothing.
   */
  wrote(stampMs: number, mark: Moment): void {
    if (this.#hasJumpedSince(mark.machineLead)) return;
    const isFirst = this.#writes === 0;
    if (this.isInDoubt) this.#forgetWrites();
    this.#machineLead = this.#presentMachineLead();
    const slot = this.#writes++ % REMEMBERED_WRITES;
    this.#least[slot] = stampMs - this.steadyMs();
    this.#most[slot] = stampMs + 1 - mark.steadyMs;
    this.#brokersLead = Math.min(
      middleOf(this.#most),
      Math.max(this.#brokersLead ?? this.#lead, middleOf(this.#least)),
    );
    if (isFirst) this.#lead = this.#brokersLead;
  }

  #presentMachineLead(): number {
    return this.wallMs() - this.steadyMs();
  }

  #hasJumpedSince(machineLead: number): boolean {
    return Math.abs(this.#presentMachineLead() - machineLead) > JUMP_MS;
  }

  #forgetWrites(): void {
    this.#least.length = 0;
    this.#most.length = 0;
    this.#writes = 0;
  }
}

/** When a record was sent. */
interface Moment {
  steadyMs: number;
  /** of the clock of this machine over the steady one, ms */
  machineLead: number;
}

/** A process that starts waits at most this long for the first timestamp of a broker. */
export const CLOCK_WITHIN_MS = 10_000;

/** Clocks that are right, and the roughness of their readings, differ by less. */
const JUMP_MS = 1_000;

/** Enough that the requests to one of three brokers are not the median. */
const REMEMBERED_WRITES = 15;

function middleOf(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor((sorted.length - 1) / 2)] ?? 0;
}

function middleOfThree(a: number, b: number, c: number): number {
  return Math.max(Math.min(a, b), Math.min(Math.max(a, b), c));
}

/** One clock for the process, which has one Kafka. */
export const brokerClock = new BrokerClock();

metrics.gauge(
  {
    name: 'waypost.clock.difference',
    help:
      'How far a clock is ahead of the time by which attempts are planned, on which the clocks ' +
      'of this machine and of the brokers and the time until now agree by majority.',
    unit: 's',
    labels: { of: '`machine`, `brokers`' },
  },
  () => {
    const { machine, brokers } = brokerClock.differences();
    const samples = [{ labels: { of: 'machine' }, value: machine / 1_000 }];
    if (brokers !== undefined) {
      samples.push({ labels: { of: 'brokers' }, value: brokers / 1_000 });
    }
    return samples;
  },
);
