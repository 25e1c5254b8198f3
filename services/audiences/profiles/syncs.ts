import { type Step } from './change-set';
import { type Engine } from './engine';

/** The last sync of a definition. */
export interface SyncResult {
  /** ms since 1970 */
  beganAt: number;
  /** users it checked, and calls it made, with those of a scan since the sync before */
  looked: number;
  told: number;
}

interface Run {
  beganAt: number;
  /** the place of the last user to check; unknown until the users of expired windows are touched */
  end?: number;
  /** number of users that each definition has checked */
  looked: Map<string, number>;
}

/**
 * Runs the syncs of one partition in chunks of users, and keeps the result of each definition. The
 * definitions that are due at the same time share the reading of the profiles.
 */
export class Syncs {
  readonly results = new Map<string, SyncResult>();
  #run: Run | undefined;
  /** calls of each definition since its last sync ended */
  readonly #told = new Map<string, number>();

  constructor(private readonly chunk: number) {}

  /** Begins a sync if one is due. @returns whether one runs */
  runs(engine: Engine, nowMs: number): boolean {
    return (this.#run ??= this.#begin(engine, nowMs)) !== undefined;
  }

  /** Returns the next step; undefined if no sync is due or a sync has ended. */
  next(engine: Engine, nowMs: number): Step | undefined {
    const run = (this.#run ??= this.#begin(engine, nowMs));
    if (!run) return undefined;
    if (run.end === undefined) {
      const expired = engine.expire(run.beganAt, this.chunk);
      if (expired) return expired;
      run.end = engine.lastTouch;
    }
    const step = engine.sync({ ids: [...run.looked.keys()], end: run.end }, nowMs, this.chunk);
    if (step) {
      for (const [id, looked] of run.looked) {
        run.looked.set(id, looked + (step.synced?.looked[id] ?? 0));
      }
      this.count(step);
      return step;
    }
    for (const [id, looked] of run.looked) {
      this.results.set(id, { beganAt: run.beganAt, looked, told: this.#told.get(id) ?? 0 });
      this.#told.delete(id);
    }
    this.#run = undefined;
    return undefined;
  }

  /** Counts the calls of a step. */
  count({ valueChanges }: Step): void {
    for (const { definition } of valueChanges) {
      this.#told.set(definition, (this.#told.get(definition) ?? 0) + 1);
    }
  }

  #begin(engine: Engine, nowMs: number): Run | undefined {
    const due = engine.emitting.filter(({ id, syncEveryMs }) => {
      const beganAt = this.results.get(id)?.beganAt;
      // Syncs begin at multiples of their interval, so that those of equal intervals coincide.
      return (
        beganAt === undefined ||
        Math.floor(beganAt / syncEveryMs) !== Math.floor(nowMs / syncEveryMs)
      );
    });
    if (due.length === 0) return undefined;
    return { beganAt: nowMs, looked: new Map(due.map(({ id }) => [id, 0])) };
  }
}
