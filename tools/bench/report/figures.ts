import { type Hostile } from '../../harness/receiver';
import { type CpuUse, type Memory, type Usage } from '../../harness/usage';
import { type DrainFigure } from '../drain';
import { type SoakFigure } from './soak-figure';

/** The raw figures of a benchmark: input of the report, and content of `--json`. */

/** Times between two events. */
interface Times {
  count: number;
  p50Ms: number;
  p99Ms: number;
}

export interface BareFigure {
  count: number;
  /** CPU-µs a request */
  microsEach: number;
  perSecond: number;
}

/** The delivery service alone, while it empties a topic that was filled before its start. */
export interface DeliveryFigure {
  /** webhooks after the warm-up; the rates are over these */
  count: number;
  warmUp: number;
  perSecond: number;
  /** from the end of the warm-up until every outcome was recorded */
  cpu: CpuUse;
  /** the same from the first POST of the process on, and over all webhooks */
  cold: CpuUse;
  /**
   * POSTs beyond one a webhook, and deliveries diverted to a tier because their lane was full: both
   * should be 0
   */
  repeats: number;
  diverted: number;
  /** events in a POST, mean */
  eventsPerPost: number;
  /** log lines of the service at level warning or above, and their number */
  warnings: Record<string, number>;
}

/** The delivery service over TLS. */
export interface HttpsFigure {
  /** a bare loop over TLS */
  bare: BareFigure;
  /** to one endpoint */
  busy: DeliveryFigure;
  /** to many endpoints, each with one webhook a round */
  seldom: {
    /** webhooks after the first round */
    count: number;
    endpoints: number;
    roundSeconds: number;
    handshakes: { first: number; later: number };
    /** after the first round */
    cpu: CpuUse;
    /** of delivery, before the first webhook */
    idleCores: number;
  };
}

/** The delivery service without telemetry, and with. */
export interface TelemetryFigure {
  /** fraction of traced messages */
  ratio: number;
  without: DeliveryFigure[];
  with: DeliveryFigure[];
  /** requests to the collector, and their bytes */
  exports: number;
  exportedBytes: number;
}

/** The router alone, with several destinations, by the features that they and their source use. */
export interface FiltersFigure {
  destinations: number;
  /** each in every turn */
  cases: { name: string; turns: DrainFigure[] }[];
}

/** Responses of ingest to honest single calls, without and with hostile requests. */
export interface HostileFigure {
  /** honest calls */
  perSecond: number;
  cleanP99Ms: number;
  hostileP99Ms: number;
  /** CPU of a broken batch, × a clean one of as many bytes and calls */
  secondReading: number;
  /** responses to hostile requests in the last phase, by status */
  statuses: Record<string, number>;
}

/** The audiences service over a backlog, and its cost. */
export interface AudiencesFigure {
  users: number;
  definitions: { audiences: number; traits: number };
  /** the router over the same messages */
  router: DrainFigure;
  /** the service over them; a message is half done when it has reached its user's partition */
  counting: DrainFigure;
  /** the same by fifths: messages a second */
  fifths: number[];
  firstSync: { seconds: number; told: number; cpu: CpuUse };
  /** after the store was deleted */
  restore: { seconds: number; records: number; cpu: CpuUse };
  /** messages of known users, while syncs run */
  traffic: DrainFigure;
  idleCores: number;
  /** the maximum of each phase */
  memory: Record<'counting' | 'firstSync' | 'restore' | 'traffic', Memory>;
  storeBytes: number;
  /** undefined if the broker's files are not on this machine */
  changelogBytes: number | undefined;
}

/** All services under a closed loop of calls. */
export interface PipelineFigure {
  count: number;
  callsPerRequest: number;
  connections: number;
  perSecond: number;
  cpu: CpuUse;
  /** accepted but never delivered, delivered more than once, diverted to a tier */
  missing: number;
  repeats: number;
  diverted: number;
  /** events in a POST, mean */
  eventsPerPost: number;
}

/** Destinations with a POST for each event, and with batches. */
export interface BatchedFigure {
  /** of a batch */
  maxEvents: number;
  delivery: { single: DeliveryFigure; batched: DeliveryFigure };
  all: { single: PipelineFigure; batched: PipelineFigure };
}

export interface LatencyFigure extends Times {
  perSecond: number;
  maxMs: number;
  missing: number;
  cpu: CpuUse;
}

/** All services without calls, and at several rates of single calls. */
export interface LoadCurveFigure {
  /** MB by process */
  idle: { cpu: CpuUse; rssMb: Record<string, number> };
  /** by rate, ascending */
  rates: LatencyFigure[];
}

