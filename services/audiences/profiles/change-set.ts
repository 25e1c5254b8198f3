import { defined } from '../../../shared/collections/defined';
import { type Json } from '../../../shared/model/message';
import { type Definitions } from '../definitions/compile';
import { type Origin, type ProfileEvent } from '../repartition/event';
import { type PartitionState } from './partition-state';
import { markedFull, type Profile, type SentValue } from './profile';
import { encodeProfile } from './profile-codec';
import {
  MAX_BROWSER_PROFILE_BYTES,
  MAX_PROFILE_BYTES,
  MAX_BYTES_WITH_SENT_VALUES,
  ProfileSizeLimit,
} from './size-limits';

/** The profiles of one partition, as the engine reads and writes them. */
export interface ProfileReader {
  get(user: string): Profile | undefined;
  /** ids after `after`, in order */
  users(after: string | undefined, limit: number): string[];
  /** users touched after a place in the order of all touches, each only at the last one */
  touched(after: number, limit: number): Touch[];
  /** the place of the last touch */
  readonly lastTouch: number;
  /** the place up to which each definition has checked users */
  readonly synced: Readonly<Record<string, number>>;
  /** users whose value changed because a time window expired */
  due(nowMs: number, limit: number): string[];
  /** Writes the whole step, or nothing. @param records number of its records in the changelog */
  write(step: Step, records?: number): void;
}

interface Touch {
  place: number;
  user: string;
}

/** A changed value to send for one user. */
export interface ValueChange {
  /** position among all values that this partition sends */
  sequence: number;
  user: string;
  definition: string;
  value: Json;
  /** `timestamp`, ms since 1970 */
  atMs: number;
}

/** The changes to write and send together. */
export interface Step {
  /** the changed profiles; null: deleted */
  profiles: ReadonlyMap<string, Profile | null>;
  /** when each changed or checked user is due; undefined: never */
  due: ReadonlyMap<string, number | undefined>;
  /** to be checked by the next sync of each definition */
  touched: ReadonlySet<string>;
  synced?: Synced;
  moves: readonly Move[];
  valueChanges: readonly ValueChange[];
  /** changes that did not fit into a profile */
  refused: number;
  meta: PartitionState;
}

/** The progress of a sync. */
export interface Synced {
  /** of each definition that sends values: the place up to which it has checked users */
  places: Readonly<Record<string, number>>;
  /** how many users each definition checked in this step */
  looked: Readonly<Record<string, number>>;
}

/** An event for a user of any partition. */
export interface Move {
  /** the user whose profile it takes along */
  from: string;
  user: string;
  event: ProfileEvent;
  origin: Origin;
  /** when ingest accepted the call that moves it, ms since 1970 */
  acceptedAt?: number | undefined;
}

/** A step under construction. */
export class ChangeSet {
  readonly #profiles = new Map<string, Profile | null>();
  /**
   * as stored. Each is read only once, so that an unchanged profile is recognised by its identity.
   */
  readonly #read = new Map<string, Profile | undefined>();
  /** users with events from a browser source */
  readonly #browserUsers = new Set<string>();
  readonly #touched = new Set<string>();
  readonly #moves: Move[] = [];
  readonly #valueChanges: ValueChange[] = [];
  /** changes that did not fit into a profile */
  refused = 0;
  #synced: Synced | undefined;
  #lastSent: number;

  constructor(
    private readonly store: ProfileReader,
    private readonly definitions: Definitions,
    private readonly nowMs: number,
    private readonly begin: {
      meta: PartitionState;
      /**
       * users whose profiles grew too large in a first computation; here each of their changes is
       * measured
       */
      measured?: ReadonlySet<string> | undefined;
    },
  ) {
    this.#lastSent = begin.meta.told;
  }

  /**
   * Returns the limit for additions of an event to a profile.
   * @param source absent: the event brings additions of other events
   */
  sizeLimit(user: string, before: Profile, source?: string): ProfileSizeLimit {
    const { browser } = this.definitions;
    const isBrowser = source !== undefined && browser.has(source);
    if (isBrowser) this.#browserUsers.add(user);
    if (!this.begin.measured?.has(user)) return new ProfileSizeLimit(before, browser);
    const most = isBrowser ? MAX_BROWSER_PROFILE_BYTES : MAX_PROFILE_BYTES;
    return new ProfileSizeLimit(before, browser, most - encodeProfile(before).length);
  }

  /**
   * Returns users whose profiles have grown beyond the limit. They are rare: profiles are therefore
   * measured only when they are encoded anyway, and for these users the step is computed a second
   * time.
   */
  tooLarge(): Set<string> {
    const users = new Set<string>();
    for (const [user, profile] of this.#profiles) {
      const bytes = profile ? encodeProfile(profile).length : 0;
      const most = this.#browserUsers.has(user) ? MAX_BROWSER_PROFILE_BYTES : MAX_PROFILE_BYTES;
      if (bytes <= (this.#valueChanges.length > 0 ? MAX_BYTES_WITH_SENT_VALUES : most)) continue;
      const before = this.#read.get(user) ?? this.store.get(user);
      if (!before || bytes > encodeProfile(before).length) users.add(user);
    }
    return users;
  }

  get(user: string): Profile | undefined {
    const changed = this.#profiles.get(user);
    if (changed !== undefined) return changed ?? undefined;
    if (this.#read.has(user)) return this.#read.get(user);
    const profile = this.store.get(user);
    this.#read.set(user, profile);
    return profile;
  }

  set(user: string, profile: Profile | null): void {
    this.#profiles.set(user, profile);
    this.#touched.add(user);
  }

  /** Sets a profile without a change to the values that are sent. */
  setQuietly(user: string, profile: Profile | null): void {
    this.#profiles.set(user, profile);
  }

  touch(user: string): void {
    this.#touched.add(user);
  }

  synced(synced: Synced): void {
    this.#synced = synced;
  }

  move(move: Move): void {
    this.#moves.push(move);
  }

  /**
   * Adds a value to send, and stores it in the profile. This does not touch the user, since it
   * changes no other value.
   */
  emit(user: string, definition: string, value: Json, atMs: number): void {
    const sequence = this.#lastSent + 1;
    const profile = this.get(user) ?? {};
    const after = {
      ...profile,
      sentValues: {
        ...profile.sentValues,
        [definition]: [value, atMs, sequence] as SentValue,
      },
    };
    if (
      this.begin.measured?.has(user) &&
      encodeProfile(after).length > MAX_BYTES_WITH_SENT_VALUES
    ) {
      this.refused++;
      this.setQuietly(user, markedFull(profile, true));
      return;
    }
    this.#lastSent = sequence;
    this.setQuietly(user, after);
    this.#valueChanges.push({ sequence, user, definition, value, atMs });
  }

  /** Adds the number of sent values to each definition. */
  count(meta: PartitionState): PartitionState {
    const defs = { ...meta.defs };
    for (const { definition } of this.#valueChanges) {
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
      touched: this.#touched,
      ...defined({ synced: this.#synced }),
      moves: this.#moves,
      valueChanges: this.#valueChanges,
      refused: this.refused,
      meta: { ...meta, told: this.#lastSent },
    };
  }
}
