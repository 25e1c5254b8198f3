import { type Kafka } from '../../../shared/kafka/port';
import { MESSAGES, REJECTED, topicSpecs } from '../../../shared/kafka/topics';
import { LIMITED_KEPT_MS, type LimitedCalls } from './limited-calls';

/**
 * Counts accepted and rejected calls in steps of time, by subtracting the positions of a topic at two times. So ingest
 * counts nothing, and calls during a downtime of control are included.
 */

export interface CallStep {
  /** ms since 1970 */
  at: number;
  accepted: number;
  /** null: older than Kafka's retention */
  rejected: number | null;
  /** requests with status 429, not calls, since most bodies were not read; null: older than Kafka's retention */
  limited: number | null;
}

/**
 * Positions of a recent time may still move, because brokers' clocks differ and the last records are still arriving.
 */
const SETTLED_MS = 10_000;
/** Enough for the charts of a few people. Each entry is a number. */
const MAX_KNOWN = 2_000;

export class CallCounts {
  readonly #kafka: Pick<Kafka, 'ranges'>;
  readonly #known = new Map<string, number>();

  constructor(
    kafka: Pick<Kafka, 'ranges'>,
    private readonly limited: Pick<LimitedCalls, 'count'>,
  ) {
    this.#kafka = kafka;
  }

  /** @param span start and length of the steps, which end now */
  async count({ sinceMs, stepMs }: { sinceMs: number; stepMs: number }, nowMs: number): Promise<CallStep[]> {
    const times: number[] = [];
    for (let at = sinceMs; at < nowMs; at += stepMs) times.push(at);
    const accepted = await this.#positions(MESSAGES, times, nowMs);
    const rejected = await this.#positions(REJECTED, times, nowMs);
    const steps = stepsOf({ times, accepted, rejected, rejectedSinceMs: nowMs - REJECTED_KEPT_MS });
    return steps.map((step) => ({
      ...step,
      limited: step.at < nowMs - LIMITED_KEPT_MS ? null : this.limited.count(step.at, stepMs),
    }));
  }

  /** Returns the number of records ever appended to a topic: at each time, and now. */
  async #positions(topic: string, times: readonly number[], nowMs: number): Promise<number[]> {
    const positions: number[] = [];
    for (const at of times) {
      const key = `${topic} ${String(at)}`;
      const position = this.#known.get(key) ?? (await this.#position(topic, at));
      if (at < nowMs - SETTLED_MS) this.#keep(key, position);
      positions.push(position);
    }
    const ends = await this.#kafka.ranges(topic);
    return [...positions, ends.reduce((sum, { high }) => sum + high, 0)];
  }

  async #position(topic: string, at: number): Promise<number> {
    const ranges = await this.#kafka.ranges(topic, at);
    return ranges.reduce((sum, { low }) => sum + low, 0);
  }

  #keep(key: string, position: number): void {
    this.#known.set(key, position);
    const [oldest] = this.#known.keys();
    if (this.#known.size > MAX_KNOWN && oldest !== undefined) this.#known.delete(oldest);
  }
}

const REJECTED_KEPT_MS =
  topicSpecs({ retryDelaysMs: [], windowMs: 0 }).find(({ name }) => name === REJECTED)?.retentionMs ?? 0;

interface Positions {
  /** start of each step */
  times: readonly number[];
  /** positions, one more than steps: the last is now */
  accepted: readonly number[];
  rejected: readonly number[];
  rejectedSinceMs: number;
}

function stepsOf({ times, accepted, rejected, rejectedSinceMs }: Positions): Omit<CallStep, 'limited'>[] {
  // Kafka may delete old records between two reads, so the difference is at least 0.
  const between = (positions: readonly number[], i: number) =>
    Math.max(0, (positions[i + 1] ?? 0) - (positions[i] ?? 0));
  return times.map((at, i) => ({
    at,
    accepted: between(accepted, i),
    rejected: at < rejectedSinceMs ? null : between(rejected, i),
  }));
}
