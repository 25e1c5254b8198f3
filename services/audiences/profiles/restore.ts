import { rmSync } from 'node:fs';
import { type FollowedDeletions } from '../../../shared/deletions/reader';
import { type Kafka, type Range } from '../../../shared/kafka/port';
import { meterCut } from '../../../shared/kafka/metrics';
import { markAt, nameOf } from '../../../shared/kafka/record-name';
import { goOnBehind, rangeOf, recordAt, scan } from '../../../shared/kafka/scan';
import { PROFILE_EVENTS, PROFILES, TOMBSTONES_MS } from '../../../shared/kafka/topics';
import { type UserDeletion } from '../../../shared/model/deletion';
import { messageOf } from '../../../shared/runtime/errors';
import { type Log } from '../../../shared/telemetry/log';
import { type Definitions } from '../definitions/compile';
import { type RepartitionProgress } from '../repartition/repartitioner';
import { Checkpoints } from './checkpoints';
import { Engine } from './engine';
import {
  changelogCutAt,
  cutAt,
  NEW_PARTITION_STATE,
  otherPartitions,
  type PartitionState,
  withNewTerm,
  withPartitions,
  withUnsent,
} from './partition-state';
import { readChange } from './write-step';
import { type Profile } from './profile';
import { Store } from './store';
import { Terms } from './terms';

/**
 * Opens the store of a partition and applies the changelog to it, from the store's checkpoint or
 * from the beginning.
 */

/**
 * Records per transaction. For each store, LMDB keeps memory for the pages of its largest
 * transaction.
 */
const CHUNK = 250;
const LOG_EVERY_MS = 10_000;
/**
 * The consumer group that maintains the profiles; there is one store for each of its partitions.
 */
export const PROFILES_GROUP = 'audiences-profiles';
/** Compaction forgets after a while which keys were deleted. An older store might keep them. */
const TOO_OLD_MS = TOMBSTONES_MS / 2;

/** Control appends the two records of a deletion at once, to partitions of different brokers. */
const APPENDED_WITHIN_MS = 60_000;

export interface Restored {
  store: Store;
  meta: PartitionState;
  /** end of the changelog */
  next: number;
  /** number of changelog records read */
  records: number;
  /** built from the whole changelog, not from an existing store */
  rebuilt: boolean;
  /** users of void records, to be written again */
  rewrite: ReadonlySet<string>;
}

export async function restore(
  kafka: Pick<Kafka, 'read' | 'ranges'>,
  at: { partition: number; path: string; nowMs: number; log: Log },
  definitions: Definitions,
): Promise<Restored> {
  const { partition, path, nowMs, log } = at;
  const range = await rangeOf(kafka, { topic: PROFILES, partition });
  if (!range) throw new Error(`topic ${PROFILES} has no partition ${partition}`);
  let store = new Store(path);
  const { fits, cutFrom } = await check(kafka, store, { range, nowMs, log });
  const rebuilt = !fits;
  if (rebuilt) {
    await store.close();
    rmSync(path, { recursive: true, force: true });
    store = new Store(path);
  }
  let meta = store.meta;
  /** the last state before a cut */
  let before = meta;
  let last = store.checkpoint?.last;
  let next = last ? last[0] + 1 : range.low;
  const terms = new Terms(meta?.term ?? 0);
  let records = 0;
  let loggedAt = performance.now();
  const how = {
    dueAt: (profile: Profile) => definitions.dueAt(profile, nowMs),
    sent: await sentBefore(kafka, range),
  };
  for await (const piece of scan(kafka, {
    topic: PROFILES,
    partition,
    from: next,
    to: range.high,
  })) {
    if (piece.gone) {
      throw new Error(
        `the changelog lost offset ${next} of partition ${partition} while it was read`,
      );
    }
    const profiles = [];
    for (const record of piece.records) {
      last = markAt(nameOf(record), last);
      const change = terms.read(record) ? readChange(record) : undefined;
      if (!change) continue;
      records++;
      if (change.kind === 'profile') profiles.push(change);
      else meta = change.meta;
      if (record.offset < (cutFrom ?? Infinity)) before = meta;
    }
    for (let i = 0; i < profiles.length; i += CHUNK) {
      store.restore(profiles.slice(i, i + CHUNK), how);
    }
    next = piece.next;
    if (performance.now() - loggedAt < LOG_EVERY_MS) continue;
    loggedAt = performance.now();
    log.info({ partition, next, end: range.high }, 'profiles.restoring');
  }
  // This store may hold what a void record says: perhaps its process wrote it.
  if (terms.hasVoid && !rebuilt) {
    await store.close();
    rmSync(path, { recursive: true, force: true });
    return restore(kafka, at, definitions);
  }
  const now = meta ?? NEW_PARTITION_STATE;
  const state = cutFrom === undefined ? now : changelogCutAt(before, now);
  const settled = { ...withUnsent(state, store.unsent(state.sent)), term: terms.latest };
  store.restored(settled, last && { last, at: nowMs });
  return { store, meta: settled, next: range.high, records, rebuilt, rewrite: terms.users };
}

/**
 * Returns the position up to which messages are known to be acknowledged, so that the store need
 * not list all older ones as unsent. As a rule, the last record contains it.
 */
async function sentBefore(
  kafka: Pick<Kafka, 'read'>,
  { partition, low, high }: Range,
): Promise<number> {
  if (high <= low) return 0;
  const last = await recordAt(kafka, { topic: PROFILES, partition, offset: high - 1 });
  const change = last && readChange(last);
  return change?.kind === 'meta' ? change.meta.sent : 0;
}

