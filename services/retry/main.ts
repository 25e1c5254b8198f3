import './start-telemetry';
import { ConsumerHealth, serveHealth } from '../../shared/service/health';
import { brokerClock } from '../../shared/kafka/broker-clock';
import { connectKafka } from '../../shared/kafka/client';
import { tierDelayMs } from '../../shared/kafka/topics';
import { run } from '../../shared/service/run';
import { loadSettings } from '../../shared/service/settings';
import { createLog } from '../../shared/telemetry/log';
import { Requeuer } from './handler';
import { TierReader } from './tiers';
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

const log = createLog('retry', 'info');

run('retry', log, async (fatal) => {
  const settings = loadSettings(process.env);
  log.level = settings.WAYPOST_LOG_LEVEL;
  const [host, port] = [settings.WAYPOST_HOST, settings.WAYPOST_RETRY_HEALTH_PORT];
  const health = new ConsumerHealth();
  const healthServer = await serveHealth({ host, port, health });

  const kafka = await connectKafka(settings, { clientId: 'retry', log });
  const producer = await kafka.producer({
    maxPendingBytes: Infinity,
    deliveryTimeoutMs: 'retry',
    divert: true,
    lingerMs: GATHER_MS,
  });
  const returner = new Requeuer({ producer, now: () => brokerClock.now(), onRoom: () => health.consumption?.resume() });
  const tiers = new TierReader({
    ...{ kafka, log },
    consume: (topics) => {
      watchTiers(topics);
      return kafka.consume({
        ...{ group: 'retry', topics, onRecord: returner.onRecord.bind(returner), onFatal: fatal },
        ...{ maxBytesPerPartition: FETCH_BYTES, fetchWaitMs: fetchWaitMs(topics) },
      });
    },
    onConsumption: (consumption) => (health.consumption = consumption),
  });
  await tiers.start();

  return {
    async stop(deadlineMs) {
      health.stopping = true;
      await tiers.stop(deadlineMs - 2_000);
      await producer.close(1_000);
      await kafka.close();
      healthServer.close();
    },
  };
});

function fetchWaitMs(tiers: string[]): number {
  const shortest = Math.min(...tiers.map((topic) => tierDelayMs(topic) ?? Infinity));
  return Math.max(LEAST_FETCH_WAIT_MS, Math.min(MOST_FETCH_WAIT_MS, shortest / 4));
}
