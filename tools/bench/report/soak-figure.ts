/**
 * Memory and CPU of every process, minute by minute, while all services run with one failing
 * endpoint among others.
 */
export interface SoakFigure {
  minutes: number;
  perSecond: number;
  /** every minute, from the first call on */
  samples: SoakSample[];
  /** written by the services, and by the broker: bytes */
  logged: { services: number; broker: number };
  /** requests that got a 503 */
  failed: number;
  sent: number;
  /** accepted and not delivered a minute after the last call: some wait in tiers */
  undelivered: number;
}

export interface SoakSample {
  minute: number;
  /** by process: MB */
  rssMb: Record<string, number>;
  /** by process: cores, in the minute before */
  cores: Record<string, number>;
}
