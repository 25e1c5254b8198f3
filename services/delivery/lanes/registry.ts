import { type CircuitState } from './circuit';
import { Lane, type LaneContext, type LaneOptions } from './lane';
import { type LoopClock } from '../loop-clock';
import { SocketShares, type SocketSharesOptions } from './socket-shares';
import { type Signal } from './signal';
import { type Target } from '../endpoints';
import { systemClock, type Clock } from '../clock';

/** The lanes there are, made when first needed and dropped when long unused; and the clock that they share. */

const SWEEP_MS = 30_000;
/** As fine as the loop clock's own tick allows: a rate of 1,000 a second begins twenty at a time. */
const TICK_MS = 20;
/** Some tenths of a second of work at full speed. */
const ENOUGH_WAITING = 1_000;

/**
 * How many are turned away in a tick: 250 a second, and of what waits a part, so that most of it is gone in some seconds. To park
 * one costs all services together some tenths of a millisecond, and again when its tier gives it back: two thousand at once
 * held up all others for half a second.
 */
const SHED_BUDGET = 5;
const SHED_FRACTION = 1 / 800;

/** A URL's circuit opened, or closed again. */
export interface CircuitTransition {
  target: Target;
  state: 'open' | 'closed';
  /** what the last answer was, or the lack of one */
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
  /** ms after which an unused lane is forgotten */
  keepMs: number;
  clock: Pick<LoopClock, 'now' | 'saturated' | 'stoodStillMs' | 'stop'>;
  /** default: the machine's */
  time?: Clock;
  /** which part of a destination's rate is this process's, above 0 to 1: others have its other shards */
  rateShare(destinationId: string, shards: number): number;
  onCircuit(turn: CircuitTransition): void;
}

export class LaneRegistry {
  readonly #lanes = new Map<string, Lane>();
  readonly #around: LaneContext;
  readonly #stops: (() => void)[];
  /** how many wait for this process, as counted in this tick; undefined: not counted yet */
  #backlog: number | undefined;

  constructor(private readonly options: LaneRegistryOptions) {
    this.#around = {
      sockets: new SocketShares(options.pool),
      queued: { count: 0, bytes: 0 },
      saturated: () => options.clock.saturated,
      stoodStillMs: () => options.clock.stoodStillMs,
      shedBudget: { left: SHED_BUDGET },
      timed: new Set(),
    };
    const time = options.time ?? systemClock;
    this.#stops = [time.every(SWEEP_MS, () => this.#dropUnused()), time.every(TICK_MS, () => this.#tick())];
  }

  /** by the loop clock, which all lanes share */
  now(): number {
    return this.options.clock.now();
  }

  /**
   * Whether this process cannot keep up: its event loop is busy and enough waits for it, not for endpoints. Lanes then
   * look slow that are not, and the answer is to read less, not to send a healthy backlog away.
   */
  get overloaded(): boolean {
    if (!this.options.clock.saturated || this.#around.queued.count < ENOUGH_WAITING) return false;
    this.#backlog ??= this.#countBacklog();
    return this.#backlog >= ENOUGH_WAITING;
  }

  #countBacklog(): number {
    let count = 0;
    for (const lane of this.#lanes.values()) if (lane.queued > 0) count += lane.backlog(this.now());
    return count;
  }

  /** The lane of a URL, at the rate that holds now. */
  of(target: Target): Lane {
    let lane = this.#lanes.get(target.lane);
    if (!lane) {
      lane = new Lane(this.options.lane, this.#around, (change, why) => {
        this.options.onCircuit({ target, state: change === 'opened' ? 'open' : 'closed', why });
      });
      this.#lanes.set(target.lane, lane);
    }
    const { destinationId, shards, maxPerSecond } = target;
    const rate = maxPerSecond && maxPerSecond * this.options.rateShare(destinationId, shards);
    lane.rateLimit.set(rate, this.now());
    return lane;
  }

  /** How many lanes are how, and how full the memory for what waits in them is: for metrics. */
  census(): LaneCensus {
    const lanes = { idle: 0, active: 0, waiting: 0 };
    const circuits = { closed: 0, open: 0, recovering: 0 };
    for (const lane of this.#lanes.values()) {
      lanes[lane.queued > 0 ? 'waiting' : lane.active > 0 ? 'active' : 'idle']++;
      circuits[lane.circuit.state]++;
    }
    const { count: queued, bytes } = this.#around.queued;
    return { lanes, circuits, queued, fill: bytes / this.options.lane.maxQueuedBytes };
  }

  /** Jobs that wait for records that are leaving go. */
  clear(): void {
    for (const lane of this.#lanes.values()) lane.clear();
  }

  stop(): void {
    for (const stop of this.#stops) stop();
    this.options.clock.stop();
  }

  #tick(): void {
    this.#backlog = undefined;
    this.#around.shedBudget.left = SHED_BUDGET + Math.ceil(this.#around.queued.count * SHED_FRACTION);
    // A copy: a lane that must wait on enters itself again.
    for (const lane of [...this.#around.timed]) lane.tick(this.now());
  }

  #dropUnused(): void {
    const before = this.now() - this.options.keepMs;
    for (const [name, lane] of this.#lanes) {
      if (lane.active === 0 && lane.queued === 0 && lane.usedAt < before) this.#lanes.delete(name);
    }
  }
}
