import { type Step } from './change-set';
import { type Engine } from './engine';

/** The last sync of a definition. */
export interface SyncResult {
  /** ms since 1970 */
  beganAt: number;
  /** users it checked, and calls it made */
  looked: number;
  told: number;
}

interface Run {
  beganAt: number;
  /** the place of the last user to check; unknown until the users of expired windows are touched */
  end?: number;
  results: Map<string, SyncResult>;
}

/**
 * Runs the syncs of one partition in chunks of users, and keeps the result of each definition. The
 * definitions that are due at the same time share the reading of the profiles.
 */
export class Syncs {
  readonly results = new Map<string, SyncResult>();
  #run: Run | undefined;

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
    const step = engine.sync({ ids: [...run.results.keys()], end: run.end }, nowMs, this.chunk);
    if (step) {
      count(step, run);
      return step;
    }
    for (const [id, result] of run.results) this.results.set(id, result);
    this.#run = undefined;
    return undefined;
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
    const nothing = () => ({ beganAt: nowMs, looked: 0, told: 0 });
    return { beganAt: nowMs, results: new Map(due.map(({ id }) => [id, nothing()])) };
  }
}

function count({ synced, valueChanges }: Step, { results }: Run): void {
  for (const [id, result] of results) {
    result.looked += synced?.looked[id] ?? 0;
    result.told += valueChanges.filter(({ definition }) => definition === id).length;
  }
}
