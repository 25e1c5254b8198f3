import { metrics, only } from '../telemetry/metrics';

/**
 * The time of the brokers, as far as this process knows it. Brokers stamp every record (LogAppendTime), and waits and
 * windows are counted from those stamps: decided by the clock of each process, a clock that runs behind would make
 * every wait longer, and one that runs ahead would turn delay topics into loops.
 *
 * It advances with the monotonic clock, so that a jump of this machine's clock does not move it. The stamps of records
 * that this process reads and writes correct it.
 */
export class BrokerClock {
  #offsetMs = 0;

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

  /** A record was read that a broker stamped so: its clock has reached that time. */
  read(stampMs: number): void {
    this.#offsetMs = Math.max(this.#offsetMs, stampMs - this.steadyMs());
  }

  /** A record that was sent at `mark` was acknowledged now, and a broker stamped it so: between the two. */
  wrote(stampMs: number, mark: number): void {
    this.#offsetMs = Math.min(stampMs + 1 - mark, Math.max(this.#offsetMs, stampMs - this.steadyMs()));
  }
}

/** One for the process: it has one Kafka. */
export const brokerClock = new BrokerClock();

metrics.gauge(
  { name: 'waypost.clock.difference', help: 'The time of the brokers less that of this machine.', unit: 's' },
  () => only((brokerClock.now() - Date.now()) / 1_000),
);
