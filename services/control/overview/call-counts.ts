import { type Kafka, type InRecord } from '../../../shared/kafka/port';
import { MESSAGES, REJECTED, topicSpecs, LIMITED } from '../../../shared/kafka/topics';
import { limitedCounts } from '../../../shared/model/rejected-calls';
import { type Span } from '../history/count-series';

/**
 * Counts accepted and rejected calls in steps of time, by subtracting the positions of a topic at
 * two times. So calls during a downtime of control are included, and ingest counts only what has no
 * record of its own.
 */

export interface CallStep {
  /** ms since 1970 */
  at: number;
  accepted: number;
  /** null: older than Kafka's retention */
  rejected: number | null;
  /**
   * requests with status 429, not calls, since most bodies were not read; null: older than Kafka's
   * retention
   */
  limited: number | null;
}

/**
 * Positions of a recent time may still move, because brokers' clocks differ and the last records
 * are still arriving.
 */
const SETTLED_MS = 10_000;
const SECOND_MS = 1_000;
/** Enough for the charts of a few people. Each entry is a number. */
const MAX_KNOWN = 2_000;

const REJECTED_KEPT_MS = retentionMs(REJECTED);
const LIMITED_KEPT_MS = retentionMs(LIMITED);

/**
 * Returns how long Kafka keeps the records of a topic. The setting for windows affects neither
 * topic that is counted.
 */
function retentionMs(topic: string): number {
  return (
    topicSpecs({ retryDelaysMs: [], windowMs: 0 }).find(({ name }) => name === topic)
      ?.retentionMs ?? 0
  );
}

export class CallCounts {
  readonly #known = new Map<string, number>();

  constructor(
    private readonly kafka: Pick<Kafka, 'ranges'>,
    private readonly limited: Pick<LimitedCalls, 'requests' | 'rejected'>,
  ) {}

  /**
   * Counts in steps. The last one ends at `untilMs`: to the second for calls with a record of their
   * own, and with the minute of that time for all others.
   */
  async count({ sinceMs, untilMs, stepMs }: Span, nowMs: number): Promise<CallStep[]> {
    const endMs = Math.ceil(untilMs / SECOND_MS) * SECOND_MS;
    const times: number[] = [];
    for (let at = sinceMs; at < endMs; at += stepMs) times.push(at);
    const accepted = await this.#positions(MESSAGES, [...times, endMs], nowMs);
    const rejected = await this.#positions(REJECTED, [...times, endMs], nowMs);
    return times.map((at, i) => {
      const lengthMs = Math.min(stepMs, endMs - at);
      return {
        at,
        accepted: between(accepted, i),
        rejected:
          at < nowMs - REJECTED_KEPT_MS
            ? null
            : between(rejected, i) + this.limited.rejected(at, lengthMs),
        limited: at < nowMs - LIMITED_KEPT_MS ? null : this.limited.requests(at, lengthMs),
      };
    });
  }

  /** Returns the number of records ever appended to a topic at each of these times. */
  async #positions(topic: string, times: readonly number[], nowMs: number): Promise<number[]> {
    const positions: number[] = [];
    for (const at of times) {
      if (at >= nowMs) {
        const ends = await this.kafka.ranges(topic);
        positions.push(ends.reduce((sum, { high }) => sum + high, 0));
        continue;
      }
      const key = `${topic} ${String(at)}`;
      const position = this.#known.get(key) ?? (await this.#position(topic, at));
      if (at < nowMs - SETTLED_MS) this.#keep(key, position);
      positions.push(position);
    }
    return positions;
  }

  async #position(topic: string, at: number): Promise<number> {
    const ranges = await this.kafka.ranges(topic, at);
    return ranges.reduce((sum, { low }) => sum + low, 0);
  }

  #keep(key: string, position: number): void {
    this.#known.set(key, position);
    const [oldest] = this.#known.keys();
    if (this.#known.size > MAX_KNOWN && oldest !== undefined) this.#known.delete(oldest);
  }
}

/** @param positions one more than steps: the last is the end */
function between(positions: readonly number[], step: number): number {
  // Kafka may delete old records between two reads, so the difference is at least 0.
  return Math.max(0, (positions[step + 1] ?? 0) - (positions[step] ?? 0));
}

/**
 * Counts for each minute the rejected calls without a record of their own, and the requests that
 * ingest refused with 429: the total, and the counts of the most limited sources. These counts of
 * the whole topic are in memory.
 */

const MINUTE_MS = 60_000;
/**
 * The most sources that are counted separately in a minute. A minute collects twice this number,
 * and then drops the smallest counts. A day of 10,000 sources would take 1 GB; this takes 20 MB. A
 * flood of requests comes from few sources.
 */
const MOST_SOURCES = 100;

interface Minute {
  rejected: number;
  requests: number;
  bySource: Map<string, number>;
}

export class LimitedCalls {
  readonly #minutes = new Map<number, Minute>();

  add({ value, timestampMs }: Pick<InRecord, 'value' | 'timestampMs'>): void {
    const counts = limitedCounts(value?.toString() ?? '');
    if (!counts) return;
    const at = Math.floor(timestampMs / MINUTE_MS);
    let minute = this.#minutes.get(at);
    if (!minute) {
      this.#forget(at);
      minute = {
        rejected: 0,
        requests: 0,
        bySource: new Map(),
      };
      this.#minutes.set(at, minute);
    }
    minute.rejected += counts.rejected;
    const { bySource } = minute;
    for (const [source, count] of counts.sources) {
      minute.requests += count;
      bySource.set(source, (bySource.get(source) ?? 0) + count);
    }
    if (bySource.size > 2 * MOST_SOURCES) minute.bySource = largest(bySource);
  }

  /** Counts requests in the minutes that start within `stepMs` from `at` on, ms since 1970. */
  requests(at: number, stepMs: number): number {
    return this.#between(at, at + stepMs).reduce((sum, { requests }) => sum + requests, 0);
  }

  /** Counts rejected calls in the same way. */
  rejected(at: number, stepMs: number): number {
    return this.#between(at, at + stepMs).reduce((sum, { rejected }) => sum + rejected, 0);
  }

  /**
   * Returns counts of requests by source for the minutes that start within a span, ms since 1970.
   * Without the counts of minutes in which a source was not among the most limited.
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

export async function openLimitedCalls(
  kafka: Pick<Kafka, 'tail'>,
  onFatal: (error: unknown) => void,
) {
  const calls = new LimitedCalls();
  const onRecord = (record: InRecord) => calls.add(record);
  const tail = await kafka.tail({
    name: 'control-limited',
    topic: LIMITED,
    from: 'beginning',
    batchMs: 500,
    onRecord,
    onFatal,
  });
  return { calls, stop: () => tail.stop() };
}
