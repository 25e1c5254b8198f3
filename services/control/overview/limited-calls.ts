import { limitedCounts } from '../../../shared/model/limited-requests';
import { type InRecord, type Kafka } from '../../../shared/kafka/port';
import { LIMITED, topicSpecs } from '../../../shared/kafka/topics';

/**
 * Counts the requests that ingest answered with 429. The whole topic is in memory, as a count for each minute and
 * source.
 */

const MINUTE_MS = 60_000;

export const LIMITED_KEPT_MS =
  topicSpecs({ retryDelaysMs: [], windowMs: 0 }).find(({ name }) => name === LIMITED)?.retentionMs ?? 0;

export class LimitedCalls {
  readonly #byMinute = new Map<number, Map<string, number>>();

  add({ value, timestampMs }: Pick<InRecord, 'value' | 'timestampMs'>): void {
    const minute = Math.floor(timestampMs / MINUTE_MS);
    let bySource = this.#byMinute.get(minute);
    if (!bySource) {
      this.#forget(minute);
      this.#byMinute.set(minute, (bySource = new Map<string, number>()));
    }
    for (const [source, count] of limitedCounts(value?.toString() ?? '')) {
      bySource.set(source, (bySource.get(source) ?? 0) + count);
    }
  }

  /** @param stepMs length in whole minutes, starting at `at`, ms since 1970 */
  count(at: number, stepMs: number): number {
    return Object.values(this.bySource(at, at + stepMs)).reduce((sum, count) => sum + count, 0);
  }

  /** Returns counts by source for the minutes that start within a span, ms since 1970. */
  bySource(from: number, until: number): Record<string, number> {
    const sums = new Map<string, number>();
    // The topic has few minutes, even for a long span.
    for (const [minute, counts] of this.#byMinute) {
      if (minute * MINUTE_MS < from || minute * MINUTE_MS >= until) continue;
      for (const [source, count] of counts) sums.set(source, (sums.get(source) ?? 0) + count);
    }
    return Object.fromEntries(sums);
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
    ...{ name: 'control-limited', topic: LIMITED, from: 'beginning', batchFetches: true },
    ...{ onRecord, onFatal },
  });
  return { calls, stop: () => tail.stop() };
}
