import { type CpuUse } from '../cpu';
import { type DrainFigure } from '../drain';
import { type Memory } from '../memory';
import { type PreviewFigure } from '../cases/previews';
import { type Usage } from '../usage';

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

/** The delivery service without telemetry, and with. */
export interface TelemetryFigure {
  /** of the messages so many are traced */
  ratio: number;
  without: DeliveryFigure[];
  with: DeliveryFigure[];
  /** requests to the collector, and their bytes */
  exports: number;
  exportedBytes: number;
}

/** The router alone, with several destinations, by what these and their source ask for. */
export interface FiltersFigure {
  destinations: number;
  /** each in every turn */
  cases: { name: string; turns: DrainFigure[] }[];
}

/** Answers of ingest to honest single calls, without and with hostile requests. */
export interface HostileFigure {
  /** honest calls */
  perSecond: number;
  cleanP99Ms: number;
  hostileP99Ms: number;
  /** of hostile requests in the last phase, by the status of their answer */
  statuses: Record<string, number>;
}

/** The audiences service over a backlog, and what it costs to have it. */
export interface AudiencesFigure {
  users: number;
  definitions: { audiences: number; traits: number };
  /** the router over the same messages */
  router: DrainFigure;
  /** the service over them; a message is half done when it is with its user's partition */
  counting: DrainFigure;
  /** the same by fifths: messages a second */
  fifths: number[];
  firstSync: { seconds: number; told: number; cpu: CpuUse };
  /** the store was deleted */
  restore: { seconds: number; records: number; cpu: CpuUse };
  /** messages of users that are known, while syncs run */
  traffic: DrainFigure;
  idleCores: number;
  previews: PreviewFigure[];
  /** the most there was in each phase */
  memory: Record<'counting' | 'firstSync' | 'restore' | 'traffic', Memory>;
  storeBytes: number;
  /** undefined where the broker's files are not on this machine */
  changelogBytes: number | undefined;
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

/** All services under a closed loop of batches, for a time. */
export interface SustainedFigure {
  seconds: number;
  count: number;
  perSecond: number;
  /** webhooks in the second that had fewest */
  worstSecond: number;
  cpu: CpuUse;
  /** by process */
  rssMb: { before: Record<string, number>; after: Record<string, number> };
  missing: number;
  repeats: number;
}

/** Some of the endpoints hang; figures of those that hang in no phase. */
export interface IsolationPhase {
  /** how many hang */
  hanging: number;
  count: number;
  p50Ms: number;
  p99Ms: number;
  maxMs: number;
  offeredPerSecond: number;
  /** arrived before the last call was sent */
  deliveredPerSecond: number;
  /** the most connections open at once to one endpoint that hung */
  mostConnections: number;
  /** calls, of all endpoints, that ingest did not accept */
  refused: number;
  /** accepted, of all endpoints, and not delivered after the phase either */
  missing: number;
  cpu: CpuUse;
}

export interface IsolationFigure {
  endpoints: number;
  /** so many of them hang in no phase, and are measured */
  measured: number;
  /** calls a second */
  capacity: number;
  /** to all endpoints together */
  offeredPerSecond: number;
  /** the most that one lane may have open */
  laneLimit: number;
  /** the first one is clean */
  phases: IsolationPhase[];
}

export interface BurstFigure {
  drainMs: number;
  /** times the ideal */
  ideals: number;
  /** POSTs beyond one a webhook */
  repeats: number;
}

export interface BacklogFigure {
  count: number;
  answerMs: number;
  /** of a lane as wide as it may get, from the first moment on */
  idealMs: number;
  /** to a lane that has learnt nothing */
  first: BurstFigure;
  /** and again */
  second: BurstFigure;
  /** waits a record */
  hops: { mean: number; most: number };
}

interface LatencyShare {
  count: number;
  p50Ms: number;
  p99Ms: number;
}

export interface OutageFigure {
  perSecond: number;
  beforeSeconds: number;
  deadSeconds: number;
  /** records written while it was dead: to tiers; to tiers, to what is due and to the attempts */
  appendsPerSecond: { tiers: number; all: number };
  /** from its return until the first delivery, and until the last one of those that were accepted while it was dead */
  firstMs: number;
  drainMs: number;
  /** waits of those */
  hops: { mean: number; most: number };
  /** how often its circuit opened again after its return */
  reopened: number;
  /** calls sent before the outage, and those sent after the first delivery and before the last */
  before: LatencyShare;
  fresh: LatencyShare;
  /** the most deliveries in one second after its return */
  peakPerSecond: number;
  missing: number;
}

export interface LatenessFigure {
  count: number;
  p50Ms: number;
  p99Ms: number;
  maxMs: number;
  /** due, and not put where it is due */
  missing: number;
}

export interface WaitingPhase extends Usage {
  name: string;
  lateness: LatenessFigure;
}

export interface WaitingFigure {
  /** that wait from the second phase on */
  count: number;
  /** of the flow through the shortest tier */
  perSecond: number;
  seconds: number;
  phases: WaitingPhase[];
}

/** One pass over everything that was asked for. */
export interface Round {
  /** before each of the others that has a ratio */
  bare: BareFigure[];
  delivery?: DeliveryFigure | undefined;
  telemetry?: TelemetryFigure | undefined;
  batches?: PipelineFigure | undefined;
  singles?: PipelineFigure | undefined;
  latency?: LatencyFigure | undefined;
  sustained?: SustainedFigure | undefined;
  /** of the services of the last four together */
  warnings?: Record<string, number> | undefined;
  isolation?: IsolationFigure | undefined;
  backlog?: BacklogFigure | undefined;
  outage?: OutageFigure | undefined;
  waiting?: WaitingFigure | undefined;
  filters?: FiltersFigure | undefined;
  audiences?: AudiencesFigure | undefined;
  hostile?: HostileFigure | undefined;
  /** what could not be measured, and why */
  failures: { part: string; why: string }[];
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