/** All services under a closed loop of batches, for a time. */
export interface SustainedFigure {
  seconds: number;
  count: number;
  perSecond: number;
  /** webhooks in the slowest second */
  worstSecond: number;
  cpu: CpuUse;
  /** by process */
  rssMb: { before: Record<string, number>; after: Record<string, number> };
  missing: number;
  repeats: number;
}

/** All services under closed loops, with several processes of each service on the path. */
export interface ProcessesFigure {
  cases: {
    /** number for each service on the path */
    processes: number;
    /** CPU by service: its processes together */
    batches: PipelineFigure;
    singles: PipelineFigure;
  }[];
}

/** Processes are replaced one after the other under a constant load. */
export interface RollingFigure {
  perSecond: number;
  /** accepted but never delivered */
  missing: number;
  /** the calls that were sent in each step */
  steps: ({ name: string } & Times)[];
}

/** Some of the endpoints hang; the figures are of endpoints that hang in no phase. */
export interface IsolationPhase extends Times {
  /** number of hanging endpoints */
  hanging: number;
  /** what they did in place of hanging */
  as?: Hostile | undefined;
  maxMs: number;
  offeredPerSecond: number;
  /** arrived before the last call was sent */
  deliveredPerSecond: number;
  /** the largest number of open connections to one hanging endpoint */
  mostConnections: number;
  /** calls, of all endpoints, that ingest did not accept */
  refused: number;
  /** calls, of all endpoints, that were accepted and not delivered after the phase either */
  missing: number;
  cpu: CpuUse;
  /** until everything was delivered; absent if Kafka runs in a container */
  disk?: DiskGrowth;
}

/** What a phase has written to Kafka's disk. */
interface DiskGrowth {
  bytes: number;
  /** webhooks that arrived, each attempt of a delivery counted */
  webhooks: number;
  seconds: number;
}

export interface IsolationFigure {
  endpoints: number;
  /** number of endpoints that hang in no phase, and are measured */
  measured: number;
  /** calls a second */
  capacity: number;
  /** to all endpoints together */
  offeredPerSecond: number;
  /** maximum of open connections of one lane */
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
  /** for a lane with its largest width from the start */
  idealMs: number;
  /** to a new lane */
  first: BurstFigure;
  /** to the same lane again */
  second: BurstFigure;
  /** waits a record */
  hops: { mean: number; most: number };
}

export interface OutageFigure {
  perSecond: number;
  beforeSeconds: number;
  deadSeconds: number;
  /** records written during the outage: to tiers; to tiers, to `webhooks.due` and to `attempts` */
  appendsPerSecond: { tiers: number; all: number };
  /**
   * from its return until the first delivery, and until the last delivery of a call accepted during
   * the outage
   */
  firstMs: number;
  drainMs: number;
  /** waits of those */
  hops: { mean: number; most: number };
  /** number of times that its circuit opened again after its return */
  reopened: number;
  /** calls sent before the outage, and those sent after the first delivery and before the last */
  before: Times;
  fresh: Times;
  /** the maximum of deliveries in one second after its return */
  peakPerSecond: number;
  missing: number;
}

export interface LatenessFigure extends Times {
  maxMs: number;
  /** due, but not in `webhooks.due` */
  missing: number;
}

export interface WaitingPhase extends Usage {
  name: string;
  lateness: LatenessFigure;
}

export interface WaitingFigure {
  /** waiting deliveries from the second phase on */
  count: number;
  /** in the flow through the shortest tier */
  perSecond: number;
  seconds: number;
  phases: WaitingPhase[];
}

/** One pass over all selected parts. */
export interface Round {
  /** before each of the others that has a ratio */
  bare: BareFigure[];
  delivery?: DeliveryFigure | undefined;
  https?: HttpsFigure | undefined;
  telemetry?: TelemetryFigure | undefined;
  batches?: PipelineFigure | undefined;
  singles?: PipelineFigure | undefined;
  batched?: BatchedFigure | undefined;
  load?: LoadCurveFigure | undefined;
  latency?: LatencyFigure | undefined;
  sustained?: SustainedFigure | undefined;
  processes?: ProcessesFigure | undefined;
  rolling?: RollingFigure | undefined;
  /** of the services of the last four together */
  warnings?: Record<string, number> | undefined;
  isolation?: IsolationFigure | undefined;
  backlog?: BacklogFigure | undefined;
  outage?: OutageFigure | undefined;
  waiting?: WaitingFigure | undefined;
  filters?: FiltersFigure | undefined;
  audiences?: AudiencesFigure | undefined;
  hostile?: HostileFigure | undefined;
  soak?: SoakFigure | undefined;
  /** failed measurements, and why */
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