/**
 * Returns whether the changelog goes on behind what the store has of it.
 * @returns `cutFrom`: all records below it are left, if the changelog was cut
 */
async function check(
  kafka: Pick<Kafka, 'read' | 'ranges'>,
  { checkpoint, meta, written }: Store,
  { range, nowMs, log }: { range: Range; nowMs: number; log: Log },
): Promise<{ fits: boolean; cutFrom?: number }> {
  if (!checkpoint || !meta || nowMs - checkpoint.at >= TOO_OLD_MS) return { fits: false };
  const { partition, low } = range;
  const [offset] = checkpoint.last;
  if (offset + 1 < low) return { fits: false };
  const place = { topic: PROFILES, partition };
  const { next, cut } = await goOnBehind(kafka, place, checkpoint.last);
  const end = offset + written;
  if (cut === 0 && (written === 0 || (await hasStep(kafka, range, { offset: end, meta })))) {
    return { fits: true };
  }
  const offsets = Math.max(cut, end + 1 - range.high, 1);
  log.error({ ...place, offsets, from: next }, 'profiles.log_cut');
  meterCut(PROFILES_GROUP, PROFILES, offsets);
  return { fits: false, cutFrom: next };
}

/**
 * Returns whether the state that a step wrote last is in the changelog. It is behind its offset if
 * a request was written twice. Compaction may have removed it since.
 */
async function hasStep(
  kafka: Pick<Kafka, 'read' | 'ranges'>,
  { partition, high }: Range,
  { offset, meta }: { offset: number; meta: PartitionState },
): Promise<boolean> {
  const section = { topic: PROFILES, partition, from: offset, to: high };
  let expected = offset;
  for await (const { records } of scan(kafka, section)) {
    for (const record of records) {
      if (record.offset !== expected++) return true;
      const change = readChange(record);
      if (change?.kind !== 'meta') continue;
      if (change.meta.live.next === meta.live.next && change.meta.told === meta.told) return true;
    }
  }
  return false;
}

/** Lets the readings of `profiles.events` go on at what was appended since the log was cut. */
async function afterCut(
  kafka: Pick<Kafka, 'read' | 'ranges'>,
  meta: PartitionState,
  { partition, log }: { partition: number; log: Log },
): Promise<PartitionState> {
  const { last } = meta.live;
  if (!last) return meta;
  const { next, cut } = await goOnBehind(kafka, { topic: PROFILE_EVENTS, partition }, last);
  if (cut === 0) return meta;
  // The consumer group counts it.
  const about = { topic: PROFILE_EVENTS, partition, offsets: cut, from: next };
  log.error(about, 'profiles.log_cut');
  return cutAt(meta, next);
}

export interface OpenOptions {
  kafka: Pick<Kafka, 'read' | 'ranges'>;
  partition: number;
  /** number of partitions when this process began to read */
  partitions: number;
  /** of the store */
  path: string;
  definitions: () => Definitions;
  progress: RepartitionProgress;
  deletions: Pick<FollowedDeletions, 'deletedSources' | 'usersSince' | 'add' | 'known'>;
  now: () => number;
  log: Log;
}

interface OpenPartition {
  store: Store;
  engine: Engine;
  checkpoints: Checkpoints;
  /** users to be written again, with the state of the new term */
  rewrite: ReadonlySet<string>;
  /** deletions since the last record that was read, if the log has lost the next ones */
  lostDeletions: readonly UserDeletion[];
  /** ends of `messages` at the start */
  ends: readonly number[];
  /** end of the partition of `profiles.events` at the start */
  end: number;
  /** the events up to this end are all that were appended before this time, ms since 1970 */
  startedAt: number;
}

/** Restores the store of a partition, and creates the engine on it. */
export async function openPartition(options: OpenOptions): Promise<OpenPartition> {
  const { kafka, partition, path, progress, deletions, now, log } = options;
  const startedAt = now();
  const ends = await progress.messagesEnds();
  const ranges = await kafka.ranges(PROFILE_EVENTS);
  if (ranges.length !== options.partitions) {
    throw otherPartitions(ranges.length, options.partitions);
  }
  const { low, high: end } = ranges.find((each) => each.partition === partition) ?? {
    low: 0,
    high: 0,
  };
  const { store, meta, next, records, rebuilt, rewrite } = await restore(
    kafka,
    { partition, path, nowMs: startedAt, log },
    options.definitions(),
  );
  // The previous owner may have applied deletions that this process has not read yet.
  await deletions.known();
  const kept = await afterCut(kafka, withPartitions(meta, ranges.length), { partition, log });
  const state = withNewTerm(kept, startedAt);
  const engine: Engine = new Engine(store, state, {
    partition,
    end,
    definitions: options.definitions(),
    deletions,
    onUnusable: ({ offset }, error) =>
      log.error({ partition, offset, reason: messageOf(error) }, 'profile_event.skipped'),
    hasPassed: (ends) => progress.covers(ends, partition, engine.meta.live.next),
  });
  const { last, next: nextEvent } = state.live;
  let lostDeletions: OpenPartition['lostDeletions'] = [];
  if (last && nextEvent < low) {
    const [, , appendedAtMs] = last;
    lostDeletions = deletions.usersSince(appendedAtMs - APPENDED_WITHIN_MS);
  }
  const { term } = state;
  const checkpoints = new Checkpoints({ kafka, store, partition, next, term, now });
  log.info(
    { partition, records, rebuilt, profiles: store.size, durationMs: now() - startedAt },
    'profiles.restored',
  );
  return { store, engine, checkpoints, rewrite, lostDeletions, ends, end, startedAt };
}
