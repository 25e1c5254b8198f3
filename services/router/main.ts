import { ConsumerHealth } from '../../shared/service/health';
import { type Consumption } from '../../shared/kafka/port';
import { runService } from '../../shared/service/run';
import { startRouter } from './start';

/** The router turns messages into deliveries, one for each matching destination. */

/**
 * While cores are scarce, each request carries more records for each of the twelve partitions, which decides the broker's cost. Otherwise the
 * messages of a request of ingest leave at once: ingest has already gathered them.
 */
const LINGER = { lingerMs: 10, lingerRequests: 2 };

runService('router', async ({ settings, log, onFatal, connect, openConfig, onStop }) => {
  let consumption: Consumption | undefined = undefined;
  const kafka = await connect(new ConsumerHealth(() => consumption));
  // Read into memory before the first message, since routing does not wait for it.
  const config = await openConfig();
  const producer = await kafka.producer({
    maxPendingBytes: Infinity,
    deliveryTimeoutMs: 'retry',
    divert: true,
    ...LINGER,
  });
  onStop(() => producer.close(1_000));
  const windowMs = settings.WAYPOST_RETRY_WINDOW;
  const started = await startRouter({ kafka, config, producer, windowMs, log, onFatal });
  consumption = started.consumption;
  onStop((deadlineMs) => started.consumption.stop(deadlineMs - 2_000));
});
