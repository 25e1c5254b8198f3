import { type Kafka } from '../../../shared/kafka/port';
import { scanAll } from '../../../shared/kafka/scan';
import { ATTEMPTS } from '../../../shared/kafka/topics';
import { requireKnownFormat } from '../../../shared/runtime/errors';
import { addToHealth } from '../health/store';
import { beginPositions, movePositions, readPositions } from './store';
import { saveSignals } from './signal-store';
import { type History } from '../history/history';
import { type Evidence, evidenceOf } from '../health/attempt-evidence';
import { holding, type Signal, signalOf } from './signals';

/**
 * Reads `attempts` for the health of destinations only, independently of the history: it writes a
 * row for each destination and none for a delivery, so it keeps up when the history does not.
 *
 * Invariant: one transaction writes the evidence of records and the positions after them, on
 * condition that the stored positions are those this reader started at. So each record counts once,
 * although control processes alternate.
 */

/** Records between two writes while the reader is far behind. Their failures are held in memory. */
const WRITE_AFTER = 20_000;
/** Look-back of a new database. Older trouble shows in later records. */
const LOOK_BACK_MS = 3_600_000;

export interface ReaderOptions {
  kafka: Pick<Kafka, 'read' | 'ranges'>;
  history: Pick<History, 'ask'>;
  now: () => Date;
}

export class AttemptReader {
  /** by partition, as the database has them; undefined: not known */
  #stored: Map<number, number> | undefined;
  /** the next offset to read, by partition */
  #next = new Map<number, number>();
  #failures: Evidence[] = [];
  /** the last success of each destination, ms since 1970 */
  #successes = new Map<string, number>();
  /** the fact of each key that holds */
  #signals = new Map<string, Signal>();
  #unwritten = 0;

  constructor(private readonly options: ReaderOptions) {}

  /** Drops its positions, because another process has read since. */
  forget(): void {
    this.#stored = undefined;
  }

  /**
   * Reads to the current ends of the topic, and writes the evidence.
   * @param goOn called before each write
   * @returns whether all of it is in the database
   * @throws an error of Kafka or the database; no record is lost or counted twice
   */
  async readToEnds(goOn: () => Promise<boolean>): Promise<boolean> {
    const { kafka } = this.options;
    const ends = await kafka.ranges(ATTEMPTS);
    if (!this.#stored) await this.#begin(ends.map(({ partition }) => partition));
    const sections = ends.map(({ partition, low, high }) => {
      // Beyond the end: the topic has lost its tail, or was created again.
      const from = Math.min(Math.max(this.#next.get(partition) ?? low, low), high);
      this.#next.set(partition, from);
      return { topic: ATTEMPTS, partition, from, to: high };
    });
    for await (const { partition, records, next } of scanAll(kafka, sections)) {
      for (const record of records) {
        requireKnownFormat(record, 'this control process');
        for (const evidence of evidenceOf(record.value)) this.#learn(evidence);
        this.#note(signalOf(record.value));
      }
      this.#next.set(partition, next);
      this.#unwritten += records.length;
      if (this.#unwritten >= WRITE_AFTER && !((await goOn()) && (await this.#write()))) {
        return false;
      }
    }
    return (await goOn()) && (await this.#write());
  }

  async #begin(partitions: readonly number[]): Promise<void> {
    const { kafka, history, now } = this.options;
    let stored = await history.ask(readPositions);
    if (stored.size === 0) {
      const since = await kafka.ranges(ATTEMPTS, now().getTime() - LOOK_BACK_MS);
      stored = new Map(since.map(({ partition, low }) => [partition, low]));
    }
    // A new partition is read from its beginning.
    const all = new Map(partitions.map((partition) => [partition, stored.get(partition) ?? 0]));
    await history.ask((database) => beginPositions(database, all));
    this.#reset(all);
  }

  #reset(stored: Map<number, number> | undefined): void {
    this.#stored = stored;
    this.#next = new Map(stored);
    this.#failures = [];
    this.#successes = new Map();
    this.#signals = new Map();
    this.#unwritten = 0;
  }

  #note(signal: Signal | undefined): void {
    if (signal) this.#signals.set(signal.key, holding(this.#signals.get(signal.key), signal));
  }

  #learn(evidence: Evidence): void {
    if (evidence.kind === 'ok') {
      const { destination, at } = evidence;
      this.#successes.set(destination, Math.max(at, this.#successes.get(destination) ?? 0));
    } else this.#failures.push(evidence);
  }

  /** @returns false if another process has read since */
  async #write(): Promise<boolean> {
    const stored = this.#stored ?? new Map<number, number>();
    const moves = [...this.#next].flatMap(([partition, to]) => {
      const from = stored.get(partition) ?? 0;
      return from === to ? [] : [{ partition, from, to }];
    });
    if (moves.length === 0) return true;
    const successes = [...this.#successes].map(([destination, at]): Evidence => ({
      kind: 'ok',
      destination,
      at,
    }));
    const evidence = [...this.#failures, ...successes];
    try {
      const moved = await this.options.history.ask((database) =>
        database.transaction(async (queries) => {
          if (!(await movePositions(queries, moves))) return false;
          await addToHealth(queries, evidence);
          await saveSignals(queries, [...this.#signals.values()]);
          return true;
        }),
      );
      this.#reset(moved ? new Map(this.#next) : undefined);
      return moved;
    } catch (error) {
      // The transaction may have been committed, so the next look reads the positions from the
      // database.
      this.#reset(undefined);
      throw error;
    }
  }
}
