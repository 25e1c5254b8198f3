import { limitedCounts } from '../../../shared/model/rejected-calls';
import { type InRecord, type Kafka } from '../../../shared/kafka/port';
import { LIMITED, topicSpecs } from '../../../shared/kafka/topics';

/**
 * Counts the requests that ingest answered with 429: all of each minute, and those of the minute's most limited sources.
 * The whole topic is in memory in this form.
 */

const MINUTE_MS = 60_000;
/**
 * Sources counted by name in a minute, up to twice as many between two cuts. A day of 10,000 sources, the most that
 * `config` holds, would take 1 GB; this takes 20 MB. A flood of requests comes from few sources.
 */
const MOST_SOURCES = 100;

export const LIMITED_KEPT_MS =
  topicSpecs({ retryDelaysMs: [], windowMs: 0 }).find(({ name }) => name === LIMITED)?.retentionMs ?? 0;

interface Minute {
  total: number;
  bySource: Map<string, number>;
}

export class LimitedCalls {
  readonly #minutes = new Map<number, Minute>();

  add({ value, timestampMs }: Pick<InRecord, 'value' | 'timestampMs'>): void {
    const at = Math.floor(timestampMs / MINUTE_MS);
    let minute = this.#minutes.get(at);
    if (!minute) {
      this.#forget(at);
      this.#minutes.set(at, (minute = { total: 0, bySource: new Map() }));
    }
    const { bySource } = minute;
    for (const [source, count] of limitedCounts(value?.toString() ?? '')) {
      minute.total += count;
      bySource.set(source, (bySource.get(source) ?? 0) + count);
    }
    if (bySource.size > 2 * MOST_SOURCES) minute.bySource = largest(bySource);
  }

  /** @param stepMs length in whole minutes, starting at `at`, ms since 1970 */
  count(at: number, stepMs: number): number {
    return this.#between(at, at + stepMs).reduce((sum, { total }) => sum + total, 0);
  }

  /**
   * Returns counts by source for the minutes that start within a span, ms since 1970. Without the counts of minutes in which
   * a source was not among the most limited.
   */
  bySource(from: number, until: number): Record<string, number> {
    const sums = new Map<string, number>();
    for (const { bySource } of this.#between(from, until)) {
      for (const [source, count] of bySource) sums.set(source, (sums.get(source) ?? 0) + count);
    }
    return Object.fromEntries(sums);
  }

  /** The topic has few minutes, even for a long span. */
  #between(from: number, until: number): Minute[] {
    return [...this.#minutes].flatMap(([at, minute]) =>
      at * MINUTE_MS >= from && at * MINUTE_MS < until ? [minute] : [],
    );
  }

  #forget(newest: number): void {
    for (const at of this.#minutes.keys()) {
      if (at < newest - LIMITED_KEPT_MS / MINUTE_MS) this.#minutes.delete(at);
    }
  }
}

function largest(counts: ReadonlyMap<string, number>): Map<string, number> {
  return new Map([...counts].sort(([, a], [, b]) => b - a).slice(0, MOST_SOURCES));
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
