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

/** Deliveries wait in the tiers, and come back when they are due. */

/** Only the head of a tier matters: a small fetch keeps rereading it cheap. */
const FETCH_BYTES = 128 * 1024;
/** What falls due in one partition after the other goes in one request: it has waited for seconds. */
const GATHER_MS = 50;

/**
 * Long polls over all partitions of all tiers are what an idle process costs: fewer than elsewhere. What falls due behind the
 * head that was looked at may be so much later, of the second that is promised, and for a short tier it must be little.
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
