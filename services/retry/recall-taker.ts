import { type BatchProducer, type InRecord, type OutRecord } from '../../shared/kafka/port';
import { attemptsRecord, DUE, recallRecord } from '../../shared/kafka/topics';
import { recalledHeaders, recallEvent, stepHash, takenNote } from '../../shared/model/recall';
import { sendFirst } from '../../shared/kafka/send-each';
import { type KnownRecall, type RecallLog } from './recall-log';
import { countRecalled } from './telemetry';

/**
 * Copies records of tiers to `webhooks.due` and notes their steps. The order is: the event for the
 * history, the copy, the note. After a crash between two of them the next owner repeats it, and
 * delivery drops the second copy.
 *
 * A record whose copy Kafka refuses for good stays in its tier, and its return ends it
 * (`requeuer.ts`). Without an event that Kafka refuses, the delivery still goes on: the history
 * then does not show that it was recalled.
 */

export interface TakerDeps {
  producer: Pick<BatchProducer, 'send'>;
  /** the brokers' clock, ms since 1970 */
  now: () => number;
}

interface Chosen {
  record: InRecord;
  step: string;
}

export class RecallTaker {
  readonly #steps = new Set<string>();
  /** copies under way, by partition */
  readonly #taking = new Map<number, number>();
  #waiting: (() => void)[] = [];

  /** @param mayTake false: the record was returned, or another process owns its partition */
  constructor(
    private readonly deps: TakerDeps,
    private readonly log: RecallLog,
    private readonly mayTake: (record: InRecord) => boolean,
  ) {}

  get isIdle(): boolean {
    return this.#steps.size === 0;
  }

  isTaking(partition: number): boolean {
    return this.#taking.has(partition);
  }

  isTakingStep(step: string): boolean {
    return this.#steps.has(step);
  }

  /** Resolves when no copy is under way. */
  async idle(): Promise<void> {
    if (!this.isIdle) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  /**
   * @returns true if Kafka has acknowledged a copy of one of them at least
   * @throws if the producer stops
   */
  async take(known: KnownRecall, records: readonly InRecord[]): Promise<boolean> {
    const chosen: Chosen[] = [];
    for (const record of records) {
      const step = stepHash(record.headers);
      const isFree =
        step !== undefined && !this.#steps.has(step) && !this.log.isTaken(step, this.deps.now());
      if (isFree && this.mayTake(record)) chosen.push({ record, step });
    }
    if (chosen.length === 0) return false;
    this.#hold(chosen);
    try {
      return await this.#copy(known, chosen);
    } finally {
      this.#release(chosen);
    }
  }

  /** @returns false if Kafka refuses all of them */
  async #copy({ recall }: KnownRecall, chosen: readonly Chosen[]): Promise<boolean> {
    const { now } = this.deps;
    const nowMs = now();
    const events = chosen.flatMap(({ record }): OutRecord[] => {
      const event = recallEvent(recall, record, nowMs);
      return event ? [attemptsRecord(event.delivery, event)] : [];
    });
    // First the event: the history must not read it after the events of the attempt.
    await Promise.all(events.map((event) => this.#write(event)));
    const copied = await Promise.all(
      chosen.map(({ record: { key, value, headers } }) =>
        this.#write({
          topic: DUE,
          key: key?.toString() ?? null,
          value: Buffer.from(value ?? ''),
          headers: recalledHeaders(recall, headers),
        }),
      ),
    );
    const steps = chosen.filter((_, i) => copied[i]).map(({ step }) => step);
    if (steps.length === 0) return false;
    this.log.take(steps, nowMs);
    countRecalled(recall.action, steps.length);
    await this.deps.producer.send([recallRecord(takenNote(recall.id, steps))]);
    return true;
  }

  /**
   * Writes a record alone, so that it fails alone.
   * @returns false if Kafka refuses it for good
   * @throws if the producer stops
   */
  #write(record: OutRecord): Promise<boolean> {
    return sendFirst(this.deps.producer, [[record]]);
  }

  #hold(chosen: readonly Chosen[]): void {
    for (const { record, step } of chosen) {
      this.#steps.add(step);
      this.#taking.set(record.partition, (this.#taking.get(record.partition) ?? 0) + 1);
    }
  }

  #release(chosen: readonly Chosen[]): void {
    for (const { record, step } of chosen) {
      this.#steps.delete(step);
      const left = (this.#taking.get(record.partition) ?? 1) - 1;
      if (left > 0) this.#taking.set(record.partition, left);
      else this.#taking.delete(record.partition);
    }
    if (!this.isIdle) return;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}
