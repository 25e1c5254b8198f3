import {
  messagesOrigin,
  eventOf,
  type Incoming,
  type Origin,
  type ProfileEvent,
} from '../../../services/audiences/repartition/event';
import { Definitions, type Definition } from '../../../services/audiences/definitions/compile';
import { type Step } from '../../../services/audiences/profiles/change-set';
import { Engine } from '../../../services/audiences/profiles/engine';
import {
  type PartitionState,
  untilUpload,
  withUnsent,
  NEW_PARTITION_STATE,
} from '../../../services/audiences/profiles/partition-state';
import { type Profile } from '../../../services/audiences/profiles/profile';
import { encodeProfile } from '../../../services/audiences/profiles/profile-codec';
import { Syncs } from '../../../services/audiences/profiles/syncs';
import { type Report, reportOf } from '../../../services/audiences/status';
import { defined } from '../../../shared/collections/defined';
import { DeletedUsers } from '../../../shared/model/deletion';
import { type Json, type Message } from '../../../shared/model/message';
import { callHash, refFromHash } from '../../../shared/model/dedup-window';
import { MemoryStore } from './memory-store';

/**
 * Simulates a whole audiences system in memory: logs, engines that crash between any two of their
 * writes, stores that are lost, and a receiver. naive-audiences.ts computes the same values from
 * the calls alone.
 */

export const PARTITIONS = 2;
export const USERS = ['ann', 'bob', 'cyn', 'dan'];

const partitionOf = (user: string) => USERS.indexOf(user) % PARTITIONS;

/** The writes of a step, in order. A process may crash before each of them. */
export const DEATHS = ['before', 'moved', 'half', 'logged', 'stored', 'told', undefined] as const;
export type Death = (typeof DEATHS)[number];

interface SimulatedProcessor {
  store: MemoryStore;
  engine: Engine;
  syncs: Syncs;
}

type ChangeRecord = [key: string, value: string | null];

export class World {
  nowMs = 1_700_000_000_000;
  definitions = new Definitions([]);
  /** partitions of `messages`, by source */
  readonly messages: Message[][] = Array.from({ length: PARTITIONS }, () => []);
  readonly log: Incoming[][] = Array.from({ length: PARTITIONS }, () => []);
  readonly changelog: ChangeRecord[][] = Array.from({ length: PARTITIONS }, () => []);
  readonly processors: SimulatedProcessor[];
  /** the values at the receiver, by definition and user */
  readonly known = new Map<string, { value: Json; atMs: number }>();
  sentValues = 0;
  /** number of calls that receivers got, by definition */
  readonly received = new Map<string, number>();
  /** deletions that were made, as every process knows them that starts */
  readonly deletions: { userId: string; at: number; sources: string[] | null }[] = [];
  /** the source of each message */
  readonly #sources = new WeakMap<Message, string>();
  readonly #copied = Array.from({ length: PARTITIONS }, () => ({ next: 0, committed: 0 }));

  constructor() {
    this.processors = Array.from({ length: PARTITIONS }, (_, i) =>
      this.#processor(i, new MemoryStore()),
    );
  }

