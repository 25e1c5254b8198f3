import './start-telemetry';
import { openConfig } from '../../shared/config/reader';
import { ConsumerHealth, serveHealth } from '../../shared/service/health';
import { connectKafka } from '../../shared/kafka/client';
import { run } from '../../shared/service/run';
import { loadSettings } from '../../shared/service/settings';
import { createLog } from '../../shared/telemetry/log';
import { startRouter } from './start';

/** The router turns messages into deliveries, one for each matching destination. */

/**
 * Above a hundred messages a second this adds to the time from a call to its webhook; in return each request carries more
 * records for each of the twelve partitions, which decides the broker's cost.
 */
const GATHER_MS = 10;

const log = createLog('router', 'info');

run('router', log, async (onFatal) => {
  const settings = loadSettings(process.env);
  log.level = settings.WAYPOST_LOG_LEVEL;
  const { WAYPOST_HOST: host, WAYPOST_ROUTER_HEALTH_PORT: port, WAYPOST_RETRY_WINDOW: windowMs } = settings;
  const health = new ConsumerHealth();
  const healthServer = await serveHealth({ host, port, health });

  const kafka = await connectKafka(settings, { clientId: 'router', log });
  // Read into memory before the first message, since routing does not wait for it.
  const config = (health.config = await openConfig(kafka, { name: 'router', log, onFatal }));
  const producer = await kafka.producer({
    maxPendingBytes: Infinity,
    deliveryTimeoutMs: 'retry',
    divert: true,
    lingerMs: GATHER_MS,
  });
  const { consumption } = await startRouter({ kafka, config, producer, windowMs, log, onFatal });
  health.consumption = consumption;

  return {
    async stop(deadlineMs) {
      health.stopping = true;
      await consumption.stop(deadlineMs - 2_000);
      await producer.close(1_000);
      await config.stop();
      await kafka.close();
      healthServer.close();
    },
  };
});
