import { type Kafka } from '../../../shared/kafka/port';
import { MESSAGES, REJECTED, topicSpecs } from '../../../shared/kafka/topics';
import { LIMITED_KEPT_MS, type LimitedCalls } from './limited-calls';

/**
 * How many calls were accepted and rejected, in steps of time. Kafka knows: a topic's positions at two times, subtracted.
 * So nothing is counted where calls come in, and what control missed while it was down is there all the same.
 */

export interface CallStep {
  /** ms since 1970 */
  at: number;
  accepted: number;
  /** null: before what Kafka keeps of them */
  rejected: number | null;
  /** requests answered 429, not calls: most were not read; null: before what Kafka keeps of them */
  limited: number | null;
}

/** Positions of a time just past may still move: brokers' clocks differ, and the last records come in. */
const SETTLED_MS = 10_000;
/** A few people's charts; each is a number. */
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

  /** @param span steps of so many ms from a time on, until now */
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

  /** How many records a topic had ever taken: at each time, and now. */
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
  /** where each step begins */
  times: readonly number[];
  /** one more than there are steps: the last is now */
  accepted: readonly number[];
  rejected: readonly number[];
  rejectedSinceMs: number;
}

function stepsOf({ times, accepted, rejected, rejectedSinceMs }: Positions): Omit<CallStep, 'limited'>[] {
  // Between two questions Kafka may drop old records: never less than none.
  const between = (positions: readonly number[], i: number) =>
    Math.max(0, (positions[i + 1] ?? 0) - (positions[i] ?? 0));
  return times.map((at, i) => ({
    at,
    accepted: between(accepted, i),
    rejected: at < rejectedSinceMs ? null : between(rejected, i),
  }));
}
