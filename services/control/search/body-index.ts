import { randomUUID } from 'node:crypto';
import { WEBHOOKS } from '../../../shared/kafka/topics';
import { Periodic } from '../../../shared/runtime/async';
import { messageOf } from '../../../shared/runtime/errors';
import { type Log } from '../../../shared/telemetry/log';
import { type Database, type Transaction } from '../history/database';
import { type History } from '../history/history';
import { dropLease, takeLease } from '../history/leases';
import { type Handler } from '../reading/reader';
import {
  entriesOf,
  type SearchEntry,
  entryOf,
  type SearchableDelivery,
  pack,
  unpack,
} from './pack-texts';
import {
  addChunks,
  chunksAfter,
  deleteChunks,
  keepChunks,
  markOf,
  setMark,
  smallChunks,
  type StoredChunk,
} from './store';

/**
 * Stores the bodies of `webhooks` in chunks that a search scans, and keeps the chunks. A lease lets
 * one control process keep them at a time.
 */

/** names the positions of the reader */
export const SEARCH = 'search';
const LEASE = 'search';
const LEASE_MS = 30_000;
const POLL_EVERY_MS = 5_000;
const MAINTAIN_EVERY_MS = 60_000;
/** Text of a whole chunk. */
const CHUNK_CHARACTERS = 512 * 1024;
/** Chunks with less are merged, so that an idle system has few rows. */
const SMALL_BYTES = CHUNK_CHARACTERS / 2;
const AT_ONCE = 64;

export interface BodyIndexOptions {
  history: Pick<History, 'ask' | 'forgotten' | 'learnDeletions'>;
  /** 0: nothing is read, and nothing kept */
  retentionMs: number;
  maxBytes: number;
  now: () => Date;
  log: Log;
}

export class BodyIndex {
  readonly handler: Handler<SearchEntry>;
  readonly #owner = randomUUID();
  readonly #polling: Periodic;
  #maintainedAt = -Infinity;
  #purgedSeq = 0;

  constructor(private readonly options: BodyIndexOptions) {
    this.#polling = new Periodic(
      POLL_EVERY_MS,
      () => this.poll(),
      (error) => options.log.warn({ reason: messageOf(error) }, 'search.not_kept'),
    );
    const sinceMs = () => options.now().getTime() - options.retentionMs;
    this.handler = {
      name: SEARCH,
      topic: WEBHOOKS,
      sinceMs,
      entriesOf: (record) => {
        const entry = record.timestampMs < sinceMs() ? undefined : entryOf(record);
        return entry ? [entry] : [];
      },
      write: async (transaction, entries) => {
        await this.#write(transaction, entries);
        return undefined;
      },
    };
  }

  get retentionMs(): number {
    return this.options.retentionMs;
  }

  /** Also while the search is off: the texts that were stored before go. */
  start(): void {
    this.#polling.start();
  }

  async stop(): Promise<void> {
    await this.#polling.stop();
    const { history } = this.options;
    await history.ask((database) => dropLease(database, LEASE, this.#owner)).catch(() => undefined);
  }

  /**
   * Drops the texts of deleted users, and expired ones. @throws an error of the database; nothing
   * is lost
   */
  async poll(): Promise<void> {
    const { history, now } = this.options;
    const nowMs = now().getTime();
    if (!(await this.#leads())) return;
    await history.learnDeletions();
    await this.#purge();
    if (Math.abs(nowMs - this.#maintainedAt) < MAINTAIN_EVERY_MS) return;
    this.#maintainedAt = nowMs;
    const { retentionMs, maxBytes } = this.options;
    await history.ask((database) => keepChunks(database, { nowMs, retentionMs, maxBytes }));
    await this.#merge();
  }

  #leads(): Promise<boolean> {
    const lease = { owner: this.#owner, forMs: LEASE_MS };
    return this.options.history.ask((database) => takeLease(database, LEASE, lease));
  }

  async #write(transaction: Transaction, entries: readonly SearchEntry[]): Promise<void> {
    const { history, now } = this.options;
    await history.forgotten.learn(transaction, transaction.kind, now().getTime());
    const kept = entries.filter((entry) => !this.#isForgotten(entry, history));
    await addChunks(transaction, await pack(kept, CHUNK_CHARACTERS));
  }

  #isForgotten(
    { user, anonymous, source, acceptedAt }: SearchableDelivery,
    { forgotten }: BodyIndexOptions['history'],
  ): boolean {
    return forgotten.hides(() => [user, anonymous].filter((id) => id !== null), source, acceptedAt);
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

  /**
   * Replaces chunks, unless another process has replaced one of them since they were read: their
   * texts may be of users who were deleted since, or be in other chunks already.
   */
  async #replace(chunks: readonly StoredChunk[], entries: readonly SearchEntry[]): Promise<void> {
    const packed = await pack(entries, CHUNK_CHARACTERS);
    await this.options.history.ask((database) =>
      database.transaction(async (queries) => {
        const seqs = chunks.map(({ seq }) => seq);
        await queries.query('savepoint chunks');
        const deleted = await deleteChunks(queries, seqs);
        if (deleted === seqs.length) await addChunks(queries, packed);
        else await queries.query('rollback to savepoint chunks');
      }),
    );
  }
}

async function allEntries(chunks: readonly StoredChunk[]): Promise<SearchEntry[]> {
  const unpacked = await Promise.all(chunks.map(({ data }) => unpack(data)));
  return unpacked.flatMap(entriesOf);
}
