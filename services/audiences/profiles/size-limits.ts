import { stringifyJson } from '../../../shared/json/json';
import { NO_SOURCES } from '../definitions/trusted-sources';

/**
 * Limit of a profile, as JSON in UTF-8. Kafka accepts records of 1 MiB, and a profile is one
 * record. The values sent to receivers may use more than this, so that a full profile still changes
 * its memberships.
 */
export const MAX_PROFILE_BYTES = 256 * 1024;
/** Limit for changes from browser sources. The other half is reserved for server sources. */
export const MAX_BROWSER_PROFILE_BYTES = MAX_PROFILE_BYTES / 2;
export const MAX_BYTES_WITH_SENT_VALUES = 512 * 1024;

/** Limit for one user over all sources. */
const MAX_TRAITS = 200;
/** Limit for all browser sources, so that a public write key cannot take all the room. */
const MAX_BROWSER_TRAITS = 50;

/**
 * Tracks the room left in one profile. An addition that does not fit is refused; the rest is kept.
 */
export class ProfileSizeLimit {
  /** an addition was refused because the profile is full */
  full = false;
  /** number of traits, counted when the first one is added */
  #traits: { all: number; browser: number } | undefined;

  /**
   * @param browser ids of the sources whose write keys are public
   * @param bytes room that is left; absent: enough
   */
  constructor(
    private readonly profile: { traits?: Record<string, object> },
    private readonly browser: ReadonlySet<string> = NO_SOURCES,
    private bytes = Infinity,
  ) {}

  /** Reserves the room for a change. A replacement that is not larger always fits. */
  take(before: unknown, after: unknown): boolean {
    if (this.bytes === Infinity) return true;
    const more = jsonBytes(after) - (before === undefined ? 0 : jsonBytes(before));
    if (more > 0 && more > this.bytes) return this.#refuse();
    this.bytes -= more;
    return true;
  }

  takeTrait(source: string, name: string, before: unknown, after: unknown): boolean {
    const traits = (this.#traits ??= this.#counted());
    const isBrowser = this.browser.has(source);
    const isFull = traits.all >= MAX_TRAITS || (isBrowser && traits.browser >= MAX_BROWSER_TRAITS);
    if (before === undefined && isFull) return this.#refuse();
    // A new name counts with the name of its source each time, though the source is written only
    // once.
    const [from, to] = before === undefined ? [undefined, [source, name, after]] : [before, after];
    if (!this.take(from, to)) return false;
    if (before === undefined) traits.all++;
    if (before === undefined && isBrowser) traits.browser++;
    return true;
  }

  /** A new counter counts with the long names of its fields, a few bytes more than are stored. */
  takeCounter(id: string, before: unknown, after: unknown): boolean {
    return before === undefined ? this.take(undefined, [id, after]) : this.take(before, after);
  }

  #counted(): { all: number; browser: number } {
    const counted = { all: 0, browser: 0 };
    for (const [source, traits] of Object.entries(this.profile.traits ?? {})) {
      const { length } = Object.keys(traits);
      counted.all += length;
      if (this.browser.has(source)) counted.browser += length;
    }
    return counted;
  }

  #refuse(): boolean {
    this.full = true;
    return false;
  }
}

function jsonBytes(value: unknown): number {
  return Buffer.byteLength(stringifyJson(value));
}