  send(message: Partial<Message>, source: number): void {
    const at = new Date(this.nowMs).toISOString();
    const messageId = `m${this.messages.flat().length}`;
    this.#put(
      source,
      { messageId, timestamp: at, receivedAt: at, ...message } as Message,
      `src${source}`,
    );
  }

  /** Deletes a user as control does: for some sources, or altogether. */
  delete(userId: string, sources: string[] | null): void {
    const deletion = { userId, at: this.nowMs, sources };
    this.deletions.push(deletion);
    this.append(userId, { kind: 'delete', at: deletion.at, sources });
  }

  /**
   * Repeats the last call of a source, as a client does. The duplicate is in another partition of
   * `messages`.
   */
  repeat(source: number): void {
    const last = this.messages[source]!.at(-1);
    if (last) this.#put((source + 1) % PARTITIONS, { ...last }, this.#sources.get(last)!);
  }

  #put(partition: number, message: Message, source: string): void {
    this.messages[partition]!.push(message);
    this.#sources.set(message, source);
  }

  /**
   * Copies up to `atMost` messages to their users' partitions. After a crash they are copied again.
   */
  repartition(partition: number, atMost: number, crash: boolean): void {
    const at = this.#copied[partition]!;
    const from = this.messages[partition]!;
    for (let n = 0; n < atMost && at.next < from.length; n++, at.next++) {
      const message = from[at.next]!;
      const source = this.#sources.get(message)!;
      const keyed = eventOf(message, source);
      const origin = { name: messagesOrigin(partition), offset: at.next, epoch: 0, timestamp: 0 };
      if (!keyed) continue;
      const call = callHash(source, message.messageId);
      const acceptedAt = Date.parse(message.receivedAt);
      this.append(keyed.user, keyed.event, { origin, call, acceptedAt });
    }
    if (crash) at.next = at.committed;
    else at.committed = at.next;
  }

  append(
    user: string,
    event: ProfileEvent,
    from: { origin?: Origin; call?: string; acceptedAt?: number | undefined } = {},
  ): void {
    const { origin, call, acceptedAt } = from;
    const partition = partitionOf(user);
    const log = this.log[partition]!;
    const offset = log.length;
    const copied = JSON.parse(JSON.stringify(event)) as ProfileEvent;
    const calls = call !== undefined && {
      call: { ref: refFromHash(call, partition, offset), atMs: 0 },
    };
    const name = { offset, epoch: 0, timestamp: this.nowMs };
    log.push({ ...name, user, origin, ...calls, ...defined({ acceptedAt }), event: copied });
  }

  define(all: Definition[]): void {
    this.definitions = new Definitions(all);
    for (let p = 0; p < PARTITIONS; p++) this.#adopt(p);
  }

  #adopt(partition: number): void {
    this.perform(
      partition,
      this.processors[partition]!.engine.adopt(this.definitions, this.nowMs),
      undefined,
    );
  }

  get history(): number[] {
    return this.messages.map(({ length }) => length);
  }

  /** @returns whether there was any work */
  apply(partition: number, atMost: number, death: Death): boolean {
    const { engine } = this.processors[partition]!;
    if (this.upload(partition, death)) return true;
    const next = this.log[partition]!.slice(engine.meta.live.next).slice(0, atMost);
    const records = untilUpload(next, (record) => record);
    if (records.length === 0) return false;
    this.perform(partition, engine.apply(records, this.nowMs), death);
    this.#adopt(partition);
    return true;
  }

  fill(partition: number, atMost: number, death: Death): boolean {
    const { engine } = this.processors[partition]!;
    const { fill } = engine.meta;
    if (!fill) return false;
    const records = this.log[partition]!.slice(fill.cursor.next).slice(0, atMost);
    return this.perform(partition, engine.fill(records, records.length === 0, this.nowMs), death);
  }

  scan(partition: number, atMost: number, death: Death): boolean {
    return this.perform(
      partition,
      this.processors[partition]!.engine.scan(this.nowMs, atMost),
      death,
    );
  }

  /** Performs the next step of a sync that is due. */
  sync(partition: number, death: Death): boolean {
    const { engine, syncs } = this.processors[partition]!;
    return this.perform(partition, syncs.next(engine, this.nowMs), death);
  }

  /** Writes a line of an upload to the partition of its user. */
  list(audience: string, upload: number, [user, listed]: [user: string, listed: boolean]): void {
    const acceptedAt = this.nowMs;
    const event = { kind: 'listed' as const, audience, upload: `upl_${upload}`, listed };
    this.append(user, event, { acceptedAt });
  }

  /** Ends an upload in each partition. @param from by partition: the end of its log before */
  endUpload(audience: string, number: number, full: boolean, from: readonly number[]): void {
    const upload = `upl_${number}`;
    for (const [p, start] of from.entries()) {
      const event: ProfileEvent = { kind: 'uploaded', audience, upload, number, full, from: start };
      const name = { offset: this.log[p]!.length, epoch: 0, timestamp: this.nowMs };
      this.log[p]!.push({ ...name, user: audience, origin: undefined, event });
    }
  }

  /** Number of calls that each definition counts as sent, without those that sent none. */
  get counts(): Map<string, number> {
    const counts = new Map<string, number>();
    for (const { engine } of this.processors) {
      for (const [id, { told }] of Object.entries(engine.meta.defs)) {
        if (told > 0) counts.set(id, (counts.get(id) ?? 0) + told);
      }
    }
    return counts;
  }

  get ends(): number[] {
    return this.log.map(({ length }) => length);
  }

  /** Applies the next complete upload. */
  upload(partition: number, death: Death): boolean {
    const { engine } = this.processors[partition]!;
    const { upload } = engine;
    if (!upload) return false;
    const records = this.log[partition]!.slice(upload.from, upload.to);
    this.perform(partition, engine.list(upload, records, this.nowMs), death);
    const { engine: now } = this.processors[partition]!;
    if (now === engine) this.perform(partition, engine.listed(upload, this.nowMs), death);
    return true;
  }

  /**
   * Writes a step as the service does. A crash leaves the writes so far, and a new process takes
   * over.
   */
  perform(partition: number, step: Step | undefined, death: Death): boolean {
    if (!step) return false;
    const die = (at: Death) => at === death && (this.restart(partition, 'kept'), true);
    if (die('before')) return true;
    for (const { user, event, ...from } of step.moves) this.append(user, event, from);
    if (die('moved')) return true;
    const records: ChangeRecord[] = [
      ...Array.from(step.profiles, ([user, profile]): ChangeRecord => [
        `u${user}`,
        profile && encodeProfile(profile).toString(),
      ]),
      ['m', JSON.stringify(step.meta)],
    ];
    const half = death === 'half' ? records.length >> 1 : records.length;
    this.changelog[partition]!.push(...records.slice(0, half));
    // A written record is never computed again, even if the process dies before its next write.
    for (const [user, profile] of [...step.profiles].slice(0, half)) {
      this.#forget(partition, user, profile);
    }
    if (die('half') || die('logged')) return true;
    this.processors[partition]!.engine.commit(step);
    this.processors[partition]!.store.logged = this.changelog[partition]!.length;
    if (die('stored')) return true;
    this.#send(partition);
    if (death === 'told') this.restart(partition, 'kept');
    return true;
  }

  /** A receiver forgets a deleted user. */
  #forget(partition: number, user: string, after: Profile | null): void {
    const before = this.processors[partition]!.store.get(user)?.sentValues ?? {};
    for (const id of Object.keys(before)) {
      if (!after?.sentValues?.[id]) this.known.delete(`${id} ${user}`);
    }
  }

  #send(partition: number): void {
    const { store, engine } = this.processors[partition]!;
    const calls = new Map<string, number>();
    for (const [sequence, [user, definition]] of store.unsent) {
      const told = store.get(user)?.sentValues?.[definition];
      if (told?.[2] !== sequence || !this.definitions.of(definition)) continue;
      calls.set(definition, (calls.get(definition) ?? 0) + 1);
      const key = `${definition} ${user}`;
      const known = this.known.get(key);
      if (known && known.atMs > told[1]) throw new Error('an older one came later');
      if (known?.atMs === told[1]) continue;
      this.sentValues++;
      this.received.set(definition, (this.received.get(definition) ?? 0) + 1);
      this.known.set(key, { value: told[0], atMs: told[1] });
    }
    const status = this.#statusOf(partition);
    for (const { id } of this.definitions.all) {
      const [waiting, sent] = [status[id]?.waiting ?? 0, calls.get(id) ?? 0];
      if (waiting !== sent) throw new Error(`${waiting} calls waited, and ${sent} were sent`);
    }
    store.unsent.clear();
    engine.meta = store.meta = { ...engine.meta, sent: engine.meta.told };
  }

  #statusOf(partition: number): Report['definitions'] {
    const { store, engine, syncs } = this.processors[partition]!;
    const all = Array.from(store.unsent, ([sequence, [user, definition]]) => ({
      sequence,
      user,
      definition,
    }));
    const about = {
      size: store.profiles.size,
      full: 0,
      bytes: 0,
      unsent: (after: number) => all.filter(({ sequence }) => sequence > after),
      memberCount: () => 0,
    };
    return reportOf(engine.meta, about, syncs.results).definitions;
  }

  /**
   * Another process takes the partition over, with the store as it is, or restored from the
   * changelog.
   */
  restart(partition: number, before: 'kept' | 'lost'): void {
    const store = before === 'kept' ? this.processors[partition]!.store : new MemoryStore();
    this.#restore(partition, store);
    this.processors[partition] = this.#processor(partition, store);
    this.#adopt(partition);
    this.#send(partition);
  }

  /**
   * Reads the changelog, in which compaction has removed replaced records. A kept store is
   * equivalent.
   */
  #restore(partition: number, store: MemoryStore): void {
    const all = this.changelog[partition]!.slice(store.logged);
    store.logged = this.changelog[partition]!.length;
    const last = new Map(all.map(([key], i) => [key, i]));
    for (const [i, [key, value]] of all.entries()) {
      if (last.get(key) !== i) continue;
      if (key === 'm') {
        store.meta = JSON.parse(value!) as PartitionState;
        continue;
      }
      const user = key.slice(1);
      if (value === null) store.profiles.delete(user);
      else store.profiles.set(user, value);
      const profile = store.get(user);
      store.setDue(user, profile && this.definitions.dueAt(profile, this.nowMs));
      if (value !== null) store.touch(user);
      for (const [definition, [, , sequence]] of Object.entries(profile?.sentValues ?? {})) {
        store.unsent.set(sequence, [user, definition]);
      }
    }
    const sent = store.meta?.sent ?? 0;
    for (const sequence of store.unsent.keys()) if (sequence <= sent) store.unsent.delete(sequence);
    const unsent = Array.from(store.unsent, ([sequence, [, definition]]) => ({
      sequence,
      definition,
    })).sort((a, b) => a.sequence - b.sequence);
    if (store.meta) store.meta = withUnsent(store.meta, unsent);
  }

  #processor(partition: number, store: MemoryStore): SimulatedProcessor {
    return { store, engine: this.#engine(partition, store), syncs: new Syncs(2) };
  }

  #engine(partition: number, store: MemoryStore): Engine {
    const log = this.log[partition]!;
    const deletions = new DeletedUsers();
    for (const deletion of this.deletions) deletions.add(deletion);
    const engine: Engine = new Engine(store, store.meta ?? NEW_PARTITION_STATE, {
      partition,
      end: log.length,
      definitions: this.definitions,
      deletions,
      hasPassed: (ends) =>
        ends.every((end, i) => this.#copied[i]!.committed >= end) &&
        engine.meta.live.next >= log.length,
    });
    // The same as `recallCalls`.
    const { live, fill } = engine.meta;
    engine.calls.live.withoutCopies(log.slice(0, live.next));
    if (fill) engine.calls.fill.withoutCopies(log.slice(0, fill.cursor.next));
    return engine;
  }

  /** Runs until all messages are counted, and all changed values are sent. */
  settle(): void {
    for (let busy = true; busy;) {
      busy = false;
      for (let p = 0; p < PARTITIONS; p++) {
        if (this.#copied[p]!.committed < this.messages[p]!.length) {
          this.repartition(p, 100, false);
          busy = true;
        }
        busy = this.apply(p, 100, undefined) || busy;
        this.#adopt(p);
        busy = this.fill(p, 100, undefined) || busy;
        busy = this.scan(p, 3, undefined) || busy;
        busy = this.upload(p, undefined) || busy;
        busy = this.#syncAll(p) || busy;
      }
    }
  }

  /** Syncs every definition, whenever it would be due. */
  #syncAll(partition: number): boolean {
    const { engine } = this.processors[partition]!;
    const syncs = new Syncs(2);
    let busy = false;
    while (this.perform(partition, syncs.next(engine, this.nowMs), undefined)) busy = true;
    return busy;
  }
}
