import { type Consumption } from '../../shared/kafka/port';
import { ConsumerHealth } from '../../shared/runtime/health';
import { runService } from '../../shared/runtime/run';
import { producerOptions, startRouter } from './assemble';

/** The router turns messages into deliveries, one for each matching destination. */

runService('router', async ({ settings, log, onFatal, connect, openConfig, onStop }) => {
  let consumption: Consumption | undefined = undefined;
  const kafka = await connect(new ConsumerHealth(() => consumption));
  // Read into memory before the first message, since routing does not wait for it.
  const config = await openConfig();
  const producer = await kafka.producer(producerOptions);
  onStop(() => producer.close(1_000));
  const windowMs = settings.WAYPOST_RETRY_WINDOW;
  const started = await startRouter({ kafka, config, producer, windowMs, log, onFatal });
  consumption = started.consumption;
  onStop((deadlineMs) => started.consumption.stop(deadlineMs - 2_000));
});
