import { defined } from '../../../shared/collections/defined';
import { count, type Counter, mergeCounters } from '../definitions/aggregates';
import { isLate, profilesOrigin, type Incoming, type ProfileEvent } from '../repartition/event';
import { type Definition, type Definitions, ownerOf } from '../definitions/compile';
import { type ChangeSet } from './change-set';
import { markedFull, mergeTraits, orNew, type Profile, dropIfEmpty, withTraits } from './profile';
import { type ProfileSizeLimit } from './size-limits';

/** Applies one event to the profiles of a change set. It changes nothing else. */

/** Returns whether a definition counts in this reading. */
type IsWanted = (definition: Definition) => boolean;

interface Counting {
  offset: number;
  nowMs: number;
  wanted: IsWanted;
  sizeLimit: ProfileSizeLimit;
}

/** One event, and the definitions that it counts for. */
export interface Application {
  changes: ChangeSet;
  record: Incoming;
  nowMs: number;
  wanted: IsWanted;
  /** number of the second reading; absent: the live reading */
  pass?: number;
}

interface Context {
  definitions: Definitions;
  partition: number;
}

export function applyRecord(
  { changes, record, nowMs, wanted, pass }: Application,
  context: Context,
): void {
  const { user, event, offset } = record;
  const set = (before: Profile, after: Profile, sizeLimit: ProfileSizeLimit) => {
    if (sizeLimit.full) changes.refused++;
    const kept = markedFull(after, sizeLimit.full);
    if (kept !== (pass === undefined ? changes.get(user) : before)) changes.set(user, kept);
  };
  switch (event.kind) {
    case 'track': {
      const before = orNew(changes.get(user), pass);
      const sizeLimit = changes.sizeLimit(user, before, event.source);
      set(before, counted(context, before, event, { offset, nowMs, wanted, sizeLimit }), sizeLimit);
      return;
    }
    case 'identify': {
      if (pass !== undefined) return;
      const before = orNew(changes.get(user), pass);
      const sizeLimit = changes.sizeLimit(user, before, event.source);
      set(
        before,
        withTraits(before, event.source, { traits: event.traits, atMs: event.atMs, sizeLimit }),
        sizeLimit,
      );
      return;
    }
    case 'alias': {
      const origin = { name: profilesOrigin(context.partition, pass), offset };
      const { moved, remaining } = splitProfile(context, changes.get(user), wanted, pass);
      if (pass === undefined || moved.c) {
        changes.move({
          from: user,
          user: event.to,
          event: { kind: 'merge', profile: moved },
          origin,
        });
      }
      if (changes.get(user)) changes.set(user, remaining);
      return;
    }
    case 'delete': {
      const profile = changes.get(user);
      if (profile) {
        changes.set(
          user,
          pass === undefined ? null : splitProfile(context, profile, wanted, pass).remaining,
        );
      }
      return;
    }
    case 'merge': {
      const known = changes.get(user);
      // Records moved by a second reading come late. Their user may have been moved or deleted
      // since.
      if (isLate(record) && (!known || known.g)) return;
      const before = orNew(known, pass);
      const sizeLimit = changes.sizeLimit(user, before);
      const withTheirs =
        pass === undefined ? mergeTraits(before, event.profile, sizeLimit) : before;
      set(
        before,
        merged(context, withTheirs, event.profile, { offset, nowMs, wanted, sizeLimit }),
        sizeLimit,
      );
      return;
    }
    case 'listed':
    case 'uploaded':
      return;
  }
}

function counted(
  context: Context,
  profile: Profile,
  event: Extract<ProfileEvent, { kind: 'track' }>,
  { wanted, sizeLimit, ...at }: Counting,
): Profile {
  let c: Record<string, Counter> | undefined;
  for (const { definition, spec } of context.definitions.countersOf(event.event)) {
    const before = profile.c?.[spec.id];
    const counter = wanted(definition) ? count(spec, before, event, at) : undefined;
    if (counter && sizeLimit.takeCounter(spec.id, before, counter)) {
      (c ??= { ...profile.c })[spec.id] = counter;
    }
  }
  return c ? { ...profile, c } : profile;
}

function merged(
  context: Context,
  profile: Profile,
  from: Profile,
  { wanted, sizeLimit, ...at }: Counting,
): Profile {
  let c: Record<string, Counter> | undefined;
  for (const [id, counter] of Object.entries(from.c ?? {})) {
    const [spec, definition] = [
      context.definitions.spec(id),
      context.definitions.of(ownerOf(id).id),
    ];
    const both =
      spec && definition && wanted(definition)
        ? mergeCounters(spec, profile.c?.[id], counter, at)
        : undefined;
    if (both && sizeLimit.takeCounter(id, profile.c?.[id], both)) {
      (c ??= { ...profile.c })[id] = both;
    }
  }
  return c ? { ...profile, c } : profile;
}

/**
 * Returns the parts that an alias moves: the traits, by the live reading, and the counters that this
 * reading counts. The other reading moves its own counters when it comes to the alias.
 */
function splitProfile(
  context: Context,
  profile: Profile | undefined,
  wanted: IsWanted,
  pass: number | undefined,
) {
  const { t, c = {}, s } = profile ?? {};
  const isCounted = (id: string) => {
    const definition = context.definitions.of(ownerOf(id).id);
    return (
      definition !== undefined && wanted(definition) && context.definitions.spec(id) !== undefined
    );
  };
  const part = (which: boolean) =>
    Object.fromEntries(Object.entries(c).filter(([id]) => isCounted(id) === which));
  const [moved, kept] = [part(true), part(false)];
  if (pass === undefined) {
    // The values last sent for the old id are kept, in case a user has this id again.
    const remaining = dropIfEmpty({ ...defined({ s }), c: kept, g: 1 });
    return { moved: { ...defined({ t }), c: moved }, remaining };
  }
  const remaining = profile ? dropIfEmpty({ ...profile, c: kept }) : null;
  return { moved: Object.keys(moved).length > 0 ? { c: moved } : {}, remaining };
}
