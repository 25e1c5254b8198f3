import { count, type Counter, mergeCounters } from '../definitions/aggregates';
import { isLate, profilesOrigin } from '../repartition/cursor';
import { type Definition, type Definitions, ownerOf } from '../definitions/compile';
import { type ChangeSet } from './change-set';
import { type Incoming, type ProfileEvent } from '../repartition/event';
import { markedFull, mergeTraits, orNew, type Profile, dropIfEmpty, withTraits } from './profile';
import { type ProfileSizeLimit } from './size-limits';

/** Applies one event to the profiles of a change set. It changes nothing else. */

/** Returns whether a definition counts in this reading. */
type Wanted = (definition: Definition) => boolean;

interface Counting {
  offset: number;
  nowMs: number;
  wanted: Wanted;
  room: ProfileSizeLimit;
}

/** One event, and the definitions that it counts for. */
export interface Application {
  draft: ChangeSet;
  record: Incoming;
  nowMs: number;
  wanted: Wanted;
  /** number of the second reading; absent: the live reading */
  pass?: number;
}

interface Around {
  definitions: Definitions;
  partition: number;
}

export function applyRecord({ draft, record, nowMs, wanted, pass }: Application, around: Around): void {
  const { user, event, offset } = record;
  const set = (before: Profile, after: Profile, room: ProfileSizeLimit) => {
    if (room.full) draft.refused++;
    const kept = markedFull(after, room.full);
    if (kept !== (pass === undefined ? draft.get(user) : before)) draft.set(user, kept);
  };
  switch (event.kind) {
    case 'track': {
      const before = orNew(draft.get(user), pass);
      const room = draft.room(user, before, event.source);
      set(before, counted(around, before, event, { offset, nowMs, wanted, room }), room);
      return;
    }
    case 'identify': {
      if (pass !== undefined) return;
      const before = orNew(draft.get(user), pass);
      const room = draft.room(user, before, event.source);
      set(before, withTraits(before, event.source, { traits: event.traits, atMs: event.atMs, room }), room);
      return;
    }
    case 'alias': {
      const origin = { name: profilesOrigin(around.partition, pass), offset };
      const { moved, left } = taken(around, draft.get(user), wanted, pass);
      if (pass === undefined || moved.c)
        draft.move({ from: user, user: event.to, event: { kind: 'merge', profile: moved }, origin });
      if (draft.get(user)) draft.set(user, left);
      return;
    }
    case 'delete':
      if (draft.get(user))
        draft.set(user, pass === undefined ? null : taken(around, draft.get(user), wanted, pass).left);
      return;
    case 'merge': {
      const known = draft.get(user);
      // Records moved by a second reading come late. Their user may have been moved or deleted since.
      if (isLate(record) && (!known || known.g)) return;
      const before = orNew(known, pass);
      const room = draft.room(user, before);
      const withTheirs = pass === undefined ? mergeTraits(before, event.profile, room) : before;
      set(before, merged(around, withTheirs, event.profile, { offset, nowMs, wanted, room }), room);
      return;
    }
    case 'listed':
      return;
  }
}

function counted(
  around: Around,
  profile: Profile,
  event: Extract<ProfileEvent, { kind: 'track' }>,
  { wanted, room, ...at }: Counting,
): Profile {
  let c: Record<string, Counter> | undefined;
  for (const { definition, spec } of around.definitions.countersOf(event.event)) {
    const before = profile.c?.[spec.id];
    const counter = wanted(definition) ? count(spec, before, event, at) : undefined;
    if (counter && room.takeCounter(spec.id, before, counter)) (c ??= { ...profile.c })[spec.id] = counter;
  }
  return c ? { ...profile, c } : profile;
}

function merged(around: Around, profile: Profile, from: Profile, { wanted, room, ...at }: Counting): Profile {
  let c: Record<string, Counter> | undefined;
  for (const [id, counter] of Object.entries(from.c ?? {})) {
    const [spec, definition] = [around.definitions.spec(id), around.definitions.of(ownerOf(id).id)];
    const both =
      spec && definition && wanted(definition) ? mergeCounters(spec, profile.c?.[id], counter, at) : undefined;
    if (both && room.takeCounter(id, profile.c?.[id], both)) (c ??= { ...profile.c })[id] = both;
  }
  return c ? { ...profile, c } : profile;
}

/** Returns the parts that an alias moves. In a second reading these are only its own counters. */
function taken(around: Around, profile: Profile | undefined, wanted: Wanted, pass: number | undefined) {
  const { t, c = {}, s } = profile ?? {};
  // The values last sent for the old id are kept, in case a user has this id again.
  if (pass === undefined) return { moved: { ...(t && { t }), c }, left: s ? { s, g: 1 as const } : null };
  const mine = (id: string) => {
    const definition = around.definitions.of(ownerOf(id).id);
    return definition !== undefined && wanted(definition) && around.definitions.spec(id) !== undefined;
  };
  const part = (which: boolean) => Object.fromEntries(Object.entries(c).filter(([id]) => mine(id) === which));
  const [moved, kept] = [part(true), part(false)];
  const left = profile ? dropIfEmpty({ ...profile, c: kept }) : null;
  return { moved: Object.keys(moved).length > 0 ? { c: moved } : {}, left };
}
