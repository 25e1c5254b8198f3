import { ConsumerHealth } from '../../shared/service/health';
import { brokerClock } from '../../shared/kafka/broker-clock';
import { type Consumption } from '../../shared/kafka/port';
import { tierDelayMs } from '../../shared/kafka/topics';
import { runService } from '../../shared/service/run';
import { Requeuer, TierReader } from './handler';
import { ReturnPace } from './return-pace';
import { watchTiers } from './telemetry';

/** The retry service returns deliveries from the tiers when they are due. */

/** Only the head of a tier matters: small fetches make reading it again cheap. */
const FETCH_BYTES = 128 * 1024;
/** Groups records that fall due in one partition after the other into one request: they have waited for seconds. */
const GATHER_MS = 50;

/**
 * An idle process costs its long polls over all partitions of all tiers, so it polls less often than other services. A
 * record behind the head may be late by this time, which counts against the promised second and must be little for a short tier.
 */
const MOST_FETCH_WAIT_MS = 150;
const LEAST_FETCH_WAIT_MS = 100;

runService('retry', async ({ log, onFatal, connect, onStop }) => {
  let consumption: Consumption | undefined = undefined;
  const kafka = await connect(new ConsumerHealth(() => consumption));
  const producer = await kafka.producer({
    maxPendingBytes: Infinity,
    deliveryTimeoutMs: 'retry',
    divert: true,
    lingerMs: GATHER_MS,
  });
  onStop(() => producer.close(1_000));
  const returner = new Requeuer({
    ...{ producer, now: () => brokerClock.now(), onRoom: () => consumption?.resume() },
    pace: new ReturnPace(kafka),
  });
  const tiers = new TierReader({
    ...{ kafka, log },
    consume: (topics) => {
      watchTiers(topics);
      return kafka.consume({
        ...{ group: 'retry', topics, onRecord: returner.onRecord.bind(returner), onFatal },
        ...{ maxBytesPerPartition: FETCH_BYTES, fetchWaitMs: fetchWaitMs(topics) },
      });
    },
    onConsumption: (opened) => (consumption = opened),
  });
  await tiers.start();
  onStop((deadlineMs) => tiers.stop(deadlineMs - 2_000));
});

function fetchWaitMs(tiers: string[]): number {
  const shortest = Math.min(...tiers.map((topic) => tierDelayMs(topic) ?? Infinity));
  return Math.max(LEAST_FETCH_WAIT_MS, Math.min(MOST_FETCH_WAIT_MS, shortest / 4));
}
