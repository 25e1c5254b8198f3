import { brokerClock } from '../../shared/kafka/broker-clock';

/** Where delivery takes its time from: the machine, or a simulation that runs the same code in virtual time. */
export interface Clock {
  /** ms since 1970, by this machine: for signatures, which receivers compare with their own clocks */
  wallMs(): number;
  /** ms since 1970, by the brokers: windows and waits are counted from their stamps */
  brokerMs(): number;
  /** ms from some moment on; never goes back */
  steadyMs(): number;
  /** so much of it the event loop was busy, ms */
  busyMs(): number;
  /** @returns how to stop it */
  every(ms: number, act: () => void): () => void;
}

export const systemClock: Clock = {
  wallMs: () => Date.now(),
  brokerMs: () => brokerClock.now(),
  steadyMs: () => performance.now(),
  busyMs: () => performance.eventLoopUtilization().active,
  every: (ms, act) => {
    const timer = setInterval(act, ms);
    return () => clearInterval(timer);
  },
};
