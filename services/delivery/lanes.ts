import { type CircuitState } from './circuit';
import { Lane, type Around, type LaneOptions } from './lane';
import { type LoopClock } from './loop-clock';
import { Pool, type PoolOptions } from './pool';
import { type Signal } from './signal';
import { type Target } from './targets';
import { MACHINE, type Time } from './time';

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
const PARTINGS = 5;
const PART_OF_WAITING = 1 / 800;

/** A URL's circuit opened, or closed again. */
export interface CircuitTurn {
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

export interface LanesOptions {
  lane: LaneOptions;
  pool: PoolOptions;
  /** ms after which an unused lane is forgotten */
  keepMs: number;
  clock: Pick<LoopClock, 'now' | 'saturated' | 'stoodStillMs' | 'stop'>;
  /** default: the machine's */
  time?: Time;
  /** which part of a destination's rate is this process's, above 0 to 1: others have its other shards */
  rateShare(destinationId: string, shards: number): number;
  onCircuit(turn: CircuitTurn): void;
}

export class Lanes {
  readonly #lanes = new Map<string, Lane>();
  readonly #around: Around;
  readonly #stops: (() => void)[];
  /** how many wait for this process, as counted in this tick; undefined: not counted yet */
  #heldUp: number | undefined;

  constructor(private readonly options: LanesOptions) {
    this.#around = {
      pool: new Pool(options.pool),
      queued: { count: 0, bytes: 0 },
      saturated: () => options.clock.saturated,
      stoodStillMs: () => options.clock.stoodStillMs,
      partings: { left: PARTINGS },
      timed: new Set(),
    };
    const time = options.time ?? MACHINE;
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
    this.#heldUp ??= this.#countHeldUp();
    return this.#heldUp >= ENOUGH_WAITING;
  }

  #countHeldUp(): number {
    let count = 0;
    for (const lane of this.#lanes.values()) if (lane.queued > 0) count += lane.heldUp(this.now());
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
    lane.rate.set(rate, this.now());
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
    this.#heldUp = undefined;
    this.#around.partings.left = PARTINGS + Math.ceil(this.#around.queued.count * PART_OF_WAITING);
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
