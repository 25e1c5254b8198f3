import { metrics, only } from '../telemetry/metrics';

/**
 * Estimates the time of the brokers. Brokers timestamp every record (LogAppendTime), and waits and
 * windows count from these timestamps. With the clocks of the processes, a clock that is behind
 * would make every wait longer, and a clock that is ahead would turn delay topics into loops.
 *
 * It advances with the monotonic clock, so that a jump of this machine's clock does not move it.
 * The timestamps of records that this process writes correct it: it takes the median of the last
 * ones, so that one broker with a wrong clock does not decide. Before the first write, a record
 * that was read proves that the brokers' time is at least its timestamp.
 */
export class BrokerClock {
  #offsetMs = 0;
  /**
   * least and greatest lead of the brokers' clock in the last writes, ms; the oldest is replaced
   */
  readonly #least: number[] = [];
  readonly #most: number[] = [];
  #writes = 0;

  /** @param steadyMs a monotonic clock that started near the time since 1970, ms */
  constructor(private readonly steadyMs = () => performance.timeOrigin + performance.now()) {}

  /** Returns the brokers' time, ms since 1970. */
  now(): number {
    return Math.round(this.steadyMs() + this.#offsetMs);
  }

  /** Returns the moment to hand to `wrote` later. */
  mark(): number {
    return this.steadyMs();
  }

  /** Notes the timestamp of a record that was read. */
  read(stampMs: number): void {
    if (this.#writes === 0) this.#offsetMs = Math.max(this.#offsetMs, stampMs - this.steadyMs());
  }

  /**
   * Notes the timestamp of a record that was sent at `mark` and acknowledged now: a broker set it
   * in between.
   */
  wrote(stampMs: number, mark: number): void {
    const place = this.#writes++ % REMEMBERED_WRITES;
    this.#least[place] = stampMs - this.steadyMs();
    this.#most[place] = stampMs + 1 - mark;
    this.#offsetMs = Math.min(
      middleOf(this.#most),
      Math.max(this.#offsetMs, middleOf(this.#least)),
    );
  }
}

/** Enough that the requests to one of three brokers are not the median. */
const REMEMBERED_WRITES = 15;

function middleOf(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor((sorted.length - 1) / 2)] ?? 0;
}

/** One clock for the process, which has one Kafka. */
export const brokerClock = new BrokerClock();

metrics.gauge(
  {
    name: 'waypost.clock.difference',
    help:
      'Clock of the brokers, from the timestamps of records read and written, minus the ' +
      'clock of this machine.',
    unit: 's',
  },
  () => only((brokerClock.now() - Date.now()) / 1_000),
);
