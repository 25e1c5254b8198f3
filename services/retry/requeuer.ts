import { createStepDedup } from '../../shared/model/dedup-window';
import { type BrokerClock } from '../../shared/kafka/broker-clock';
import {
  type BatchProducer,
  type DispatchResult,
  type OpenRecord,
  type OutRecord,
  type Restart,
} from '../../shared/kafka/port';
import { ATTEMPTS, clockNote, DUE, tierDelayMs } from '../../shared/kafka/topics';
import { decodeDelivery, isTime } from '../../shared/model/delivery';
import { tooLargeRecords } from '../../shared/render/too-large';
import { unreadableLetter } from '../../shared/render/unreadable';
import { sendFirst } from '../../shared/kafka/send-each';
import { isRefused } from '../../shared/runtime/errors';
import { Backpressure } from '../../shared/runtime/load-limits';
import { type Log } from '../../shared/telemetry/log';
import { type Recalls } from './recalls';
import { type ReturnPace } from './return-pace';
import { countRefused, watchReturn } from './telemetry';

/**
 * Returns records of the tiers to delivery when they are due. It holds no record in memory: it
 * pauses a partition until its head is due, and the waiting records stay in Kafka.
 */

/**
 * Least pause of a partition, so that the records that fall due within it are returned in one
 * request. A fifth of a second is within the promised second; shorter tiers are read more often.
 */
const LEAST_PAUSE_MS = 200;
/**
 * The head of a partition is looked at again after this time at the latest: a timer stands still
 * while the machine sleeps.
 */
const MOST_PAUSE_MS = 5_000;

/** `now`, or the wait before the next read, ms. */
export type Due = 'now' | { againInMs: number };

/**
 * @param dueInMs until the record is due; a tier has one delay, so its records fall due in order
 * @param delayMs the tier's delay
 */
export function whenDue(dueInMs: number, delayMs: number): Due {
  if (dueInMs <= 0) return 'now';
  const waitMs = Math.min(dueInMs, MOST_PAUSE_MS);
  return { againInMs: Math.max(waitMs, Math.min(LEAST_PAUSE_MS, delayMs / 4)) };
}

/** A record, named by when it was appended too: after a cut another may have its offset. */
interface Head {
  offset: number;
  timestampMs: number;
  /** when it was first offered */
  atMs: number;
}

/** Knows when the first record of each partition that is not due was first offered. */
class TierHeads {
  readonly #heads = new Map<string, Map<number, Head>>();

  offeredAt({ topic, partition, offset, timestampMs }: OpenRecord, nowMs: number): number {
    let heads = this.#heads.get(topic);
    if (!heads) {
      heads = new Map<number, Head>();
      this.#heads.set(topic, heads);
    }
    const known = heads.get(partition);
    if (known?.offset === offset && known.timestampMs === timestampMs) return known.atMs;
    heads.set(partition, { offset, timestampMs, atMs: nowMs });
    return nowMs;
  }
}

/** Limit of unacknowledged copies; at the limit, partitions wait. */
const MAX_PENDING_BYTES = 8 * 1024 * 1024;

/** Invariant: a record is done only when Kafka has acknowledged its copy in `webhooks.due`. */
export class Requeuer {
  readonly #steps = createStepDedup();
  readonly #heads = new TierHeads();
  #duplicatesDropped = 0;
  #isAskingForTime = false;
  readonly #room: Backpressure;

