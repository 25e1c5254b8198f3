import { type Circuit, type CircuitState } from './circuit';
import { Lane } from './lane';
import { type LaneContext, type LaneOptions } from './lane-context';
import { SocketShares, type SocketSharesOptions } from './socket-shares';
import { type Signal } from './job';
import { type StallClock } from '../clock/stall-clock';
import { systemClock, type Clock } from '../clock/clock';

/** Creates lanes when they are first needed, and drops them when long unused. */

const SWEEP_MS = 30_000;
/**
 * As fine as the stall clock's own tick allows: a rate of 1,000 per second begins twenty at a time.
 */
const TICK_MS = 20;
/** A few tenths of a second of work at full speed. */
const ENOUGH_WAITING = 1_000;

/**
 * Jobs that may be diverted in a tick: 250 per second plus a fraction of the queue, so that most of
 * it is gone within seconds. Parking one delivery costs all services together some tenths of a
 * millisecond, and again when its tier returns it: two thousand together held up all others for
 * half a second.
 */
const SHED_BUDGET = 5;
const SHED_FRACTION = 1 / 800;

/** A URL as its lane sees it. */
export interface LaneUrl {
  /** the webhook's id */
  id: string;
  /** identifies its webhook and URL in the headers of a delivery (`urlHash`) */
  hash: string;
  /** identifies its lane: the same URL in two destinations has two lanes */
  lane: string;
  destinationId: string;
  destinationVersion: number;
  /** number of shards of the destination */
  shards: number;
  /** of its destination */
  maxPerSecond?: number;
  origin: string;
  /** the egress proxy before it; absent: none */
  proxy?: { gate: NonNullable<Circuit['gate']> };
}

/** A URL's circuit opened or closed again. */
export interface CircuitTransition {
  endpoint: LaneUrl;
  state: 'open' | 'closed';
  /** the last result that caused it */
  why: Signal['kind'];
}

export interface LaneCensus {
  lanes: Record<'idle' | 'active' | 'waiting', number>;
  circuits: Record<CircuitState, number>;
  /** jobs */
  queued: number;
  /** 0 to 1 */
  fill: number;
}

export interface LaneRegistryOptions {
  lane: LaneOptions;
  pool: SocketSharesOptions;
  /** ms after which an unused lane is dropped */
  keepMs: number;
  clock: Pick<StallClock, 'now' | 'saturated' | 'usesWholeCore' | 'stalledMs' | 'run'>;
  /** default: the machine's */
  time?: Clock;
  /**
   * part of a destination's rate that this process may use, above 0 to 1: other processes have its
   * other shards
   */
  rateShare(destinationId: string, shards: number): number;
  onCircuit(turn: CircuitTransition): void;
  /** receives each lane that was dropped, with its circuit */
  onDropped(lane: string): void;
}

export class LaneRegistry {
  readonly #lanes = new Map<string, Lane>();
  readonly #shared: LaneContext;
  readonly #time: Clock;
  readonly #stopSweep: () => void;
  /** stops the ticks; undefined while no lane needs them */
  #stopTicks: (() => void) | undefined;
  /** jobs that wait for this process, counted once per tick; undefined: not counted yet */
  #backlog: number | undefined;

  constructor(private readonly options: LaneRegistryOptions) {
    this.#shared = {
      sockets: new SocketShares(options.pool),
      queued: { count: 0, bytes: 0 },
      clock: options.clock,
      shedBudget: { left: SHED_BUDGET },
      timed: new Set(),
    };
    this.#time = options.time ?? systemClock;
    this.#stopSweep = this.#time.every(SWEEP_MS, () => this.#dropUnused());
  }

  /**
   * Returns the present time by the stall clock, which all lanes share. It runs from then on, until
   * no lane needs it.
   */
  now(): number {
    this.#startTicks();
    return this.options.clock.now();
  }

  /**
   * True if this process cannot keep up: its event loop is busy and enough jobs wait for it rather
   * than for endpoints. Healthy lanes then look slow, and the remedy is to read less, not to divert
   * a healthy backlog.
   */
  get overloaded(): boolean {
    if (!this.options.clock.saturated || this.#shared.queued.count < ENOUGH_WAITING) return false;
    this.#backlog ??= this.#countBacklog();
    return this.#backlog >= ENOUGH_WAITING;
  }

  /** True while lanes wait for sockets: then these are given in turns over all lanes. */
  get sharesSockets(): boolean {
    return this.#shared.sockets.contended;
  }

  #countBacklog(): number {
    let count = 0;
    for (const lane of this.#lanes.values()) {
      if (lane.queued > 0) count += lane.backlog(this.options.clock.now());
    }
    return count;
  }

  /** Returns the lane of a URL, set to the current rate. */
  of(endpoint: LaneUrl): Lane {
    this.#startTicks();
    let lane = this.#lanes.get(endpoint.lane);
    if (!lane) {
      const onCircuit = (change: 'opened' | 'responded', why: Signal['kind']) => {
        this.options.onCircuit({ endpoint, state: change === 'opened' ? 'open' : 'closed', why });
      };
      lane = new Lane(this.options.lane, this.#shared, onCircuit, endpoint.origin);
      this.#lanes.set(endpoint.lane, lane);
    }
    const { destinationId, shards, maxPerSecond, proxy } = endpoint;
    lane.circuit.gate = proxy?.gate;
    const rate = maxPerSecond && maxPerSecond * this.options.rateShare(destinationId, shards);
    lane.rateLimit.set(rate, this.options.clock.now());
    return lane;
  }

  /** Counts lanes by state, and returns the fill of the memory for queued bodies: for metrics. */
  census(): LaneCensus {
    const lanes = { idle: 0, active: 0, waiting: 0 };
    const circuits = { closed: 0, open: 0, recovering: 0 };
    for (const lane of this.#lanes.values()) {
      lanes[lane.queued > 0 ? 'waiting' : lane.active > 0 ? 'active' : 'idle']++;
      circuits[lane.circuit.state]++;
    }
    const { count: queued, bytes } = this.#shared.queued;
    return { lanes, circuits, queued, fill: bytes / this.options.lane.maxQueuedBytes };
  }

  /** Refuses the queued jobs of revoked records. */
  clear(): void {
    for (const lane of this.#lanes.values()) lane.clear();
  }

  stop(): void {
    this.#stopSweep();
    this.#stopTicks?.();
  }

  #startTicks(): void {
    if (this.#stopTicks) return;
    const stopClock = this.options.clock.run();
    const stop = this.#time.every(TICK_MS, () => this.#tick());
    this.#stopTicks = () => {
      stop();
      stopClock();
    };
  }

  #tick(): void {
    this.#backlog = undefined;
    this.#shared.shedBudget.left =
      SHED_BUDGET + Math.ceil(this.#shared.queued.count * SHED_FRACTION);
    // Iterate over a copy: a lane that must wait longer adds itself again.
    for (const lane of [...this.#shared.timed]) lane.tick(this.options.clock.now());
    const { sockets, queued, timed } = this.#shared;
    if (sockets.used > 0 || queued.count > 0 || timed.size > 0) return;
    this.#stopTicks?.();
    this.#stopTicks = undefined;
  }

  #dropUnused(): void {
    const before = this.options.clock.now() - this.options.keepMs;
    for (const [name, lane] of this.#lanes) {
      if (lane.active > 0 || lane.queued > 0 || lane.usedAt >= before) continue;
      this.#lanes.delete(name);
      this.options.onDropped(name);
    }
  }
}
