import { stringifyJson } from '../../../shared/json/json';
import { type Json, type JsonObject } from '../../../shared/model/message';
import { type Counter } from '../definitions/aggregates';
import { ProfileSizeLimit } from './size-limits';
import { countsFor, type TrustedSources } from '../definitions/trusted-sources';

/**
 * The data of one user: pure, and immutable. Stored with short names (profile-codec.ts).
 *
 * Traits are kept per source with their times. The latest call therefore wins in any order of
 * arrival, and a message that is applied twice changes nothing.
 */
export interface Profile {
  /** source → name → value and the time of the call that set it (ms since 1970) */
  traits?: Record<string, Traits>;
  /** by `CounterSpec.id` */
  counters?: Record<string, Counter>;
  /** the last sent value, by the id of its definition */
  sentValues?: Record<string, SentValue>;
  /** by the id of the audience: number of the upload, and whether the user is in or out */
  uploadedMemberships?: Record<string, [upload: number, listed: 0 | 1]>;
  /**
   * no present user: moved to another id, or created by a second reading (partition-state.ts),
   * whose user may be deleted
   */
  absent?: 1;
  /** a change was refused because of its size (size-limits.ts), or by Kafka (write-step.ts) */
  full?: 1;
}

type Traits = Record<string, [value: Json, atMs: number]>;

/**
 * The value that receivers have, its `timestamp` (ms since 1970), and its position among the sent
 * values.
 */
export type SentValue = [value: Json, atMs: number, sequence: number];

/** Limit of a trait's value as JSON, in characters. */
const MAX_TRAIT_LENGTH = 1_024;
/** Limit of a trait's name, in bytes of UTF-8. */
const MAX_NAME_BYTES = 256;

/**
 * Sets the traits of an identify. @returns the new profile, or the same object if nothing changes
 */
export function withTraits(
  profile: Profile,
  source: string,
  {
    traits,
    atMs,
    sizeLimit = new ProfileSizeLimit(profile),
  }: { traits: JsonObject; atMs: number; sizeLimit?: ProfileSizeLimit | undefined },
): Profile {
  const before = profile.traits?.[source] ?? {};
  const after: Traits = { ...before };
  let changed = false;
  for (const [name, value] of Object.entries(traits)) {
    // As a key it would set the prototype, not a trait.
    if (name === '__proto__') continue;
    const known = own(before, name);
    if (known && (known[1] > atMs || (known[1] === atMs && sameJson(known[0], value)))) continue;
    if (
      Buffer.byteLength(name) > MAX_NAME_BYTES ||
      stringifyJson(value).length > MAX_TRAIT_LENGTH
    ) {
      continue;
    }
    const set: Traits[string] = [value, atMs];
    if (!sizeLimit.takeTrait(source, name, known, set)) continue;
    after[name] = set;
    changed = true;
  }
  return changed ? { ...profile, traits: { ...profile.traits, [source]: after } } : profile;
}

/** Sets all traits to null, as of the time when they were set. */
export function withoutValues(traits: Traits): Traits {
  return Object.fromEntries(Object.entries(traits).map(([name, [, atMs]]) => [name, [null, atMs]]));
}

/**
 * Returns the traits of one user as conditions see them: for each name the latest of a server
 * source, or the latest of a browser source if no server source set it. A trait that was set to
 * null is absent.
 */
export function traitsOf(profile: Profile, sources: TrustedSources): JsonObject {
  const latest = latestOf(
    profile,
    (source) => countsFor(sources, source) && !sources.browser.has(source),
  );
  if (sources.browser.size > 0) {
    const theirs = latestOf(
      profile,
      (source) => countsFor(sources, source) && sources.browser.has(source),
    );
    for (const [name, entry] of theirs) if (!latest.has(name)) latest.set(name, entry);
  }
  const present = [...latest].filter(([, [value]]) => value !== null);
  return Object.fromEntries(present.map(([name, [value]]) => [name, value]));
}

function latestOf(
  profile: Profile,
  counts: (source: string) => boolean,
): Map<string, Traits[string]> {
  const latest = new Map<string, Traits[string]>();
  for (const [source, traits] of Object.entries(profile.traits ?? {})) {
    if (!counts(source)) continue;
    for (const [name, entry] of Object.entries(traits)) {
      const known = latest.get(name);
      if (!known || entry[1] >= known[1]) latest.set(name, entry);
    }
  }
  return latest;
}

/** Reads a trait, whose name may also be a property of every object. */
function own(traits: Traits | undefined, name: string): Traits[string] | undefined {
  return traits && Object.hasOwn(traits, name) ? traits[name] : undefined;
}

/** Merges the traits of two profiles: for each name and source the later one. */
export function mergeTraits(
  into: Profile,
  from: Profile,
  sizeLimit = new ProfileSizeLimit(into),
): Profile {
  let merged = into;
  for (const [source, traits] of Object.entries(from.traits ?? {})) {
    for (const [name, [value, atMs]] of Object.entries(traits)) {
      // At equal times, the user's own trait stays.
      const known = own(merged.traits?.[source], name);
      if (!known || known[1] < atMs) {
        merged = withTraits(merged, source, { traits: { [name]: value }, atMs, sizeLimit });
      }
    }
  }
  return merged;
}

/**
 * Returns the profile, or a new one. A second reading marks new profiles, since their user may be
 * deleted.
 */
export function orNew(profile: Profile | undefined, pass: number | undefined): Profile {
  if (!profile) return pass === undefined ? {} : { absent: 1 };
  if (pass !== undefined || !profile.absent) return profile;
  const { absent: _, ...rest } = profile;
  return rest;
}

/** Drops a profile without a present user once nothing is stored for it. */
export function dropIfEmpty(profile: Profile): Profile | null {
  const { absent, full: _, ...own } = profile;
  return absent && isEmpty(own) ? null : profile;
}

/** Returns whether no data is left in it. */
function isEmpty({ traits, counters, sentValues, uploadedMemberships }: Profile): boolean {
  const parts = [traits, counters, sentValues, uploadedMemberships];
  return parts.every((part) => part === undefined || Object.keys(part).length === 0);
}

/**
 * Marks a profile as full after a refused change. @returns the same object if it is marked already,
 * or nothing was refused
 */
export function markedFull(profile: Profile, full: boolean): Profile {
  return full && !profile.full ? { ...profile, full: 1 } : profile;
}

/**
 * Returns whether two values are the same JSON. The order of keys counts; both come from the same
 * writer.
 */
export function sameJson(a: Json, b: Json): boolean {
  return a === b || (typeof a === 'object' && stringifyJson(a) === stringifyJson(b));
}
