import { DeletedUsers, type UserDeletion } from '../../../shared/model/deletion';
import { type JsonObject } from '../../../shared/model/message';
import { type Application, applyRecord, deletedSourcesOf, type KnownDeletions } from './apply';
import { CountedCalls } from './counted-calls';
import { isBehind } from '../../../shared/kafka/record-name';
import { admit, type Incoming } from '../repartition/event';
import { type Definition, type Definitions, ownerOf } from '../definitions/compile';
import { ChangeSet, type ProfileReader, type Step } from './change-set';
import {
  counts,
  cutAt,
  filled,
  fills,
  type PartitionState,
  scanned,
  type HasPassed,
  emits,
  type EndedUpload,
  uploadApplied,
  withUploads,
  withDefinitions,
  startPasses,
} from './partition-state';
import { type Profile, sameJson, dropIfEmpty } from './profile';

/**
 * Processes one partition of profiles. Each method reads the store and returns the changes to write
 * (change-set.ts). They take effect only with `commit`, so that after a crash at any point every
 * step can be repeated: events are identified by their offsets, and sent values by their position
 * in `told`.
 */
export class Engine {
  #definitions: Definitions;
  readonly #deletions: KnownDeletions;
  /** recent calls counted by the live reading and by a second reading */
  readonly calls: { live: CountedCalls; fill: CountedCalls };
  /**
   * The profiles have all events that were appended before this time, ms since 1970. No value is
   * newer: its user may have been deleted since.
   */
  readUntilMs = Infinity;
  #end: number;

  constructor(
    private readonly store: ProfileReader,
    public meta: PartitionState,
    private readonly options: {
      partition: number;
      /**
       * end of the log when this process took over; until there, a previous owner may have moved
       * profiles already
       */
      end: number;
      hasPassed: HasPassed;
      /** existing counters continue with these definitions; new ones begin with `adopt` */
      definitions: Definitions;
      /** default: those that it reads in the log */
      deletions?: KnownDeletions;
      /** called for an event that is left out because it cannot be applied */
      onUnusable?: (record: Incoming, error: unknown) => void;
    },
  ) {
    this.#definitions = options.definitions;
    this.#end = options.end;
    this.#deletions = options.deletions ?? new DeletedUsers();
    this.calls = {
      live: new CountedCalls(meta.partitions),
      fill: new CountedCalls(meta.partitions),
    };
  }

