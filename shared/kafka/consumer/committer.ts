import { messageOf } from '../../runtime/errors';
import { type Log } from '../../telemetry/log';
import { MOST_NOTE_BYTES } from './commit-note';
import { type Commit, type Partition } from './partition';

/** A commit of a partition. */
export interface DueCommit {
  partition: Partition;
  commit: Commit;
}

/**
 * A crash repeats the records done since the last commit. Fewer records than these wait for a
 * while, because a commit costs the broker and this process as much as a few records.
 */
const FEW_RECORDS = 25;
const FEW_EVERY_MS = 300;
/**
 * Limit of the notes in a request, half of the 1 MB that brokers take by default
 * (`message.max.bytes`): they store a request as one batch, or refuse it as a whole.
 */
const MOST_REQUEST_BYTES = 512 * 1024;

/**
 * Commits changed offsets, one request at a time. The next request repeats the offsets of a failed
 * one.
 */
export class Committer {
  #running: Promise<void> = Promise.resolve();
  /** rounds that run or wait */
  #rounds = 0;
  /** start of the last request */
  #sentAt = -Infinity;
  /** the last request failed */
  #isFailing = false;
  /** most bytes of a note that the broker takes, as far as is known */
  #noteBytes = MOST_NOTE_BYTES;

  constructor(
    private readonly options: {
      partitions: () => Iterable<Partition>;
      /** sends commits. @returns those that are settled @throws if none is */
      send: (commits: readonly DueCommit[]) => Promise<readonly DueCommit[]>;
      /** called after each round, failed or not */
      after: () => void;
      log: Log;
    },
  ) {}

  /**
   * Starts a round, unless another one runs: during a pause of the broker hundreds would queue up
   * behind it.
   * @param nowMs by `performance.now()`; Infinity also commits changes that are not due yet, after
   *   the round that runs
   */
  run(nowMs: number): Promise<void> {
    if (this.#rounds > 0 && nowMs < Infinity) return this.#running;
    this.#rounds++;
    this.#running = this.#running.then(async () => {
      const partitions = [...this.options.partitions()];
      const isDue = this.#isDue(partitions, nowMs);
      const commits = isDue ? dueCommits(partitions, nowMs, this.#noteBytes) : [];
      if (commits.length > 0) {
        if (nowMs < Infinity) this.#sentAt = nowMs;
        await this.#send(commits);
      }
      this.options.after();
      this.#rounds--;
    });
    return this.#running;
  }

  /**
   * Shortens all notes, because the broker has refused one: their limit is one of its settings
   * (`offset.metadata.max.bytes`).
   */
  shortenNotes(): void {
    this.#noteBytes = Math.floor(this.#noteBytes / 2);
  }

  #isDue(partitions: readonly Partition[], nowMs: number): boolean {
    if (nowMs - this.#sentAt >= FEW_EVERY_MS) return true;
    let records = 0;
    for (const partition of partitions) {
      if (!partition.isReading) return true;
      records += partition.uncommitted;
    }
    return records >= FEW_RECORDS;
  }

  async #send(commits: readonly DueCommit[]): Promise<void> {
    try {
      for (const { partition, commit } of await this.options.send(commits)) {
        partition.acknowledged(commit);
      }
      this.#isFailing = false;
    } catch (error) {
      // A broker that restarts refuses many in a row.
      this.options.log[this.#isFailing ? 'debug' : 'warn'](
        { reason: messageOf(error) },
        'commit.failed',
      );
      this.#isFailing = true;
    }
  }
}

/**
 * Returns the commits that are due. Their notes are shortened by half until a request has room for
 * all of them: hundreds of partitions can have notes of 4 KB.
 */
export function dueCommits(
  partitions: readonly Partition[],
  nowMs: number,
  mostNoteBytes = MOST_NOTE_BYTES,
): DueCommit[] {
  for (let noteBytes = mostNoteBytes; ; noteBytes = Math.floor(noteBytes / 2)) {
    const commits: DueCommit[] = [];
    let bytes = 0;
    for (const partition of partitions) {
      const commit = partition.commit(nowMs, noteBytes);
      if (!commit) continue;
      commits.push({ partition, commit });
      bytes += commit.metadata.length;
    }
    if (bytes <= MOST_REQUEST_BYTES) return commits;
  }
}
