import { randomUUID } from 'node:crypto';
import { type Kafka } from '../../../shared/kafka/port';
import { scanAll } from '../../../shared/kafka/scan';
import { WEBHOOKS } from '../../../shared/kafka/topics';
import { Periodic } from '../../../shared/runtime/async';
import { messageOf } from '../../../shared/runtime/errors';
import { type Log } from '../../../shared/telemetry/log';
import { watchCpuPressure } from '../history/cpu-pressure';
import { type Database } from '../history/database';
import { type History } from '../history/history';
import { dropLease, takeLease } from '../history/leases';
import { Chunks, entriesOf, type Entry, entryOf, type Found, unpack } from './chunk';
import {
  addChunks,
  chunksAfter,
  deleteChunks,
  keepChunks,
  markOf,
  type Position,
  readPositions,
  savePositions,
  setMark,
  smallChunks,
  type StoredChunk,
} from './store';

/**
 * Reads the bodies of `webhooks` into chunks that a search scans. A lease lets one control process
 * do so at a time.
 *
 * Invariant: one transaction writes the texts of records and the positions after them, so a new
 * process continues where the last one stopped. No delivery depends on it: it reads at most a few
 * MB in a second, and yields while other processes need all cores.
 */

const LEASE = 'search';
const LEASE_MS = 30_000;
/** Seldom enough that a chunk of a moderate load is whole and need not be merged. */
const POLL_EVERY_MS = 5_000;
/**
 * The reader yields to other processes no longer than this: within 30 s a search counts as
 * complete.
 */
const BEHIND_MS = 15_000;
const MAINTAIN_EVERY_MS = 60_000;
/** Limits the CPU time for a backlog: 4 MB take about 100 ms. */
const LOOK_BYTES = 20 * 1024 * 1024;
/**
 * Limits the memory for texts that are read and not yet written, beside those of one round of
 * fetches.
 */
const WRITE_BYTES = 2 * 1024 * 1024;
/** Text of a whole chunk. */
const CHUNK_CHARACTERS = 512 * 1024;
/** Chunks with less are merged, so that an idle system has few rows. */
const SMALL_BYTES = CHUNK_CHARACTERS / 2;
const AT_ONCE = 64;

export interface BodyIndexOptions {
  kafka: Pick<Kafka, 'read' | 'ranges'>;
  history: Pick<History, 'ask' | 'forgotten' | 'learnDeletions'>;
  /** 0: nothing is read */
  retentionMs: number;
  maxBytes: number;
  now: () => Date;
  log: Log;
  /** whether other processes need all cores */
  othersFirst?: () => boolean;
  /** ms, by a clock that never jumps */
  steadyMs?: () => number;
}

export class BodyIndex {
  readonly #owner = randomUUID();
  readonly #polling = new Periodic(POLL_EVERY_MS, () => this.pollInTurn());
  readonly #othersFirst: () => boolean;
  #maintainedAt = -Infinity;
  readonly #steadyMs: () => number;
  #polledAt: number;
  #polls = 0;
  #purgedSeq = 0;
  #trouble = false;

  constructor(private readonly options: BodyIndexOptions) {
    this.#othersFirst = options.othersFirst ?? watchCpuPressure();
    this.#steadyMs = options.steadyMs ?? (() => performance.now());
    this.#polledAt = this.#steadyMs();
  }

  get retentionMs(): number {
    return this.options.retentionMs;
  }

  start(): void {
    if (this.retentionMs > 0) this.#polling.start();
  }

