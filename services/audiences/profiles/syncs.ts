import { type SyncResult } from '../status';
import { type Step } from './change-set';
import { type Engine } from './engine';

/** Runs the sync of each interval in chunks of users, and keeps its result. */
export class Syncs {
  readonly results = new Map<number, SyncResult>();

  constructor(private readonly chunk: number) {}

  /** Returns the next step of an interval's sync; undefined if none is due or no users are left. */
  next(engine: Engine, intervalMs: number, nowMs: number): Step | undefined {
    const sync = this.results.get(intervalMs) ?? { beganAt: 0, running: false, looked: 0, told: 0 };
    if (!sync.running) {
      if (nowMs - sync.beganAt < intervalMs) return undefined;
      Object.assign(sync, { beganAt: nowMs, running: true, looked: 0, told: 0 });
      this.results.set(intervalMs, sync);
    }
    const expired = engine.expire(nowMs, this.chunk);
    if (expired) return expired;
    const step = engine.sync(intervalMs, nowMs, this.chunk);
    sync.running = step !== undefined && (step.synced?.users.length ?? 0) === this.chunk;
    sync.looked += step?.synced?.users.length ?? 0;
    sync.told += step?.tells.length ?? 0;
    return step;
  }
}
