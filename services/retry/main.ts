import { ConsumerHealth } from '../../shared/runtime/health';
import { brokerClock } from '../../shared/kafka/broker-clock';
import { type Consumption, type Kafka, type Tail } from '../../shared/kafka/port';
import { RECALLS, recallsKeptMs, tierDelayMs } from '../../shared/kafka/topics';
import { newerFormatOf } from '../../shared/model/record-format';
import { sleep } from '../../shared/runtime/async';
import { newerFormat } from '../../shared/runtime/errors';
import { runService, type ServiceContext } from '../../shared/runtime/run';
import { Requeuer, TierReader } from './handler';
import { Recalls } from './recalls';
import { ReturnPace } from './return-pace';
import { watchTiers } from './telemetry';

/** The retry service returns deliveries from the tiers when they are due. */

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

type Parts = Pick<ServiceContext, 'settings' | 'log' | 'onFatal' | 'onStop'> & {
  kafka: Kafka;
  tiers: () => readonly string[];
};

runService('retry', async ({ settings, log, onFatal, connect, onStop }) => {
  let consumption: Consumption | undefined = undefined;
  const kafka = await connect(new ConsumerHealth(() => consumption));
  const producer = await kafka.producer({
    maxPendingBytes: Infinity,
    deliveryTimeoutMs: 'retry',
    divert: true,
    lingerMs: GATHER_MS,
  });
  onStop(() => producer.close(1_000));
  let read: string[] = [];
  const recalls = await openRecalls({ kafka, log, onFatal, onStop, settings, tiers: () => read });
  const returner = new Requeuer({
    producer,
    recalls,
    now: () => brokerClock.now(),
    onRoom: () => consumption?.resume(),
    pace: new ReturnPace(kafka),
  });
  const tiers = new TierReader({
    kafka,
    log,
    consume: (topics) => {
      watchTiers(topics);
      read = topics;
      return kafka.consume({
        group: 'retry',
        topics,
        onRecord: returner.onRecord.bind(returner),
        onFatal,
        rebalanceListener: recalls.positions,
        maxBytesPerPartition: FETCH_BYTES,
        fetchWaitMs: fetchWaitMs(topics),
      });
    },
    onLeaving: () => recalls.positions.onLost(),
    onConsumption: (opened) => (consumption = opened),
  });
  await tiers.start();
  onStop((deadlineMs) => tiers.stop(deadlineMs - 2_000));
  // First, so that no copy is under way when the partitions are given up.
  onStop(() => recalls.stop());
});

/** Reads `webhooks.recalls` to its end, and follows it. */
async function openRecalls(parts: Parts): Promise<Recalls> {
  const { kafka, log, onFatal, onStop, settings, tiers } = parts;
  // Without a linger: a user waits for the copies.
  const producer = await kafka.producer({
    maxPendingBytes: Infinity,
    deliveryTimeoutMs: 'retry',
    divert: true,
  });
  onStop(() => producer.close(1_000));
  let tail: Tail | undefined = undefined;
  const steadyMs = () => performance.now();
  const recalls = new Recalls({
    kafka,
    producer,
    tiers,
    steadyMs,
    sleep,
    log,
    now: () => brokerClock.now(),
    completeAt: () => tail?.completeAt ?? -Infinity,
    keepMs: recallsKeptMs(settings.WAYPOST_RETRY_WINDOW),
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
    onComplete: () => recalls.look(),
  }));
  onStop(() => opened.stop());
  await opened.caughtUp(RECALLS_WITHIN_MS);
  recalls.start();
  return recalls;
}

function fetchWaitMs(tiers: string[]): number {
  const shortest = Math.min(...tiers.map((topic) => tierDelayMs(topic) ?? Infinity));
  return Math.max(LEAST_FETCH_WAIT_MS, Math.min(MOST_FETCH_WAIT_MS, shortest / 4));
}
