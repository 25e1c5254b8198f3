import { type CpuUse } from './cpu';

/** What a benchmark measured, as it is: input of the report, and content of `--json`. */

export interface BareFigure {
  count: number;
  /** CPU-µs a request */
  microsEach: number;
  perSecond: number;
}

/** The delivery service alone, emptying a topic that was filled before it started. */
export interface DeliveryFigure {
  /** webhooks after the warm-up; the rates are over these */
  count: number;
  warmUp: number;
  perSecond: number;
  /** from the end of the warm-up until every outcome was recorded */
  cpu: CpuUse;
  /** the same from the first POST of the process on, and over all of them */
  cold: CpuUse;
  /** POSTs beyond one a webhook, and deliveries sent to a tier for want of room in their lane: both should be 0 */
  repeats: number;
  diverted: number;
  /** what the service logged as a warning or worse, and how often */
  warnings: Record<string, number>;
}

/** All services under a closed loop of calls. */
export interface PipelineFigure {
  count: number;
  callsPerRequest: number;
  connections: number;
  perSecond: number;
  cpu: CpuUse;
  /** accepted and never delivered, delivered more than once, sent to a tier */
  missing: number;
  repeats: number;
  diverted: number;
}

export interface LatencyFigure {
  count: number;
  perSecond: number;
  p50Ms: number;
  p99Ms: number;
  maxMs: number;
  missing: number;
  cpu: CpuUse;
}

/** One pass over everything that was asked for. */
export interface Round {
  /** before each of the others that has a ratio */
  bare: BareFigure[];
  delivery?: DeliveryFigure;
  batches?: PipelineFigure;
  singles?: PipelineFigure;
  latency?: LatencyFigure;
  /** of the services of the last three together */
  warnings?: Record<string, number>;
}

export interface Machine {
  cores: number;
  cpu: string;
  memoryGb: number;
  system: string;
  node: string;
  java: string;
  kafka: string;
}

export interface Results {
  at: string;
  machine: Machine;
  settings: Record<string, string | number>;
  rounds: Round[];
}
