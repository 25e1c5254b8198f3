import { type ProfileReader, type Step } from '../../../services/audiences/profiles/change-set';
import { type PartitionState } from '../../../services/audiences/profiles/partition-state';
import { type Profile } from '../../../services/audiences/profiles/profile';

/** Profiles in memory, for an engine. */
export class MemoryStore implements ProfileReader {
  readonly profiles = new Map<string, string>();
  readonly #due = new Map<string, number>();
  readonly #touched = new Map<number, Set<string>>();
  /** sent, and not known to be acknowledged */
  readonly unsent = new Map<number, [user: string, definition: string]>();
  meta: PartitionState | undefined;
  /** changelog offset that its content is from */
  logged = 0;

  get(user: string): Profile | undefined {
    const json = this.profiles.get(user);
    return json === undefined ? undefined : (JSON.parse(json) as Profile);
  }
  users(after: string | undefined, limit: number): string[] {
    return [...this.profiles.keys()]
      .sort()
      .filter((user) => after === undefined || user > after)
      .slice(0, limit);
  }
  touched(intervalMs: number, limit: number): string[] {
    return [...(this.#touched.get(intervalMs) ?? [])].slice(0, limit);
  }
  due(nowMs: number, limit: number): string[] {
    return [...this.#due].flatMap(([user, at]) => (at <= nowMs ? [user] : [])).slice(0, limit);
  }
  touch(user: string, intervals: readonly number[]): void {
    for (const interval of intervals) {
      const set = this.#touched.get(interval) ?? new Set();
      this.#touched.set(interval, set.add(user));
    }
  }
  setDue(user: string, at: number | undefined): void {
    if (at === undefined) this.#due.delete(user);
    else this.#due.set(user, at);
  }
  write(step: Step): void {
    if (step.synced) {
      for (const user of step.synced.users) this.#touched.get(step.synced.intervalMs)?.delete(user);
    }
    for (const [user, profile] of step.profiles) {
      if (profile) this.profiles.set(user, JSON.stringify(profile));
      else this.profiles.delete(user);
    }
    for (const [user, at] of step.due) this.setDue(user, at);
    for (const user of step.touched.users) this.touch(user, step.touched.intervalsMs);
    for (const { sequence, user, definition } of step.valueChanges) {
      this.unsent.set(sequence, [user, definition]);
    }
    this.meta = step.meta;
  }
}
