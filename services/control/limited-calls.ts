import { limitedCount } from '../../shared/domain/limited';
import { type InRecord, type Kafka } from '../../shared/kafka/port';
import { LIMITED, topicSpecs } from '../../shared/kafka/topics';

/** How many requests ingest answered with 429, by minute: the whole topic is kept in memory, as a number for each minute. */

const MINUTE_MS = 60_000;

export const LIMITED_KEPT_MS =
  topicSpecs({ retryDelaysMs: [], windowMs: 0 }).find(({ name }) => name === LIMITED)?.retentionMs ?? 0;

export class LimitedCalls {
  readonly #byMinute = new Map<number, number>();

  add({ value, timestampMs }: Pick<InRecord, 'value' | 'timestampMs'>): void {
    const minute = Math.floor(timestampMs / MINUTE_MS);
    const before = this.#byMinute.get(minute);
    if (before === undefined) this.#forget(minute);
    this.#byMinute.set(minute, (before ?? 0) + limitedCount(value?.toString() ?? ''));
  }

  /** @param stepMs whole minutes from `at` on, ms since 1970 */
  count(at: number, stepMs: number): number {
    let sum = 0;
    for (let ms = at; ms < at + stepMs; ms += MINUTE_MS) sum += this.#byMinute.get(Math.floor(ms / MINUTE_MS)) ?? 0;
    return sum;
  }

  #forget(newest: number): void {
    for (const minute of this.#byMinute.keys()) {
      if (minute < newest - LIMITED_KEPT_MS / MINUTE_MS) this.#byMinute.delete(minute);
    }
  }
}

export async function openLimitedCalls(kafka: Pick<Kafka, 'tail'>, onFatal: (error: unknown) => void) {
  const calls = new LimitedCalls();
  const onRecord = (record: InRecord) => calls.add(record);
  const tail = await kafka.tail({
    ...{ name: 'control-limited', topic: LIMITED, from: 'beginning', patient: true },
    ...{ onRecord, onFatal },
  });
  return { calls, stop: () => tail.stop() };
}
