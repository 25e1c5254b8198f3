import { defined } from '../../../shared/collections/defined';
import { type Phase } from '../../../shared/model/profile-records';
import { AppError } from '../../../shared/runtime/errors';
import { markBefore } from '../../../shared/kafka/record-name';
import { PROFILE_EVENTS } from '../../../shared/kafka/topics';
import { BEGINNING, type Cursor, type Incoming } from '../repartition/event';
import { type Definition, type Definitions } from '../definitions/compile';

/**
 * The progress of one partition of profiles: pure. It is stored beside the profiles, in the store
 * and in the changelog.
 */
export interface PartitionState {
  /** the live reading of `profiles.events` */
  live: Cursor;
  /** a second reading, for definitions that are new here */
  fill?: Pass & { cursor: Cursor };
  /** a scan of all profiles: the first sync, and the removal of deleted definitions */
  scan?: Pass & { after?: string; counted: number };
  /** number of passes begun */
  passes: number;
  /** uploads of members whose end was read, and whose lines are not applied yet */
  uploads: readonly EndedUpload[];
  defs: Record<string, DefState>;
  /** position of the last emitted message, and of the last acknowledged one */
  told: number;
  sent: number;
  /** number of partitions the users are spread over; absent in a new partition */
  partitions?: number;
  /**
   * when the owner of the partition took over, ms since 1970; later than that of each owner before;
   * absent in a new partition
   */
  term?: number;
}

/** A complete upload of members. */
export interface EndedUpload {
  audience: string;
  id: string;
  number: number;
  /** true: the members are exactly these; false: members are added and removed */
  full: boolean;
  /** the range of offsets with its lines, the end excluded */
  from: number;
  to: number;
}

interface Pass {
  number: number;
  /** the definitions that it runs for */
  ids: string[];
}

/** The progress of one definition. */
interface DefState {
  revision: number;
  phase: Phase;
  /** the highest number of an applied upload, and of a full one */
  upload: number;
  since: number;
  /** number of messages sent for it */
  told: number;
}

export const NEW_PARTITION_STATE: PartitionState = {
  live: BEGINNING,
  passes: 0,
  uploads: [],
  defs: {},
  told: 0,
  sent: 0,
};

/**
 * Stores the number of partitions the users are spread over. With another number, a user's events
 * would go to another partition than the profile.
 * @param now the present number
 * @throws AppError `cannot_start` if the number has changed
 */
export function withPartitions(meta: PartitionState, now: number): PartitionState {
  const { partitions = now } = meta;
  if (partitions !== now) throw otherPartitions(now, partitions);
  return { ...meta, partitions };
}

/**
 * Begins the term of a new owner. It is later than each before, also after a clock was set back.
 */
export function withNewTerm(
  meta: PartitionState,
  nowMs: number,
): PartitionState & { term: number } {
  return { ...meta, term: Math.max(nowMs, (meta.term ?? 0) + 1) };
}

/**
 * Returns the error for a changed number of partitions: users and their profiles would be in
 * different ones.
 */
export function otherPartitions(now: number, before: number): AppError {
  return new AppError(
    'cannot_start',
    `topic ${PROFILE_EVENTS} has ${now} partitions, and its profiles were made with ` +
      `${before}: users would be split; ` +
      'see "More partitions" in docs/operations/sizing.md',
  );
}

/** Adds the emitted values that the last state record does not know yet, in their order. */
export function withUnsent(
  meta: PartitionState,
  unsent: readonly { sequence: number; definition: string }[],
): PartitionState {
  const defs = { ...meta.defs };
  for (const { definition } of unsent.filter(({ sequence }) => sequence > meta.told)) {
    const state = defs[definition];
    if (state) defs[definition] = { ...state, told: state.told + 1 };
  }
  return { ...meta, defs, told: Math.max(meta.told, unsent.at(-1)?.sequence ?? 0) };
}

const COUNTING: ReadonlySet<Phase> = new Set(['held', 'scanning', 'live']);
const FILLING: ReadonlySet<Phase> = new Set(['filling']);
const EMITTING: ReadonlySet<Phase> = new Set(['scanning', 'live']);

export function counts(meta: PartitionState, definition: Definition): boolean {
  return isIn(COUNTING, meta, definition);
}

export function fills(meta: PartitionState, definition: Definition): boolean {
  return isIn(FILLING, meta, definition);
}

export function emits(meta: PartitionState, definition: Definition): boolean {
  return isIn(EMITTING, meta, definition);
}

/** A revision other than the started one has no phase yet. */
function isIn(
  phases: ReadonlySet<Phase>,
  { defs }: PartitionState,
  { id, revision }: Definition,
): boolean {
  const state = defs[id];
  return state?.revision === revision && phases.has(state.phase);
}

/**
 * Returns the state after `profiles.events` was cut: what was appended since is read. An upload
 * whose end was cut off is dropped, since its lines may be missing, too.
 * @param end offset of the first record that was not read yet
 */
export function cutAt(meta: PartitionState, end: number): PartitionState {
  const { live, fill } = meta;
  const back = (cursor: Cursor) =>
    cursor.next > end && cursor.last
      ? { ...cursor, next: end, last: markBefore(end, cursor.last) }
      : cursor;
  return {
    ...meta,
    live: back(live),
    ...defined({ fill: fill && { ...fill, cursor: back(fill.cursor) } }),
    uploads: meta.uploads.filter(({ to }) => to < end),
  };
}

/**
 * Returns the state after the changelog was cut: the events are read again from where they were in
 * the last state that is left from before. A counter knows its last event, and counts none twice.
 * Positions of sent messages and numbers of passes are never used again.
 */
