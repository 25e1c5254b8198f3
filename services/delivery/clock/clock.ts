import { brokerClock } from '../../../shared/kafka/broker-clock';

/**
 * Provides delivery's time: from the machine, or from a simulation that runs the same code in
 * virtual time.
 */
export interface Clock {
  /**
   * ms since 1970 by this machine: for signatures, which receivers compare with their own clocks
   */
  wallMs(): number;
  /** ms since 1970, on which processes agree (`BrokerClock`): for windows and waits */
  agreedMs(): number;
  /** the brokers' time, ms since 1970: for comparisons with the timestamps of records */
  brokersMs(): number;
  /** ms since an arbitrary moment; never goes back */
  steadyMs(): number;
  /** ms of that time in which the event loop was busy */
  busyMs(): number;
  /** ms of CPU that the process has used */
  cpuMs(): number;
  /** @returns a function that stops it */
  every(ms: number, act: () => void): () => void;
  /** Acts once. @returns a function that cancels it */
  after(ms: number, act: () => void): () => void;
}

export const systemClock: Clock = {
  wallMs: () => Date.now(),
  agreedMs: () => brokerClock.now(),
  brokersMs: () => brokerClock.brokersNow(),
  steadyMs: () => performance.now(),
  busyMs: () => performance.eventLoopUtilization().active,
  cpuMs: () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1_000;
  },
  every: (ms, act) => {
    const timer = setInterval(act, ms);
    return () => clearInterval(timer);
  },
  after: (ms, act) => {
    const timer = setTimeout(act, ms);
    return () => clearTimeout(timer);
  },
};
