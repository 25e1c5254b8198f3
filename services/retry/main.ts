import { type Consumption } from '../../shared/kafka/port';
import { ConsumerHealth } from '../../shared/runtime/health';
import { runService } from '../../shared/runtime/run';
import { startRetry } from './assemble';

/** The retry service returns deliveries from the tiers when they are due. */

runService('retry', async ({ settings, log, onFatal, connect, onStop }) => {
  let consumption: Consumption | undefined = undefined;
  const kafka = await connect(new ConsumerHealth(() => consumption));
  await startRetry({
    kafka,
    retryWindowMs: settings.WAYPOST_RETRY_WINDOW,
    log,
    onFatal,
    onStop,
    onConsumption: (opened) => (consumption = opened),
  });
});
