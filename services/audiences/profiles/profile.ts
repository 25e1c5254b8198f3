import { type Json, type JsonObject } from '../../../shared/model/message';
import { type Counter } from '../definitions/aggregates';
import { ProfileSizeLimit } from './size-limits';
import { countsFor, type TrustedSources } from '../definitions/trusted-sources';

/**
 * What is known of one user: pure. The keys are short, since it is written again with each change; it is JSON in the
 * store and in the changelog alike.
 *
 * Traits are kept per source with their times, so that whatever order sources arrive in, the latest call wins, and a
 * message that is applied twice changes nothing.
 */
export interface Profile {
  /** traits: source → name → value and the time of the call that set it (ms since 1970) */
  t?: Record<string, Traits>;
  /** counters by `CounterSpec.id` */
  c?: Record<string, Counter>;
  /** what was told last, by the id of its definition */
  s?: Record<string, SentValue>;
  /** membership from elsewhere, by the id of its audience: number of the upload that said so, and whether in or out */
  l?: Record<string, [upload: number, listed: 0 | 1]>;
  /** nobody at present: moved to another id, or made by a second reading of the log (partition-state.ts), which may be of one who is gone */
  g?: 1;
  /** full: something was refused because of its size (size-limits.ts), or because Kafka did not take it (write-step.ts) */
  f?: 1;
}

type Traits = Record<string, [value: Json, atMs: number]>;

/** The value that receivers know, the `timestamp` it was told with (ms since 1970), and its place among what was told. */
export type SentValue = [value: Json, atMs: number, sequence: number];

/** Of a trait's value as JSON, in characters. */
const MAX_TRAIT_LENGTH = 1_024;
/** Of a trait's name, in bytes of UTF-8. */
const MAX_NAME_BYTES = 256;

/** Sets the traits of an identify. @returns the profile with them: the same one where nothing changes */
export function withTraits(
  profile: Profile,
  source: string,
  {
    traits,
    atMs,
    room = new ProfileSizeLimit(profile),
  }: { traits: JsonObject; atMs: number; room?: ProfileSizeLimit | undefined },
): Profile {
  const before = profile.t?.[source] ?? {};
  const after: Traits = { ...before };
  let changed = false;
  for (const [name, value] of Object.entries(traits)) {
    // As a key it would be no trait but a prototype.
    if (name === '__proto__') continue;
    const known = own(before, name);
    if (known && (known[1] > atMs || (known[1] === atMs && sameJson(known[0], value)))) continue;
    if (Buffer.byteLength(name) > MAX_NAME_BYTES || JSON.stringify(value).length > MAX_TRAIT_LENGTH) continue;
    const set: Traits[string] = [value, atMs];
    if (!room.takeTrait(source, name, known, set)) continue;
    after[name] = set;
    changed = true;
  }
  return changed ? { ...profile, t: { ...profile.t, [source]: after } } : profile;
}

/**
 * The traits of one user as conditions see them: of each name the latest of a server source, or else of a browser source. A
 * trait that was set to null is absent.
 */
export function traitsOf(profile: Profile, sources: TrustedSources): JsonObject {
  const latest = latestOf(profile, (source) => countsFor(sources, source) && !sources.browser.has(source));
  if (sources.browser.size > 0) {
    const theirs = latestOf(profile, (source) => countsFor(sources, source) && sources.browser.has(source));
    for (const [name, entry] of theirs) if (!latest.has(name)) latest.set(name, entry);
  }
  const present = [...latest].filter(([, [value]]) => value !== null);
  return Object.fromEntries(present.map(([name, [value]]) => [name, value]));
}

function latestOf(profile: Profile, counts: (source: string) => boolean): Map<string, Traits[string]> {
  const latest = new Map<string, Traits[string]>();
  for (const [source, traits] of Object.entries(profile.t ?? {})) {
    if (!counts(source)) continue;
    for (const [name, entry] of Object.entries(traits)) {
      const known = latest.get(name);
      if (!known || entry[1] >= known[1]) latest.set(name, entry);
    }
  }
  return latest;
}

/** A trait may have the name of what all objects have. */
function own(traits: Traits | undefined, name: string): Traits[string] | undefined {
  return traits && Object.hasOwn(traits, name) ? traits[name] : undefined;
}

/** Traits of both; of each name and source the later. */
export function mergeTraits(into: Profile, from: Profile, room = new ProfileSizeLimit(into)): Profile {
  let merged = into;
  for (const [source, traits] of Object.entries(from.t ?? {})) {
    for (const [name, [value, atMs]] of Object.entries(traits)) {
      // What is known at the same time stays: it is the user's own.
      const known = own(merged.t?.[source], name);
      if (!known || known[1] < atMs) merged = withTraits(merged, source, { traits: { [name]: value }, atMs, room });
    }
  }
  return merged;
}

/** The profile, or a new one. One that a second reading makes is marked: its user may have gone since. */
export function orNew(profile: Profile | undefined, pass: number | undefined): Profile {
  if (!profile) return pass === undefined ? {} : { g: 1 };
  if (pass !== undefined || !profile.g) return profile;
  const { g: _, ...rest } = profile;
  return rest;
}

/** One who is nobody is there for the sake of what is kept of them. */
export function dropIfEmpty(profile: Profile): Profile | null {
  const { g, f: _, ...own } = profile;
  return g && isEmpty(own) ? null : profile;
}

/** Nothing is left of it that anybody asks for. */
function isEmpty({ t, c, s, l }: Profile): boolean {
  return [t, c, s, l].every((part) => part === undefined || Object.keys(part).length === 0);
}

/** Notes that something of the user was refused. @returns the same profile where that is noted, or nothing was refused */
export function markedFull(profile: Profile, full: boolean): Profile {
  return full && !profile.f ? { ...profile, f: 1 } : profile;
}

/** Profiles are never changed but replaced: what goes to the changelog and to the store is made once. */
const encoded = new WeakMap<Profile, Buffer>();

export function encodeProfile(profile: Profile): Buffer {
  let bytes = encoded.get(profile);
  if (!bytes) encoded.set(profile, (bytes = Buffer.from(JSON.stringify(profile))));
  return bytes;
}

/** Of what was written here: it is not checked again. */
export function decodeProfile(bytes: Buffer): Profile {
  return JSON.parse(bytes.toString()) as Profile;
}

/** One that is to be written as it is. @param bytes must stay as they are meanwhile */
export function decodeToCopy(bytes: Buffer): Profile {
  const profile = decodeProfile(bytes);
  encoded.set(profile, bytes);
  return profile;
}

/** Whether two values are the same JSON; of objects the order of keys counts, which both have from the same writer. */
export function sameJson(a: Json, b: Json): boolean {
  return a === b || (typeof a === 'object' && JSON.stringify(a) === JSON.stringify(b));
}
