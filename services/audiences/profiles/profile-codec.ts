import { parseJson, stringifyJson } from '../../../shared/json/json';
import { type Counter } from '../definitions/aggregates';
import { type Profile } from './profile';

/**
 * Profiles as JSON in the store, in the changelog and in `profiles.events`. Their fields have short
 * names there, since each change writes the whole profile again.
 */

/** A profile whose fields have their short names. It shares their values, and all buckets. */
export type StoredProfile = Record<string, unknown>;

const SHORT_NAMES: Readonly<Record<string, string>> = {
  traits: 't',
  counters: 'c',
  sentValues: 's',
  uploadedMemberships: 'l',
  absent: 'g',
  full: 'f',
} satisfies Record<keyof Profile, string>;
const NAMES = Object.fromEntries(Object.entries(SHORT_NAMES).map(([name, short]) => [short, name]));

/** The last counted event, and the buckets. */
interface StoredCounter {
  o: Counter['last'];
  b: Counter['buckets'];
}

export function storedProfile(profile: Profile): StoredProfile {
  const stored = renamed(profile, SHORT_NAMES);
  if (profile.counters) stored.c = ofEach(profile.counters, storedCounter);
  return stored;
}

/** Reads a profile without validation, since this service wrote it. */
export function profileOf(stored: StoredProfile): Profile {
  const profile: Profile = renamed(stored, NAMES);
  if (stored.c) profile.counters = ofEach(stored.c as Record<string, StoredCounter>, counterOf);
  return profile;
}

function storedCounter({ last, buckets }: Counter): StoredCounter {
  return { o: last, b: buckets };
}

function counterOf({ o, b }: StoredCounter): Counter {
  return { last: o, buckets: b };
}

// Both functions run for each read and each write: `Object.entries` would take longer.

/** Keeps the order of the fields. */
function renamed(from: object, names: Readonly<Record<string, string>>): Record<string, unknown> {
  const values = from as Record<string, unknown>;
  const to: Record<string, unknown> = {};
  for (const name in values) to[names[name] ?? name] = values[name];
  return to;
}

function ofEach<T, U>(from: Readonly<Record<string, T>>, convert: (value: T) => U) {
  const to: Record<string, U> = {};
  for (const id in from) to[id] = convert(from[id] as T);
  return to;
}

/** Profiles are immutable, so each is encoded only once, for both the changelog and the store. */
const encoded = new WeakMap<Profile, Buffer>();

export function encodeProfile(profile: Profile): Buffer {
  let bytes = encoded.get(profile);
  if (!bytes) {
    encoded.set(profile, (bytes = Buffer.from(stringifyJson(storedProfile(profile)))));
  }
  return bytes;
}

export function decodeProfile(bytes: Buffer): Profile {
  return profileOf(parseJson(bytes.toString()) as StoredProfile);
}

/** Decodes a profile that will be written unchanged. @param bytes must not change until then */
export function decodeToCopy(bytes: Buffer): Profile {
  const profile = decodeProfile(bytes);
  encoded.set(profile, bytes);
  return profile;
}
