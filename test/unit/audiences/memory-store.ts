import { type ProfileReader, type Step } from '../../../services/audiences/profiles/change-set';
import { type PartitionState } from '../../../services/audiences/profiles/partition-state';
import { type Profile } from '../../../services/audiences/profiles/profile';
import { decodeProfile, encodeProfile } from '../../../services/audiences/profiles/profile-codec';

/** Profiles in memory, for an engine. */
export class MemoryStore implements ProfileReader {
  /** as stored */
  readonly profiles = new Map<string, string>();
  readonly #due = new Map<string, number>();
  /** the place of each user's last touch */
  readonly #touched = new Map<string, number>();
  lastTouch = 0;
  synced: Readonly<Record<string, number>> = {};
  /** sent, and not known to be acknowledged */
  readonly unsent = new Map<number, [user: string, definition: string]>();
  meta: PartitionState | undefined;
  /** changelog offset that its content is from */
  logged = 0;

  get(user: string): Profile | undefined {
    const json = this.profiles.get(user);
    return json === undefined ? undefined : decodeProfile(Buffer.from(json));
  }
  put(user: string, profile: Profile): void {
    this.profiles.set(user, encodeProfile(profile).toString());
  }
  users(after: string | undefined, limit: number): string[] {
    return [...this.profiles.keys()]
      .sort()
      .filter((user) => after === undefined || user > after)
      .slice(0, limit);
  }
  touched(after: number, limit: number): { place: number; user: string }[] {
    if (!Number.isSafeInteger(after)) throw new RangeError(`${after} is no place`);
    return [...this.#touched]
      .map(([user, place]) => ({ place, user }))
      .filter(({ place }) => place > after)
      .sort((a, b) => a.place - b.place)
      .slice(0, limit);
  }
  due(nowMs: number, limit: number): string[] {
    return [...this.#due].flatMap(([user, at]) => (at <= nowMs ? [user] : [])).slice(0, limit);
  }
  touch(user: string): void {
    this.#touched.set(user, ++this.lastTouch);
  }
  setDue(user: string, at: number | undefined): void {
    if (at === undefined) this.#due.delete(user);
    else this.#due.set(user, at);
  }
  write(step: Step): void {
    for (const [user, profile] of step.profiles) {
      if (profile) this.put(user, profile);
      else this.profiles.delete(user);
    }
    for (const [user, at] of step.due) this.setDue(user, at);
    for (const user of step.touched) this.touch(user);
    if (step.synced) {
      this.synced = step.synced.places;
      const checked = Math.min(...Object.values(this.synced));
      for (const [user, place] of this.#touched) if (place <= checked) this.#touched.delete(user);
    }
    for (const { sequence, user, definition } of step.valueChanges) {
      this.unsent.set(sequence, [user, definition]);
    }
    this.meta = step.meta;
  }
}
