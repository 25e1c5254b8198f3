import { metrics, only } from '../telemetry/metrics';

/**
 * The time of the brokers, as far as this process knows it. Brokers stamp every record (LogAppendTime), and waits and
 * windows are counted from those stamps: decided by the clock of each process, a clock that runs behind would make
 * every wait longer, and one that runs ahead would turn delay topics into loops.
 *
 * It advances with the monotonic clock, so that a jump of this machine's clock does not move it. The stamps of records
 * that this process writes correct it: the middle of the last ones, so that one broker whose clock is wrong does not
 * decide. Until the first is written, a record that was read shows that the brokers' time is at least its stamp.
 */
export class BrokerClock {
  #offsetMs = 0;
  /** by how much the brokers' clock is ahead at least and at most, ms, as the last writes show; the oldest is replaced */
  readonly #least: number[] = [];
  readonly #most: number[] = [];
  #writes = 0;

  /** @param steadyMs a monotonic clock that began near the time since 1970, ms */
  constructor(private readonly steadyMs = () => performance.timeOrigin + performance.now()) {}

  /** Returns the brokers' time, ms since 1970. */
  now(): number {
    return Math.round(this.steadyMs() + this.#offsetMs);
  }

  /** Returns the moment to hand to `wrote` later. */
  mark(): number {
    return this.steadyMs();
  }

  /** A record was read that a broker stamped so. */
  read(stampMs: number): void {
    if (this.#writes === 0) this.#offsetMs = Math.max(this.#offsetMs, stampMs - this.steadyMs());
  }

  /** A record that was sent at `mark` was acknowledged now, and a broker stamped it so: between the two. */
  wrote(stampMs: number, mark: number): void {
    const place = this.#writes++ % REMEMBERED_WRITES;
    this.#least[place] = stampMs - this.steadyMs();
    this.#most[place] = stampMs + 1 - mark;
    this.#offsetMs = Math.min(middleOf(this.#most), Math.max(this.#offsetMs, middleOf(this.#least)));
  }
}

/** Enough that the requests to one of three brokers are not the middle. */
const REMEMBERED_WRITES = 15;

function middleOf(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor((sorted.length - 1) / 2)] ?? 0;
}

/** One for the process: it has one Kafka. */
export const brokerClock = new BrokerClock();

metrics.gauge(
  {
    name: 'waypost.clock.difference',
    help: 'Clock of the brokers, from the timestamps of records read and written, minus the clock of this machine.',
    unit: 's',
  },
  () => only((brokerClock.now() - Date.now()) / 1_000),
);
