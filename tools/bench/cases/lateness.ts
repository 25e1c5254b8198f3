import { type InRecord, type Kafka, type Tail } from '../../../shared/kafka/port';
import { DUE, tierTopic } from '../../../shared/kafka/topics';
import { type Times, timesOf } from '../arithmetic';

export interface LatenessFigure extends Times {
  /** due, but not in `webhooks.due` */
  missing: number;
}

/**
 * Measures how late a delivery moves from its tier to the topic `webhooks.due`, by the broker's
 * clock.
 */
export class Lateness {
  /** ms since 1970, by delivery id */
  readonly #dueAt = new Map<string, number>();
  readonly #putAt = new Map<string, number>();
  readonly #tails: Tail[] = [];

  constructor(private readonly delayMs: number) {}

  /** Watches records that are appended to the tier from now on. */
  static async watch(kafka: Kafka, delayMs: number): Promise<Lateness> {
    const lateness = new Lateness(delayMs);
    const tail = async (topic: string, onRecord: (record: InRecord) => void) => {
      // Unread records count as missing.
      const onFatal = () => undefined;
      lateness.#tails.push(
        await kafka.tail({ name: 'bench-lateness', topic, from: 'end', onRecord, onFatal }),
      );
    };
    await tail(tierTopic(delayMs), (record) => lateness.waits(idOf(record), record.timestampMs));
    await tail(DUE, (record) => lateness.isPut(idOf(record), record.timestampMs));
    return lateness;
  }

  waits(id: string, sinceMs: number): void {
    this.#dueAt.set(id, sinceMs + this.delayMs);
  }

  isPut(id: string, atMs: number): void {
    // A second copy, after a crash, does not count as later.
    if (!this.#putAt.has(id)) this.#putAt.set(id, atMs);
  }

  /** Returns the figures of records due between two times, ms since 1970. */
  between(fromMs: number, toMs: number): LatenessFigure {
    const due = [...this.#dueAt].filter(([, atMs]) => atMs >= fromMs && atMs < toMs);
    const late = due.flatMap(([id, dueMs]) => {
      const putMs = this.#putAt.get(id);
      return putMs === undefined ? [] : [putMs - dueMs];
    });
    return {
      ...timesOf(late),
      count: due.length,
      missing: due.length - late.length,
    };
  }

  async stop(): Promise<void> {
    for (const tail of this.#tails) await tail.stop();
  }
}

function idOf({ headers }: InRecord): string {
  return headers.delivery?.toString() ?? '';
}
