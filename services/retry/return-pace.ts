import { type Kafka } from '../../shared/kafka/port';
import { tierDelayMs } from '../../shared/kafka/topics';

/**
 * Spreads deliveries that fall due together. After an outage, thousands may have entered a tier
 * within a moment. They would all return within a moment, and fill every lane again.
 *
 * A partition returns its records in the order of their offsets, a little faster than they fell due
 * on average over the last `spread`. Kafka counts them by their timestamps. A crowd of N returns
 * evenly over about one `spread`. Each record adds its part to the rate until it is late by one
 * `spread`, so that none is later, and so that at any time half of the rate at least continues for
 * five seconds before or after. A steady flow is delayed only while it begins: after that its rate
 * is its mean, and the margin brings the delay to an end.
 *
 * A backlog from an outage of this service returns evenly over two spreads, beside the steady flow.
 * The records of the next spread are in the tier already, and show whether a flow continues. A
 * backlog that is no larger than the flow of a spread, as after a restart, returns over one spread.
 */

/**
 * With the margin, a crowd returns over five seconds: no second then has more than twice the mean
 * of the ten seconds around it. A short tier is spread over half of its delay.
 */
const MOST_SPREAD_MS = 5_500;
/** Shorter tiers are for tests. Their records return without a delay. */
const LEAST_DELAY_MS = 4_000;
/** Records of a partition that may return each second without a count. */
const FREE = 5;
/** Counts are repeated this often within a spread. */
const COUNTS = 10;
/** Above the mean, so that a delay ends. */
const MARGIN = 1.1;
/** Part of a second for which a partition may save up its rate. */
const SAVED = 0.25;
const LEAST_WAIT_MS = 100;
const MOST_WAIT_MS = 400;

interface DueRecord {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
}

interface PartitionPace {
  /** records that may return now */
  tokens: number;
  at: number;
  /** records a second */
  perSecond: number;
  head: number;
  /** most records that were due and had not returned, since the partition was last free */
  backlog: number;
}

interface TierPace {
  readonly topic: string;
  readonly delayMs: number;
  readonly spreadMs: number;
  readonly partitions: Map<number, PartitionPace>;
  countedAt: number;
  counting: boolean;
}

export class ReturnPace {
  readonly #tiers = new Map<string, TierPace | undefined>();

  /** @param brokersNow the brokers' clock, whose timestamps are counted; ms since 1970 */
  constructor(
    private readonly kafka: Pick<Kafka, 'ranges'>,
    private readonly brokersNow: () => number,
  ) {}

  /**
   * @param nowMs by a clock that never jumps
   * @returns 0 if it may return now, else the wait until it is asked
   *   again, ms
   */
  waitMs(record: DueRecord, nowMs: number): number {
    const tier = this.#tierOf(record.topic);
    if (!tier) return 0;
    const pace = paceOf(tier, record, nowMs);
    const mayReturn = pace.tokens >= 1;
    if (!mayReturn || pace.perSecond > FREE) this.#count(tier, nowMs);
    if (mayReturn) {
      pace.tokens--;
      return 0;
    }
    const waitMs = ((1 - pace.tokens) * 1_000) / pace.perSecond;
    return Math.min(MOST_WAIT_MS, Math.max(LEAST_WAIT_MS, waitMs));
  }

  #tierOf(topic: string): TierPace | undefined {
    if (!this.#tiers.has(topic)) {
      const delayMs = tierDelayMs(topic) ?? 0;
      const spreadMs = Math.min(MOST_SPREAD_MS, delayMs / 2);
      const tier = {
        topic,
        delayMs,
        spreadMs,
        partitions: new Map(),
        countedAt: -Infinity,
        counting: false,
      };
      this.#tiers.set(topic, delayMs < LEAST_DELAY_MS ? undefined : tier);
    }
    return this.#tiers.get(topic);
  }

  #count(tier: TierPace, nowMs: number): void {
    const sinceMs = nowMs - tier.countedAt;
    if (tier.counting && sinceMs > tier.spreadMs) holdNothingBack(tier);
    if (tier.counting || sinceMs < tier.spreadMs / COUNTS) return;
    tier.counting = true;
    tier.countedAt = nowMs;
    this.#counted(tier, this.brokersNow()).then(
      () => (tier.counting = false),
      () => {
        holdNothingBack(tier);
        tier.counting = false;
      },
    );
  }

  async #counted(tier: TierPace, nowMs: number): Promise<void> {
    const { topic, delayMs, spreadMs } = tier;
    const dueBy = async (atMs: number) => {
      const ranges = await this.kafka.ranges(topic, atMs - delayMs);
      return new Map(ranges.map(({ partition, low }) => [partition, low]));
    };
    const [before, due, soon] = await Promise.all([
      dueBy(nowMs - spreadMs),
      dueBy(nowMs),
      dueBy(nowMs + spreadMs),
    ]);
    for (const [partition, pace] of tier.partitions) {
      const dueNow = due.get(partition) ?? 0;
      const backlog = Math.max(0, dueNow - pace.head);
      pace.backlog = backlog <= FREE ? 0 : Math.max(pace.backlog, backlog);
      const lately = dueNow - (before.get(partition) ?? 0);
      const shortly = (soon.get(partition) ?? 0) - dueNow;
      const steady = Math.min(lately, shortly);
      const late = Math.max(pace.backlog / 2, Math.min(pace.backlog, steady));
      const perSpread = Math.max(lately, steady + late);
      pace.perSecond = Math.max(FREE, (MARGIN * perSpread * 1_000) / spreadMs);
    }
  }
}

/** Without counts, nothing is held back: they fail, or take longer than a spread. */
function holdNothingBack({ partitions }: TierPace): void {
  for (const pace of partitions.values()) pace.perSecond = Infinity;
}

/** Returns the pace of the record's partition with its present tokens. */
function paceOf(tier: TierPace, { partition, offset }: DueRecord, nowMs: number): PartitionPace {
  let pace = tier.partitions.get(partition);
  if (!pace) {
    pace = { tokens: FREE, at: nowMs, perSecond: FREE, head: offset, backlog: 0 };
    tier.partitions.set(partition, pace);
  }
  // A count of long ago says nothing about now.
  const sinceMs = Math.max(0, nowMs - pace.at);
  if (sinceMs > 2 * tier.spreadMs) {
    Object.assign(pace, { tokens: FREE, perSecond: FREE, backlog: 0 });
  }
  const most = Math.max(FREE, pace.perSecond * SAVED);
  if (pace.perSecond === Infinity) pace.tokens = Infinity;
  else pace.tokens = Math.min(most, pace.tokens + (sinceMs * pace.perSecond) / 1_000);
  pace.at = nowMs;
  pace.head = offset;
  return pace;
}
