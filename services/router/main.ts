import { ConsumerHealth } from '../../shared/runtime/health';
import { type Consumption } from '../../shared/kafka/port';
import { runService } from '../../shared/runtime/run';
import { startRouter } from './start';

/** The router turns messages into deliveries, one for each matching destination. */

runService('router', async ({ settings, log, onFatal, connect, openConfig, onStop }) => {
  let consumption: Consumption | undefined = undefined;
  const kafka = await connect(new ConsumerHealth(() => consumption));
  // Read into memory before the first message, since routing does not wait for it.
  const config = await openConfig();
  const producer = await kafka.producer({
    maxPendingBytes: Infinity,
    deliveryTimeoutMs: 'retry',
    divert: true,
    // Ingest has already gathered messages, so the router adds little wait. While cores are scarce,
    // requests take longer, so that each carries more records for each partition, which decides the
    // broker's cost.
    lingerMs: 10,
    lingerRequests: 2,
  });
  onStop(() => producer.close(1_000));
  const windowMs = settings.WAYPOST_RETRY_WINDOW;
  const started = await startRouter({ kafka, config, producer, windowMs, log, onFatal });
  consumption = started.consumption;
  onStop((deadlineMs) => started.consumption.stop(deadlineMs - 2_000));
});