export function changelogCutAt(
  before: PartitionState | undefined,
  now: PartitionState,
): PartitionState {
  const { told, sent, passes, partitions } = now;
  return { ...(before ?? NEW_PARTITION_STATE), told, sent, passes, ...defined({ partitions }) };
}

/**
 * Returns whether all messages before these ends of `messages` (by partition) have been counted
 * here.
 */
export type HasPassed = (ends: readonly number[]) => boolean;

/** Starts new and changed definitions, and ends deleted ones. */
export function withDefinitions(
  meta: PartitionState,
  definitions: Definitions,
  hasPassed: HasPassed,
): PartitionState {
  const defs = { ...meta.defs };
  for (const definition of definitions.all) {
    const state = defs[definition.id];
    if (state?.revision === definition.revision && state.phase !== 'leaving') continue;
    const { upload = 0, since = 0, told = 0 } = state ?? {};
    const phase = definition.counters.length > 0 && meta.live.next > 0 ? 'waiting' : 'held';
    defs[definition.id] = { revision: definition.revision, phase, upload, since, told };
  }
  let { scan } = meta;
  for (const [id, state] of Object.entries(defs)) {
    if (definitions.of(id) || state.phase === 'leaving') continue;
    defs[id] = { ...state, phase: 'leaving' };
    // The profiles already scanned still hold its data. The next pass scans all of them.
    scan &&= { ...scan, ids: scan.ids.filter((each) => each !== id) };
  }
  return startPasses(
    {
      ...meta,
      ...defined({ scan }),
      defs,
    },
    definitions,
    hasPassed,
  );
}

/** Ends passes that have no definition left, and begins the next ones. */
export function startPasses(
  meta: PartitionState,
  definitions: Definitions,
  hasPassed: HasPassed,
): PartitionState {
  let { fill, scan, passes } = meta;
  const defs = { ...meta.defs };
  const inPhase = (phase: Phase) => Object.keys(defs).filter((id) => defs[id]?.phase === phase);
  const enter = (ids: readonly string[], phase: Phase) => {
    for (const id of ids) {
      const state = defs[id];
      if (state) defs[id] = { ...state, phase };
    }
  };
  if (fill && inPhase('filling').length === 0) fill = undefined;
  if (scan?.ids.every((id) => defs[id]?.phase !== 'scanning' && defs[id]?.phase !== 'leaving')) {
    scan = undefined;
  }
  const waiting = inPhase('waiting');
  if (!fill && waiting.length > 0) {
    fill = { number: ++passes, ids: waiting, cursor: BEGINNING };
    enter(waiting, 'filling');
  }
  if (!scan) {
    const ready = inPhase('held').filter((id) => hasPassed(definitions.of(id)?.history ?? []));
    const leaving = inPhase('leaving');
    if (ready.length + leaving.length > 0) {
      scan = { number: ++passes, ids: [...ready, ...leaving], counted: 0 };
    }
    enter(ready, 'scanning');
  }
  const { fill: _fill, scan: _scan, ...rest } = meta;
  return {
    ...rest,
    ...defined({
      fill,
      scan,
    }),
    passes,
    defs,
  };
}

/**
 * Completes a second reading that has reached the live reading. Its definitions count live from
 * here.
 */
export function filled(meta: PartitionState): PartitionState {
  const { fill, ...rest } = meta;
  const defs = { ...meta.defs };
  for (const id of fill?.ids ?? []) {
    const state = defs[id];
    if (state?.phase === 'filling') defs[id] = { ...state, phase: 'held' };
  }
  return { ...rest, defs };
}

/** Completes a scan of all profiles. */
export function scanned(meta: PartitionState): PartitionState {
  const { scan, ...rest } = meta;
  const defs: Record<string, DefState> = {};
  for (const [id, state] of Object.entries(meta.defs)) {
    const done = scan?.ids.includes(id) ?? false;
    if (done && state.phase === 'leaving') continue;
    defs[id] = done && state.phase === 'scanning' ? { ...state, phase: 'live' } : state;
  }
  const isLeft = (id: string) => meta.defs[id] !== undefined && defs[id] === undefined;
  const uploads = meta.uploads.filter(({ audience }) => !isLeft(audience));
  return { ...rest, defs, uploads };
}

/** Returns the records up to the end of an upload, which takes effect before the next ones. */
export function untilUpload<T>(records: readonly T[], eventOf: (record: T) => Incoming): T[] {
  const end = records.findIndex((record) => eventOf(record).event.kind === 'uploaded');
  return end === -1 ? [...records] : records.slice(0, end + 1);
}

/** Uploads of an audience that was deleted wait for ever, so the oldest are dropped. */
const MAX_UPLOADS = 1_000;

/** Adds the uploads that end in new records. */
export function withUploads(
  uploads: readonly EndedUpload[],
  records: readonly Incoming[],
): readonly EndedUpload[] {
  const ended = records.flatMap(({ event, offset }): EndedUpload | [] => {
    if (event.kind !== 'uploaded') return [];
    const { audience, upload: id, number, full, from } = event;
    return { audience, id, number, full, from, to: offset };
  });
  return ended.length === 0 ? uploads : [...uploads, ...ended].slice(-MAX_UPLOADS);
}

/**
 * Records an applied upload. After a full upload all profiles are checked, since it does not name
 * the users it removes.
 */
export function uploadApplied(meta: PartitionState, upload: EndedUpload): PartitionState {
  const uploads = meta.uploads.filter((each) => each !== upload);
  const { audience, number, full } = upload;
  const state = meta.defs[audience];
  if (!state) return { ...meta, uploads };
  const applied = {
    ...state,
    upload: Math.max(state.upload, number),
    since: full ? Math.max(state.since, number) : state.since,
    phase: full && EMITTING.has(state.phase) ? ('held' as const) : state.phase,
  };
  return { ...meta, uploads, defs: { ...meta.defs, [audience]: applied } };
}
