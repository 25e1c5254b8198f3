import { type Json } from '../../../shared/model/message';
import { type Definitions } from '../definitions/compile';
import { type Origin, type ProfileEvent } from '../repartition/event';
import { type PartitionState } from './partition-state';
import { encodeProfile, markedFull, type Profile, type SentValue } from './profile';
import { MAX_BROWSER_PROFILE_BYTES, MAX_PROFILE_BYTES, MAX_TOLD_BYTES, ProfileSizeLimit } from './size-limits';

/** The profiles of one partition, as the engine sees them. */
export interface ProfileReader {
  get(user: string): Profile | undefined;
  /** in order of their ids, from behind `after` on */
  users(after: string | undefined, limit: number): string[];
  /** those who were touched since the last sync of this interval */
  touched(intervalMs: number, limit: number): string[];
  /** those of whom something else is to be said by now although nothing came */
  due(nowMs: number, limit: number): string[];
  /** All of a step at once, or nothing. */
  write(step: Step): void;
}

/** What one user is to be told of. */
export interface ValueChange {
  /** its place among all that this partition tells */
  sequence: number;
  user: string;
  definition: string;
  value: Json;
  /** `timestamp`, ms since 1970 */
  atMs: number;
}

/** What is to be written, and sent, together. */
export interface Step {
  /** as they are now; null: gone */
  profiles: ReadonlyMap<string, Profile | null>;
  /** of those who were changed or looked at: when they are due; undefined: never */
  due: ReadonlyMap<string, number | undefined>;
  /** to be looked at by the next sync of each of these intervals */
  touched: { users: readonly string[]; intervalsMs: readonly number[] };
  /** looked at by the sync of this interval */
  synced?: { intervalMs: number; users: readonly string[] };
  moves: readonly Move[];
  tells: readonly ValueChange[];
  /** changes that did not fit into a profile */
  refused: number;
  meta: PartitionState;
}

/** An event for a user of any partition. */
export interface Move {
  /** whose profile it takes along */
  from: string;
  user: string;
  event: ProfileEvent;
  origin: Origin;
}

/** A step in the making. */
export class ChangeSet {
  readonly #profiles = new Map<string, Profile | null>();
  /** as they are on the shelf: read once, and the same object each time, so that what has not changed is known by it */
  readonly #read = new Map<string, Profile | undefined>();
  /** users of whom a browser source has sent something */
  readonly #browsed = new Set<string>();
  readonly #touched = new Set<string>();
  readonly #moves: Move[] = [];
  readonly #tells: ValueChange[] = [];
  /** changes that did not fit into a profile */
  refused = 0;
  #synced: Step['synced'];
  #lastSent: number;

  constructor(
    private readonly shelf: ProfileReader,
    private readonly definitions: Definitions,
    private readonly nowMs: number,
    private readonly begin: {
      meta: PartitionState;
      /** users whose profiles grew too large in a first draft: here each change is measured */
      measured?: ReadonlySet<string> | undefined;
    },
  ) {
    this.#lastSent = begin.meta.told;
  }

  /**
   * The room for what an event adds to a profile.
   * @param source absent: the event brings what other events have added
   */
  room(user: string, before: Profile, source?: string): ProfileSizeLimit {
    const { browser } = this.definitions;
    const isBrowser = source !== undefined && browser.has(source);
    if (isBrowser) this.#browsed.add(user);
    if (!this.begin.measured?.has(user)) return new ProfileSizeLimit(before, browser);
    const most = isBrowser ? MAX_BROWSER_PROFILE_BYTES : MAX_PROFILE_BYTES;
    return new ProfileSizeLimit(before, browser, most - encodeProfile(before).length);
  }

  /**
   * Users whose profiles have become larger than they may. They are rare, so that profiles are measured when they are
   * encoded anyway, and the step is drafted a second time for their sake.
   */
  tooLarge(): Set<string> {
    const users = new Set<string>();
    for (const [user, profile] of this.#profiles) {
      const bytes = profile ? encodeProfile(profile).length : 0;
      const most = this.#browsed.has(user) ? MAX_BROWSER_PROFILE_BYTES : MAX_PROFILE_BYTES;
      if (bytes <= (this.#tells.length > 0 ? MAX_TOLD_BYTES : most)) continue;
      const before = this.#read.get(user) ?? this.shelf.get(user);
      if (!before || bytes > encodeProfile(before).length) users.add(user);
    }
    return users;
  }

  get(user: string): Profile | undefined {
    const drafted = this.#profiles.get(user);
    if (drafted !== undefined) return drafted ?? undefined;
    if (this.#read.has(user)) return this.#read.get(user);
    const profile = this.shelf.get(user);
    this.#read.set(user, profile);
    return profile;
  }

  set(user: string, profile: Profile | null): void {
    this.#profiles.set(user, profile);
    this.#touched.add(user);
  }

  /** What makes no difference to what is told. */
  setQuietly(user: string, profile: Profile | null): void {
    this.#profiles.set(user, profile);
  }

  touch(user: string): void {
    this.#touched.add(user);
  }

  synced(intervalMs: number, users: readonly string[]): void {
    this.#synced = { intervalMs, users };
  }

  move(move: Move): void {
    this.#moves.push(move);
  }

  /** What is told is no reason to look again: the profile alone is written. */
  emit(user: string, definition: string, value: Json, atMs: number): void {
    const sequence = this.#lastSent + 1;
    const profile = this.get(user) ?? {};
    const after = { ...profile, s: { ...profile.s, [definition]: [value, atMs, sequence] as SentValue } };
    if (this.begin.measured?.has(user) && encodeProfile(after).length > MAX_TOLD_BYTES) {
      this.refused++;
      this.setQuietly(user, markedFull(profile, true));
      return;
    }
    this.#lastSent = sequence;
    this.setQuietly(user, after);
    this.#tells.push({ sequence, user, definition, value, atMs });
  }

  /** What was told, by definition. */
  count(meta: PartitionState): PartitionState {
    const defs = { ...meta.defs };
    for (const { definition } of this.#tells) {
      const state = defs[definition];
      if (state) defs[definition] = { ...state, told: state.told + 1 };
    }
    return { ...meta, defs };
  }

  step(meta: PartitionState): Step {
    const due = new Map<string, number | undefined>();
    for (const user of [...this.#profiles.keys(), ...this.#touched]) {
      const profile = this.get(user);
      due.set(user, profile && this.definitions.dueAt(profile, this.nowMs));
    }
    return {
      profiles: this.#profiles,
      due,
      touched: { users: [...this.#touched], intervalsMs: this.definitions.intervals },
      ...(this.#synced && { synced: this.#synced }),
      moves: this.#moves,
      tells: this.#tells,
      refused: this.refused,
      meta: { ...meta, told: this.#lastSent },
    };
  }
}