  constructor(
    private readonly options: {
      producer: BatchProducer;
      clock: Pick<BrokerClock, 'now' | 'brokersNow' | 'isInDoubt'>;
      /** never jumps, ms */
      steadyMs: () => number;
      onRoom: () => void;
      /** default: due records return without a delay */
      pace?: Pick<ReturnPace, 'waitMs'>;
      /** deliveries that leave early */
      recalls: Pick<Recalls, 'check' | 'positions' | 'onRestart'>;
      log: Log;
    },
  ) {
    this.#room = new Backpressure(
      () => options.producer.pendingBytes / MAX_PENDING_BYTES,
      options.onRoom,
    );
  }

  /** Number of dropped records that repeated a step of a delivery. */
  get duplicatesDropped(): number {
    return this.#duplicatesDropped;
  }

  onRecord(record: OpenRecord): DispatchResult {
    const { clock, steadyMs, recalls, pace } = this.options;
    recalls.positions.reached(record, record.offset);
    const delayMs = tierDelayMs(record.topic) ?? 0;
    const due = whenDue(this.#dueInMs(record, delayMs), delayMs);
    if (due !== 'now') {
      if (!clock.isInDoubt) return due;
      this.#askForTime();
      return { againInMs: LEAST_PAUSE_MS };
    }
    if (!this.#room.accepts()) return 'busy';
    const checked = recalls.check(record);
    if (typeof checked === 'object') return checked;
    const waitMs = checked === 'return' ? (pace?.waitMs(record, steadyMs()) ?? 0) : 0;
    if (waitMs > 0) return { againInMs: waitMs };
    recalls.positions.reached(record, record.offset + 1);
    if (checked === 'drop') record.done();
    else if (this.#steps.isDuplicateStep(record, steadyMs())) {
      this.#duplicatesDropped++;
      record.done();
    } else this.#return(record);
    return 'accepted';
  }

  /**
   * Forgets the records from an offset on, so that those in their places are returned, and can
   * leave early.
   */
  onRestart(restart: Restart): void {
    this.#steps.forget(restart);
    this.options.recalls.onRestart(restart);
  }

  /**
   * Returns how long the record has to wait, by the time that delivery has planned or, without one,
   * by the timestamp of the broker. It waits for no longer than the delay of its tier: if it was
   * planned by a wrong clock, it must not hold up its partition.
   */
  #dueInMs(record: OpenRecord, delayMs: number): number {
    const dueMs = Number(record.headers.due);
    const leftMs = isTime(dueMs)
      ? dueMs - this.options.clock.now()
      : record.timestampMs + delayMs - this.options.clock.brokersNow();
    if (leftMs <= 0) return leftMs;
    const nowMs = this.options.steadyMs();
    return Math.min(leftMs, this.#heads.offeredAt(record, nowMs) + delayMs - nowMs);
  }

  /** Writes a note, whose timestamp tells the time. One note at a time. */
  #askForTime(): void {
    if (this.#isAskingForTime) return;
    this.#isAskingForTime = true;
    const asked = () => (this.#isAskingForTime = false);
    // A producer that stops refuses it.
    this.options.producer.send([clockNote()]).then(asked, asked);
  }

  #return(record: OpenRecord): void {
    const copy = {
      topic: DUE,
      key: record.key?.toString() ?? null,
      value: Buffer.from(record.value ?? ''),
      headers: record.headers as Record<string, string>,
    };
    const returned = watchReturn(record, -this.#dueInMs(record, tierDelayMs(record.topic) ?? 0));
    this.options.producer.send([copy]).then(
      () => {
        returned();
        this.#finish(record);
      },
      (error: unknown) => {
        // The stopping producer refuses: it stays in its tier.
        if (isRefused(error)) this.#endRefused(record, copy);
      },
    );
  }

  /**
   * Ends a delivery whose record Kafka refuses for good (the producer logs it), so that it holds up
   * no commit: dead without a body. If Kafka refuses that too, only the log tells of it.
   */
  #endRefused(record: OpenRecord, copy: Copy): void {
    const { producer, clock, log } = this.options;
    const records = endOf(record, copy, clock.now());
    const withoutEvent = records.filter(({ topic }) => topic !== ATTEMPTS);
    sendFirst(producer, [records, withoutEvent]).then(
      (isTaken) => {
        const { topic, partition, offset } = record;
        const { delivery } = copy.headers;
        if (!isTaken) log.error({ topic, partition, offset, delivery }, 'delivery.lost');
        countRefused();
        this.#finish(record);
      },
      // The stopping producer refuses: it stays in its tier.
      () => undefined,
    );
  }

  #finish(record: OpenRecord): void {
    record.done();
    this.#room.resumeAtHalf();
  }
}

/** The copy of a record of a tier. */
interface Copy {
  key: string | null;
  value: Buffer;
  headers: Record<string, string>;
}

/** Returns the records that end a delivery, without its body. */
function endOf(
  { topic, partition, offset }: OpenRecord,
  { key, headers }: Copy,
  nowMs: number,
): OutRecord[] {
  const decoded = decodeDelivery(headers);
  if (decoded.kind === 'delivery') {
    return tooLargeRecords(decoded.delivery, { topic, partition, offset, key }, nowMs);
  }
  const withoutBody = {
    key,
    value: '',
    headers,
  };
  return [unreadableLetter(withoutBody, 'Kafka refuses its record')];
}