  async stop(): Promise<void> {
    await this.#polling.stop();
    if (this.retentionMs === 0) return;
    const { history } = this.options;
    await history.ask((database) => dropLease(database, LEASE, this.#owner)).catch(() => undefined);
  }

  /**
   * Reads new records, and drops expired entries. @throws an error of Kafka or the database;
   * nothing is lost
   */
  async poll(): Promise<void> {
    const { history, now } = this.options;
    const nowMs = now().getTime();
    if (!(await this.#leads())) return;
    await history.learnDeletions();
    await this.#purge();
    await this.#read(nowMs);
    if (Math.abs(nowMs - this.#maintainedAt) < MAINTAIN_EVERY_MS) return;
    this.#maintainedAt = nowMs;
    await history.ask((database) =>
      keepChunks(database, nowMs - this.retentionMs, this.options.maxBytes),
    );
    await this.#merge();
  }

  #leads(): Promise<boolean> {
    const lease = { owner: this.#owner, forMs: LEASE_MS };
    return this.options.history.ask((database) => takeLease(database, LEASE, lease));
  }

  /** Reads new records, unless other processes need all cores. */
  async pollInTurn(): Promise<void> {
    // They may need them for hours.
    const isLate = this.#steadyMs() - this.#polledAt > BEHIND_MS;
    if (this.#othersFirst() && !isLate) return;
    this.#polledAt = this.#steadyMs();
    try {
      await this.poll();
      this.#trouble = false;
    } catch (error) {
      if (!this.#trouble) this.options.log.warn({ reason: messageOf(error) }, 'search.not_read');
      this.#trouble = true;
    }
  }

  async #read(nowMs: number): Promise<void> {
    const { kafka, history } = this.options;
    const ends = await kafka.ranges(WEBHOOKS);
    const known = new Map(
      (await history.ask(readPositions)).map((position) => [position.partition, position]),
    );
    const since = nowMs - this.retentionMs;
    const begin = ends.some(({ partition }) => !known.has(partition))
      ? await kafka.ranges(WEBHOOKS, since)
      : [];
    const places = new Map<number, Position & { end: number }>();
    let moved = new Map<number, Position>();
    for (const { partition, low, high: end } of ends) {
      const first = begin.find((each) => each.partition === partition)?.low ?? low;
      const before = known.get(partition) ?? { partition, next: first, since, readTo: since };
      const next = Math.min(Math.max(before.next, low), end);
      places.set(partition, { ...before, next, end });
      const readTo = next >= end ? nowMs : before.readTo;
      if (next !== before.next || !known.has(partition)) {
        moved.set(partition, { ...before, next, readTo });
      }
    }
    const all = Array.from(places.values(), ({ partition, next: from, end: to }) => ({
      topic: WEBHOOKS,
      partition,
      from,
      to,
    }));
    // Each poll begins with another partition, since none may have room for all.
    const first = this.#polls++ % Math.max(1, all.length);
    const sections = [...all.slice(first), ...all.slice(0, first)];
    let chunks = new Chunks(CHUNK_CHARACTERS);
    let bytes = 0;
    let written = 0;
    for await (const { partition, records, next } of scanAll(kafka, sections)) {
      const place = places.get(partition);
      if (!place) continue;
      for (const record of records) {
        bytes += record.value?.length ?? 0;
        const entry = record.timestampMs < since ? undefined : entryOf(record);
        if (entry && !this.#isForgotten(entry, history)) chunks.add(entry);
      }
      moved.set(partition, { ...place, next, readTo: next >= place.end ? nowMs : place.readTo });
      if (bytes - written < WRITE_BYTES) continue;
      await this.#write(chunks, [...moved.values()]);
      chunks = new Chunks(CHUNK_CHARACTERS);
      moved = new Map();
      written = bytes;
      if (bytes >= LOOK_BYTES) return;
    }
    if (moved.size > 0) await this.#write(chunks, [...moved.values()]);
  }

  #isForgotten(
    { user, anonymous, source, acceptedAt }: Found,
    { forgotten }: BodyIndexOptions['history'],
  ): boolean {
    return forgotten.hides(() => [user, anonymous].filter((id) => id !== null), source, acceptedAt);
  }

  async #write(chunks: Chunks, positions: readonly Position[]): Promise<void> {
    const packed = await chunks.pack();
    await this.options.history.ask((database) =>
      database.transaction(async (queries) => {
        await addChunks(queries, packed);
        await savePositions(queries, positions);
      }),
    );
  }

  /** Joins small chunks to whole ones. */
  async #merge(): Promise<void> {
    const small = await this.options.history.ask((database) =>
      smallChunks(database, SMALL_BYTES, AT_ONCE),
    );
    if (small.length > 1) await this.#replace(small, await allEntries(small));
  }

  /** Rewrites the chunks with texts of users that were deleted since the last time. */
  async #purge(): Promise<void> {
    const { history } = this.options;
    const { latestSeq } = history.forgotten;
    const ask = <T>(work: (database: Database) => Promise<T>) => history.ask(work);
    if (latestSeq <= this.#purgedSeq) return;
    this.#purgedSeq = await ask((database) => markOf(database, 'search_purged'));
    if (latestSeq <= this.#purgedSeq) return;
    for (let seq = 0; ;) {
      const chunks = await ask((database) => chunksAfter(database, seq, AT_ONCE));
      const last = chunks.at(-1);
      if (!last) break;
      seq = last.seq;
      for (const chunk of chunks) await this.#purgeChunk(chunk);
      if (!(await this.#leads())) return;
    }
    await ask((database) => setMark(database, 'search_purged', latestSeq));
    this.#purgedSeq = latestSeq;
  }

  async #purgeChunk(chunk: StoredChunk): Promise<void> {
    const all = await allEntries([chunk]);
    const kept = all.filter((entry) => !this.#isForgotten(entry, this.options.history));
    if (kept.length < all.length) await this.#replace([chunk], kept);
  }

  async #replace(chunks: readonly StoredChunk[], entries: readonly Entry[]): Promise<void> {
    const all = new Chunks(CHUNK_CHARACTERS);
    for (const entry of entries) all.add(entry);
    const packed = await all.pack();
    await this.options.history.ask((database) =>
      database.transaction(async (queries) => {
        await deleteChunks(
          queries,
          chunks.map(({ seq }) => seq),
        );
        await addChunks(queries, packed);
      }),
    );
  }
}

async function allEntries(chunks: readonly StoredChunk[]): Promise<Entry[]> {
  const unpacked = await Promise.all(chunks.map(({ data }) => unpack(data)));
  return unpacked.flatMap(entriesOf);
}
