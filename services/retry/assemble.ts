import { brokerClock, CLOCK_WITHIN_MS } from '../../shared/kafka/broker-clock';
import { type Consumption, type Kafka, type Tail } from '../../shared/kafka/port';
import { clockNote, RECALLS, recallsKeptMs, tierDelayMs } from '../../shared/kafka/topics';
import { newerFormatOf } from '../../shared/model/record-format';
import { sleep, withTimeout } from '../../shared/runtime/async';
import { steadyClock } from '../../shared/runtime/steady-clock';
import { newerFormat } from '../../shared/runtime/errors';
import { type ServiceContext } from '../../shared/runtime/run';
import { Recalls } from './recalls';
import { Requeuer } from './requeuer';
import { ReturnPace } from './return-pace';
import { watchTiers } from './telemetry';
import { TierReader } from './tier-reader';

/** Wires retry from its parts: the reader of the tiers, the requeuer and the recalls. */

/** Only the head of a tier matters: small fetches make reading it again cheap. */
const FETCH_BYTES = 128 * 1024;
/**
 * Groups records that fall due in one partition after the other into one request: they have waited
 * for seconds.
 */
const GATHER_MS = 50;

/**
 * An idle process costs its long polls over all partitions of all tiers, so it polls less often
 * than other services. A record behind the head may be late by this time, which counts against the
 * promised second and must be little for a short tier.
 */
const MOST_FETCH_WAIT_MS = 150;
const LEAST_FETCH_WAIT_MS = 100;
/**
 * Longer than an election of leaders takes. The service then ends, and its supervisor starts it
 * again.
 */
const RECALLS_WITHIN_MS = 60_000;
/** Without Kafka, no copy is acknowledged. The partitions are given up nevertheless. */
const COPIES_MS = 2_000;
/** For the parts that stop after the reader of the tiers. */
const LEAVING_MS = 2_000;

export interface RetryOptions extends Pick<ServiceContext, 'log' | 'onFatal' | 'onStop'> {
  kafka: Kafka;
  retryWindowMs: number;
  /** called with each new consumer */
  onConsumption: (consumption: Consumption) => void;
}

/** Reads the recalls, and then the tiers until it is stopped. */
export async function startRetry(options: RetryOptions): Promise<void> {
  const { kafka, log, onFatal, onStop, onConsumption } = options;
  let consumption: Consumption | undefined = undefined;
  const producer = await kafka.producer({
    maxPendingBytes: Infinity,
    deliveryTimeoutMs: 'retry',
    spillToOtherPartitions: true,
    lingerMs: GATHER_MS,
  });
  onStop(() => producer.close(1_000));
  let subscribed: string[] = [];
  const recalls = await openRecalls(options, () => subscribed);
  const requeuer = new Requeuer({
    producer,
    recalls,
    clock: brokerClock,
    steadyMs: () => steadyClock.now(),
    onRoom: () => consumption?.resume(),
    pace: new ReturnPace(kafka, () => brokerClock.brokersNow()),
    log,
  });
  const tiers = new TierReader({
    kafka,
    log,
    consume: (topics) => {
      watchTiers(topics);
      subscribed = topics;
      return kafka.consume({
        group: 'retry',
        topics,
        onRecord: requeuer.onRecord.bind(requeuer),
        onRestart: requeuer.onRestart.bind(requeuer),
        onFatal,
        rebalanceListener: recalls.positions,
        maxBytesPerPartition: FETCH_BYTES,
        fetchWaitMs: fetchWaitMs(topics),
      });
    },
    onLeaving: () => recalls.positions.onLost(),
    onConsumption: (opened) => {
      consumption = opened;
      onConsumption(opened);
    },
  });
  await tiers.start();
  onStop((deadlineMs) => tiers.stop(deadlineMs - LEAVING_MS));
  // Stops run in reverse: recalls stop first, so that no copy is under way when the partitions are
  // given up.
  onStop(() => recalls.stop(COPIES_MS));
}

/** Reads `webhooks.recalls` to its end, and follows it. */
async function openRecalls(
  { kafka, retryWindowMs, log, onFatal, onStop }: RetryOptions,
  tiers: () => readonly string[],
): Promise<Recalls> {
  // Without a linger: a user waits for the copies.
  const producer = await kafka.producer({
    maxPendingBytes: Infinity,
    deliveryTimeoutMs: 'retry',
    spillToOtherPartitions: true,
  });
  onStop(() => producer.close(1_000));
  let tail: Tail | undefined = undefined;
  const steadyMs = () => performance.now();
  const recalls = new Recalls({
    kafka,
    producer,
    tiers,
    steadyMs,
    sleep: (ms) => sleep(ms, { ref: false }),
    log,
    now: () => brokerClock.brokersNow(),
    completeAt: () => tail?.completeAt ?? -Infinity,
    expectSoon: () => tail?.expectSoon(),
    keepMs: recallsKeptMs(retryWindowMs),
  });
  const opened = (tail = await kafka.tail({
    name: 'recalls',
    topic: RECALLS,
    from: 'beginning',
    onFatal,
    onRecord: (record) => {
      const format = newerFormatOf(record.headers);
      if (format === undefined) recalls.onRecall(record);
      else onFatal(newerFormat(record, format, 'this retry process'));
    },
    onComplete: () => recalls.recheck(),
  }));
  onStop(() => opened.stop());
  await opened.caughtUp(RECALLS_WITHIN_MS);
  // As a rule, the time of the brokers is known before the first record is read.
  await withTimeout(CLOCK_WITHIN_MS, producer.send([clockNote()]));
  recalls.start();
  return recalls;
}

function fetchWaitMs(tiers: string[]): number {
  const shortest = Math.min(...tiers.map((topic) => tierDelayMs(topic) ?? Infinity));
  return Math.max(LEAST_FETCH_WAIT_MS, Math.min(MOST_FETCH_WAIT_MS, shortest / 4));
}
