import { type CounterSpec } from '../../../services/audiences/definitions/aggregates';
import { type Incoming, type ProfileEvent } from '../../../services/audiences/repartition/event';
import { type Json, type JsonObject } from '../../../shared/model/message';
import { type UploadedEvent } from '../../../shared/model/profile-records';

/** The calls of a user. */
interface Facts {
  tracks: (Extract<ProfileEvent, { kind: 'track' }> & {
    /** the sources of later deletions: who counts one of them starts anew */
    erasedFor?: string[];
  })[];
  identifies: Extract<ProfileEvent, { kind: 'identify' }>[];
  /** uploaded membership: the number of the upload, and whether it lists the user */
  listed?: [upload: number, listed: boolean];
}

interface NaiveDeletion {
  userId: string;
  at: number;
  sources: string[] | null;
}

/**
 * Returns all users, from the first record of each origin and of each call. Moves wait for the
 * records that they bring.
 */
export function naiveUsers(
  log: readonly (readonly Incoming[])[],
  deletions: readonly NaiveDeletion[] = [],
): Map<string, Facts> {
  const users = new Map<string, Facts>();
  const moved = new Map<string, Facts>();
  const of = (user: string) =>
    users.get(user) ?? users.set(user, { tracks: [], identifies: [] }).get(user)!;
  const seen = new Set<string>();
  const next = log.map(() => 0);
  /** lines of uploads that have not ended, by user and upload */
  const lines = new Map<string, Map<string, boolean>>();
  const endUpload = (p: number, { upload, number }: UploadedEvent) => {
    for (const [user, own] of lines) {
      const line = own.get(upload);
      const isHere = log[p]!.some((each) => each.user === user);
      if (line === undefined || !isHere) continue;
      if ((of(user).listed?.[0] ?? 0) <= number) of(user).listed = [number, line];
    }
  };
  const step = (p: number): boolean => {
    const record = log[p]![next[p]!];
    if (!record) return false;
    const { user, event, origin, call } = record;
    const copy = call && `${call.ref.high}:${call.ref.low}`;
    const place = origin && `${origin.name}:${origin.offset}`;
    const bringsAgain = origin !== undefined && /^p\d+\./.test(origin.name);
    if (bringsAgain || (place && seen.has(`${place}>${p}`)) || (copy && seen.has(copy))) {
      return (next[p]!++, true);
    }
    if (event.kind === 'merge' && !moved.has(place!)) return false;
    next[p]!++;
    if (place) seen.add(`${place}>${p}`);
    if (copy) seen.add(copy);
    const later = deletions.filter(
      ({ userId, at }) => userId === user && (record.acceptedAt ?? Infinity) < at,
    );
    const isGone = later.some(({ sources }) => sources === null);
    const isOfDeleted = (source: string) => later.some(({ sources }) => sources?.includes(source));
    if (event.kind === 'listed' && !isGone) {
      lines.set(user, new Map(lines.get(user)).set(event.upload, event.listed));
    }
    if (event.kind === 'uploaded') endUpload(p, event);
    if (event.kind === 'track' && !isGone) {
      const { tracks } = of(user);
      if (!isOfDeleted(event.source)) tracks.push(event);
    }
    if (event.kind === 'identify' && !isGone) {
      of(user).identifies.push(isOfDeleted(event.source) ? withoutValues(event) : event);
    }
    if (event.kind === 'delete') {
      const { sources } = event;
      if (sources === null) {
        users.delete(user);
        lines.delete(user);
      } else if (users.has(user)) users.set(user, without(of(user), sources));
    }
    if (event.kind === 'alias') {
      moved.set(`p${p}:${record.offset}`, users.get(user) ?? { tracks: [], identifies: [] });
      users.delete(user);
    }
    if (event.kind === 'merge' && !isGone) {
      const sources = later.flatMap((each) => each.sources ?? []);
      const { tracks, identifies } = without(moved.get(place!)!, sources);
      of(user).tracks.push(...tracks);
      of(user).identifies.push(...identifies);
    }
    return true;
  };
  while (log.some((_, p) => step(p)));
  return users;
}

function without({ tracks, identifies, ...rest }: Facts, sources: string[]): Facts {
  return {
    ...rest,
    tracks: tracks.map((each) => ({ ...each, erasedFor: [...(each.erasedFor ?? []), ...sources] })),
    identifies: identifies.map((each) =>
      sources.includes(each.source) ? withoutValues(each) : each,
    ),
  };
}

function withoutValues(event: Facts['identifies'][number]): Facts['identifies'][number] {
  const names = Object.keys(event.traits);
  return { ...event, traits: Object.fromEntries(names.map((name) => [name, null])) };
}

/** Returns traits, by the time of their calls. */
export function naiveTraits({ identifies }: Facts): JsonObject {
  const inOrder = [...identifies].sort((a, b) => a.atMs - b.atMs);
  return Object.assign({}, ...inOrder.map(({ traits }) => traits)) as JsonObject;
}

/** Returns the value of a counter over all of a user's events. */
export function naiveCount(spec: CounterSpec, { tracks }: Facts, nowMs: number): Json {
  const width = spec.windowMs === undefined ? 1 : Math.ceil(spec.windowMs / 64 / 1_000) * 1_000;
  const since =
    spec.windowMs === undefined ? -Infinity : Math.floor((nowMs - spec.windowMs) / width) * width;
  const values = tracks
    .filter(({ event, atMs }) => event === spec.event && atMs >= since)
    .sort((a, b) => a.atMs - b.atMs)
    .map(({ properties }) => (spec.property === undefined ? null : properties[spec.property]));
  const numbers = values.filter((value) => typeof value === 'number');
  switch (spec.compute) {
    case 'count':
      return values.length;
    case 'sum':
      return numbers.reduce((sum, value) => sum + value, 0);
    case 'min':
      return numbers.length > 0 ? Math.min(...numbers) : null;
    case 'max':
      return numbers.length > 0 ? Math.max(...numbers) : null;
    case 'first':
      return numbers[0] ?? null;
    case 'last':
      return numbers.at(-1) ?? null;
    case 'unique':
      return [...new Set(numbers)].sort((a, b) => a - b);
    case 'most_frequent': {
      const times = (value: number) => numbers.filter((other) => other === value).length;
      return [...new Set(numbers)].sort((a, b) => times(b) - times(a) || a - b)[0] ?? null;
    }
  }
}

/**
 * Returns whether uploads make a user a member: the last one that names him, since the last set.
 */
export function naiveListed(
  { listed }: Facts,
  log: readonly (readonly Incoming[])[],
  audience: string,
): boolean {
  const sets = log.flat().flatMap(({ event }) => {
    return event.kind === 'uploaded' && event.audience === audience && event.full
      ? event.number
      : [];
  });
  return listed?.[1] === true && listed[0] >= Math.max(0, ...sets);
}
