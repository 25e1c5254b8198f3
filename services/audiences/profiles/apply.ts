import { defined } from '../../../shared/collections/defined';
import { type DeletedUsers } from '../../../shared/model/deletion';
import { type JsonObject } from '../../../shared/model/message';
import { count, type Counter, mergeCounters } from '../definitions/aggregates';
import { isLate, profilesOrigin, type Incoming, type ProfileEvent } from '../repartition/event';
import { type Definition, type Definitions, ownerOf } from '../definitions/compile';
import { countsFor } from '../definitions/trusted-sources';
import { type ChangeSet } from './change-set';
import {
  dropIfEmpty,
  markedFull,
  mergeTraits,
  orNew,
  type Profile,
  withoutValues,
  withTraits,
} from './profile';
import { type ProfileSizeLimit } from './size-limits';

/** Applies one event to the profiles of a change set. It changes nothing else. */

/** Returns whether a definition counts in this reading. */
type IsWanted = (definition: Definition) => boolean;

interface Counting {
  record: Incoming;
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

/** The deletions of users that this process knows. */
export type KnownDeletions = Pick<DeletedUsers, 'deletedSources' | 'add'>;

interface Context {
  definitions: Definitions;
  partition: number;
  deletions: KnownDeletions;
}

export function applyRecord(
  { changes, record, nowMs, wanted, pass }: Application,
  context: Context,
): void {
  const { user, event } = record;
  const deleted = deletedSourcesOf(record, context.deletions);
  // An alias brings nothing of its own: what was deleted before it is not there to be moved.
  if (deleted === 'all' && event.kind !== 'alias') return;
  const isDeleted = (source: string) => deleted !== 'all' && deleted.includes(source);
  const set = (before: Profile, after: Profile, sizeLimit: ProfileSizeLimit) => {
    if (sizeLimit.full) changes.refused++;
    const kept = markedFull(after, sizeLimit.full);
    if (kept !== (pass === undefined ? changes.get(user) : before)) changes.set(user, kept);
  };
  switch (event.kind) {
    case 'track': {
      const before = orNew(changes.get(user), pass);
      const sizeLimit = changes.sizeLimit(user, before, event.source);
      const counting = { record, nowMs, wanted, sizeLimit };
      const after = isDeleted(event.source) ? before : counted(context, before, event, counting);
      set(before, after, sizeLimit);
      return;
    }
    case 'identify': {
      if (pass !== undefined) return;
      const before = orNew(changes.get(user), pass);
      const sizeLimit = changes.sizeLimit(user, before, event.source);
      const { source, atMs } = event;
      // A deleted value still hides those that other sources set before.
      const traits = isDeleted(source) ? nullsFor(event.traits) : event.traits;
      set(before, withTraits(before, source, { traits, atMs, sizeLimit }), sizeLimit);
      return;
    }
    case 'alias': {
      const { offset, epoch, timestamp } = record;
      const origin = { name: profilesOrigin(context.partition, pass), offset, epoch, timestamp };
      const { moved, remaining } = splitProfile(context, changes.get(user), wanted, pass);
      if (pass === undefined || moved.counters) {
        changes.move({
          from: user,
          user: event.to,
          event: { kind: 'merge', profile: moved },
          origin,
          acceptedAt: record.acceptedAt,
        });
      }
      if (changes.get(user)) changes.set(user, remaining);
      return;
    }
    case 'delete': {
      const { at, sources } = event;
      context.deletions.add({ userId: user, at, sources });
      const profile = changes.get(user);
      if (!profile) return;
      if (sources) changes.set(user, withoutSources(context, profile, { sources, wanted, pass }));
      else if (pass === undefined) changes.set(user, null);
      else changes.set(user, splitProfile(context, profile, wanted, pass).remaining);
      return;
    }
    case 'merge': {
      const known = changes.get(user);
      // Records moved by a second reading come late. Their user may have been moved or deleted
      // since.
      if (isLate(record) && (!known || known.absent)) return;
      const before = orNew(known, pass);
      const sizeLimit = changes.sizeLimit(user, before);
      const profile = Array.isArray(deleted)
        ? withoutSources(context, event.profile, { sources: deleted, wanted, pass })
        : event.profile;
      const withTheirs = pass === undefined ? mergeTraits(before, profile, sizeLimit) : before;
      set(
        before,
        merged(context, withTheirs, profile, { record, nowMs, wanted, sizeLimit }),
        sizeLimit,
      );
      return;
    }
    case 'listed':
    case 'uploaded':
      return;
  }
}

/** Returns the sources whose calls were deleted for the user of an event after its acceptance. */
export function deletedSourcesOf(
  { user, acceptedAt }: Incoming,
  deletions: Pick<KnownDeletions, 'deletedSources'>,
): 'all' | string[] {
  return acceptedAt === undefined ? NO_SOURCES : deletions.deletedSources(user, acceptedAt);
}

const NO_SOURCES: string[] = [];

/**
 * Removes what sources have set and counted. A trait that one of them set last has no value then:
 * the null hides the values that other sources set before. A counter does not say what it counted
 * for which source, and starts anew.
 */
function withoutSources(
  { definitions }: Context,
  profile: Profile,
  { sources, wanted, pass }: { sources: string[]; wanted: IsWanted; pass: number | undefined },
): Profile {
  if (sources.length === 0) return profile;
  const hasCounted = (id: string) => {
    const definition = definitions.of(ownerOf(id).id);
    const spec = definitions.spec(id);
    // No definition reads it any more.
    if (!definition || !spec) return pass === undefined;
    const { sources: counted } = spec;
    const isCounted = (source: string) => !counted || countsFor(counted, source);
    return wanted(definition) && sources.some(isCounted);
  };
  const { traits: bySource = {}, counters = {} } = profile;
  const nulled = Object.entries(bySource).map(([source, traits]) =>
    pass === undefined && sources.includes(source)
      ? [source, withoutValues(traits)]
      : [source, traits],
  );
  return {
    ...profile,
    traits: Object.fromEntries(nulled) as Profile['traits'] & object,
    counters: Object.fromEntries(Object.entries(counters).filter(([id]) => !hasCounted(id))),
  };
}

function nullsFor(traits: JsonObject): JsonObject {
  return Object.fromEntries(Object.keys(traits).map((name) => [name, null]));
}

function counted(
  context: Context,
  profile: Profile,
  event: Extract<ProfileEvent, { kind: 'track' }>,
  { wanted, sizeLimit, ...at }: Counting,
): Profile {
  let counters: Record<string, Counter> | undefined;
  for (const { definition, spec } of context.definitions.countersOf(event.event)) {
    const before = profile.counters?.[spec.id];
    const counter = wanted(definition) ? count(spec, before, event, at) : undefined;
    if (counter && sizeLimit.takeCounter(spec.id, before, counter)) {
      (counters ??= { ...profile.counters })[spec.id] = counter;
    }
  }
  return counters ? { ...profile, counters } : profile;
}

function merged(
  context: Context,
  profile: Profile,
  from: Profile,
  { wanted, sizeLimit, ...at }: Counting,
): Profile {
  let counters: Record<string, Counter> | undefined;
  for (const [id, counter] of Object.entries(from.counters ?? {})) {
    const [spec, definition] = [
      context.definitions.spec(id),
      context.definitions.of(ownerOf(id).id),
    ];
    const both =
      spec && definition && wanted(definition)
        ? mergeCounters(spec, profile.counters?.[id], counter, at)
        : undefined;
    if (both && sizeLimit.takeCounter(id, profile.counters?.[id], both)) {
      (counters ??= { ...profile.counters })[id] = both;
    }
  }
  return counters ? { ...profile, counters } : profile;
}

/**
 * Returns the parts that an alias moves: the traits, by the live reading, and the counters that
 * this reading counts. The other reading moves its own counters when it comes to the alias.
 */
function splitProfile(
  context: Context,
  profile: Profile | undefined,
  wanted: IsWanted,
  pass: number | undefined,
) {
  const { traits, counters = {}, sentValues } = profile ?? {};
  const isCounted = (id: string) => {
    const definition = context.definitions.of(ownerOf(id).id);
    return (
      definition !== undefined && wanted(definition) && context.definitions.spec(id) !== undefined
    );
  };
  const part = (which: boolean) =>
    Object.fromEntries(Object.entries(counters).filter(([id]) => isCounted(id) === which));
  const [moved, kept] = [part(true), part(false)];
  if (pass === undefined) {
    // The values last sent for the old id are kept, in case a user has this id again.
    const remaining = dropIfEmpty({ ...defined({ sentValues }), counters: kept, absent: 1 });
    return { moved: { ...defined({ traits }), counters: moved }, remaining };
  }
  const remaining = profile ? dropIfEmpty({ ...profile, counters: kept }) : null;
  return { moved: Object.keys(moved).length > 0 ? { counters: moved } : {}, remaining };
}