  /**
   * Computes other definitions from now on. New ones begin once all records that another process
   * may have read are read: a profile that it moved without them is not moved again.
   * @returns undefined if nothing changes
   */
  adopt(definitions: Definitions, nowMs: number): Step | undefined {
    this.#definitions = definitions;
    if (this.meta.live.next < this.#end) return undefined;
    const meta = withDefinitions(this.meta, definitions, this.options.hasPassed);
    return sameJson(meta as unknown as JsonObject, this.meta as unknown as JsonObject)
      ? undefined
      : this.#changeSet(nowMs).step(meta);
  }

  /** Counts new events. */
  apply(records: readonly Incoming[], nowMs: number): Step {
    const meta = this.#afterCut(records);
    const { cursor, admitted } = admit(meta.live, records);
    const first = this.calls.live.withoutCopies(admitted);
    const wanted = (definition: Definition) => counts(meta, definition);
    const uploads = withUploads(meta.uploads, admitted);
    return this.#compute(nowMs, (changes) => {
      for (const record of first) this.#tryOne({ changes, record, nowMs, wanted });
      return this.#withPasses({ ...meta, live: cursor, uploads });
    });
  }

  /** Returns the state in which the next records follow, also if the log was cut before them. */
  #afterCut(records: readonly Incoming[]): PartitionState {
    const { live } = this.meta;
    const first = records.find((record) => isBehind(record, live.last));
    if (!first || first.offset >= live.next) return this.meta;
    this.#end = Math.min(this.#end, first.offset);
    return cutAt(this.meta, first.offset);
  }

  /** Writes the state, and profiles as they are, because others stand last in the changelog. */
  rewrite(users: Iterable<string>, nowMs: number): Step {
    const changes = this.#changeSet(nowMs);
    for (const user of users) changes.setQuietly(user, this.store.get(user) ?? null);
    return changes.step(this.meta);
  }

  /** Skips to an offset before which the log has no more records, because they were deleted. */
  skip(next: number, nowMs: number): Step {
    return this.#changeSet(nowMs).step({ ...this.meta, live: { ...this.meta.live, next } });
  }

  /** Applies deletions whose records the log has lost. */
  forget(deletions: readonly UserDeletion[], nowMs: number): Step {
    const { meta } = this;
    const wanted = (definition: Definition) => counts(meta, definition);
    return this.#compute(nowMs, (changes) => {
      for (const { userId: user, at, sources } of deletions) {
        const event = { kind: 'delete' as const, at, sources };
        const name = { offset: meta.live.next, epoch: 0, timestamp: at };
        this.#tryOne({
          changes,
          record: { ...name, user, origin: undefined, event },
          nowMs,
          wanted,
        });
      }
      return meta;
    });
  }

  /** Returns whether a definition waits for other processes. Call `adopt` again then. */
  get waits(): boolean {
    return (
      this.meta.live.next < this.#end ||
      Object.values(this.meta.defs).some(({ phase }) => phase === 'held')
    );
  }

  /**
   * Counts earlier events for new definitions. @param end the log has no further records before the
   * live reading
   */
  fill(records: readonly Incoming[], end: boolean, nowMs: number): Step {
    const { fill, live } = this.meta;
    if (!fill) throw new Error('there is nothing to fill');
    const { cursor, admitted } = admit(
      fill.cursor,
      records.filter(({ offset }) => offset < live.next),
    );
    const first = this.calls.fill.withoutCopies(admitted);
    const ends = end || cursor.next >= live.next;
    if (ends) this.calls.fill = new CountedCalls(this.meta.partitions);
    const wanted = (definition: Definition) => fills(this.meta, definition);
    return this.#compute(nowMs, (changes) => {
      for (const record of first) {
        this.#tryOne({ changes, record, nowMs, wanted, pass: fill.number });
      }
      const meta = { ...this.meta, fill: { ...fill, cursor } };
      return ends ? this.#withPasses(filled(meta)) : meta;
    });
  }

  /** Returns the next upload to apply. It waits until its audience has started here. */
  get upload(): EndedUpload | undefined {
    return this.meta.uploads.find(({ audience }) => this.meta.defs[audience]);
  }

  /** Adds or removes members by the lines of an upload, among other records of the same time. */
  list({ audience, id, number }: EndedUpload, records: readonly Incoming[], nowMs: number): Step {
    const changes = this.#changeSet(nowMs);
    for (const record of records) {
      const { user, event } = record;
      if (deletedSourcesOf(record, this.#deletions) === 'all') continue;
      if (event.kind !== 'listed' || event.audience !== audience || event.upload !== id) {
        continue;
      }
      const { absent: _, ...profile } = changes.get(user) ?? {};
      if ((profile.uploadedMemberships?.[audience]?.[0] ?? 0) > number) continue;
      const uploadedMemberships = {
        ...profile.uploadedMemberships,
        [audience]: [number, event.listed ? 1 : 0],
      };
      changes.set(user, { ...profile, uploadedMemberships } as Profile);
    }
    return changes.step(this.meta);
  }

  /** Completes an upload whose lines were applied. */
  listed(upload: EndedUpload, nowMs: number): Step {
    return this.#changeSet(nowMs).step(this.#withPasses(uploadApplied(this.meta, upload)));
  }

  /**
   * Touches users whose value may have changed because a window expired. The next sync checks them.
   */
  expire(nowMs: number, limit: number): Step | undefined {
    const users = this.store.due(nowMs, limit);
    if (users.length === 0) return undefined;
    const changes = this.#changeSet(nowMs);
    for (const user of users) changes.touch(user);
    return changes.step(this.meta);
  }

  /** The definitions that send values. */
  get emitting(): Definition[] {
    return this.#definitions.all.filter((definition) => emits(this.meta, definition));
  }

  /** The place of the last touched user. */
  get lastTouch(): number {
    return this.store.lastTouch;
  }

  /**
   * Emits changed values of the users touched up to a place, for definitions that have not checked
   * them yet. @returns undefined if no users are left
   */
  sync(
    { ids, end }: { ids: readonly string[]; end: number },
    nowMs: number,
    limit: number,
  ): Step | undefined {
    const { synced } = this.store;
    const before = Object.fromEntries(this.emitting.map(({ id }) => [id, synced[id] ?? 0]));
    const definitions = this.emitting.filter(({ id }) => ids.includes(id));
    if (definitions.length === 0) return undefined;
    const from = Math.min(...definitions.map(({ id }) => before[id] ?? 0));
    const touches = this.store.touched(from, limit).filter(({ place }) => place <= end);
    const last = touches.at(-1);
    if (!last) return undefined;
    const looked: Record<string, number> = {};
    const after = { ...before };
    for (const { id } of definitions) {
      looked[id] = touches.filter(({ place }) => place > (before[id] ?? 0)).length;
      after[id] = Math.max(before[id] ?? 0, last.place);
    }
    return this.#compute(nowMs, (changes) => {
      changes.synced({ places: after, looked });
      for (const { user, place } of touches) {
        const open = definitions.filter(({ id }) => place > (before[id] ?? 0));
        this.#emitValues(changes, { user, definitions: open, nowMs });
      }
      return changes.count(this.meta);
    });
  }

  /** Checks the next profiles of a first sync. @returns undefined if none runs */
  scan(nowMs: number, limit: number): Step | undefined {
    const { scan } = this.meta;
    if (!scan) return undefined;
    const users = this.store.users(scan.after, limit);
    const definitions = this.#definitions.all.filter(
      (definition) => scan.ids.includes(definition.id) && emits(this.meta, definition),
    );
    return this.#compute(nowMs, (changes) => {
      for (const user of users) {
        this.#removeOldData(changes, user);
        this.#emitValues(changes, { user, definitions, nowMs });
      }
      const meta = changes.count(this.meta);
      const last = users.at(-1);
      if (last === undefined || users.length < limit) return this.#withPasses(scanned(meta));
      return { ...meta, scan: { ...scan, after: last, counted: scan.counted + users.length } };
    });
  }

  /** Commits a step that was written and acknowledged, with a number of changelog records. */
  commit(step: Step, records = 0): void {
    this.store.write(step, records);
    this.meta = step.meta;
  }

  #withPasses(meta: PartitionState): PartitionState {
    return startPasses(meta, this.#definitions, this.options.hasPassed);
  }

  #changeSet(nowMs: number, measured?: ReadonlySet<string>): ChangeSet {
    return new ChangeSet(this.store, this.#definitions, nowMs, { meta: this.meta, measured });
  }

  /**
   * @param work changes the profiles and returns the new state; it runs again if a profile grew too
   *   large
   */
  #compute(nowMs: number, work: (changes: ChangeSet) => PartitionState): Step {
    const changes = this.#changeSet(nowMs);
    const meta = work(changes);
    const tooLarge = changes.tooLarge();
    if (tooLarge.size === 0) return changes.step(meta);
    const measured = this.#changeSet(nowMs, tooLarge);
    return measured.step(work(measured));
  }

  /** Applies one event. If it cannot be applied, the other events still are. */
  #tryOne(application: Application): void {
    try {
      applyRecord(application, {
        definitions: this.#definitions,
        partition: this.options.partition,
        deletions: this.#deletions,
      });
    } catch (error) {
      this.options.onUnusable?.(application.record, error);
    }
  }

  /** Removes the data of deleted definitions and of old revisions. */
  #removeOldData(changes: ChangeSet, user: string): void {
    const profile = changes.get(user);
    const kept = profile && this.#withoutOldData(profile);
    if (kept && kept !== profile) changes.setQuietly(user, dropIfEmpty(kept));
  }

  #withoutOldData(profile: Profile): Profile {
    const isDeleted = (id: string) => this.meta.defs[id]?.phase === 'leaving';
    const isOld = (id: string) => {
      const { id: definition, revision } = ownerOf(id);
      return isDeleted(definition) || (this.meta.defs[definition]?.revision ?? 0) > revision;
    };
    const { counters = {}, sentValues = {}, uploadedMemberships = {} } = profile;
    const owners = Object.keys({ ...sentValues, ...uploadedMemberships });
    if (!Object.keys(counters).some(isOld) && !owners.some(isDeleted)) return profile;
    const without = <T>(part: Record<string, T>, drop: (id: string) => boolean) =>
      Object.fromEntries(Object.entries(part).filter(([id]) => !drop(id)));
    // The profile has room again.
    const { full: _, ...rest } = profile;
    return {
      ...rest,
      counters: without(counters, isOld),
      sentValues: without(sentValues, isDeleted),
      uploadedMemberships: without(uploadedMemberships, isDeleted),
    };
  }

  #emitValues(
    changes: ChangeSet,
    { user, definitions, nowMs }: { user: string; definitions: Definition[]; nowMs: number },
  ): void {
    for (const definition of definitions) {
      const profile = changes.get(user);
      if (!profile || profile.absent) return;
      const lastSent = profile.sentValues?.[definition.id];
      const value = definition.value(profile, nowMs, this.meta.defs[definition.id]?.since ?? 0);
      if (sameJson(value, lastSent ? lastSent[0] : definition.nothing)) continue;
      // Always later than the last timestamp, even if the clock steps back, since receivers compare
      // them.
      const atMs = Math.max(Math.min(nowMs, this.readUntilMs), (lastSent?.[1] ?? 0) + 1);
      changes.emit(user, definition.id, value, atMs);
    }
  }
}
