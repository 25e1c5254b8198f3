import { type Consumption, type Kafka, type BatchProducerOptions } from '../../shared/kafka/port';
import { MESSAGES } from '../../shared/kafka/topics';
import { brokerClock } from '../../shared/kafka/broker-clock';
import { createDedupWindow } from '../../shared/model/dedup-window';
import { reportCostlyFilters } from './costly-filters';
import { EarlierMessages } from './earlier-messages';
import { Router, type RouterOptions } from './router';
import { observeRouter } from './telemetry';

/** Wires the router from its parts. */

export const producerOptions: BatchProducerOptions = {
  maxPendingBytes: Infinity,
  deliveryTimeoutMs: 'retry',
  spillToOtherPartitions: true,
  // Ingest has already gathered messages, so the router adds little wait. While cores are scarce,
  // requests take longer, so that each carries more records for each partition, which decides the
  // broker's cost.
  lingerMs: 10,
  lingerRequests: 2,
};

interface Options extends Pick<
  RouterOptions,
  'config' | 'producer' | 'windowMs' | 'log' | 'onFatal'
> {
  kafka: Pick<Kafka, 'consume' | 'read' | 'ranges' | 'committed'>;
}

/** Connects a router with its consumer, and joins the consumer group. */
export async function startRouter(
  options: Options,
): Promise<{ router: Router; consumption: Consumption }> {
  const { kafka, log, onFatal } = options;
  let consumption: Consumption | undefined = undefined;
  const onRoom = () => consumption?.resume();
  const onDecidable = () => consumption?.readDeferred();
  const onCostlyFilter = reportCostlyFilters(options.producer);
  const dedupWindow = createDedupWindow();
  const earlier = new EarlierMessages({ kafka, dedupWindow, log });
  const router = new Router({
    ...options,
    dedupWindow,
    earlier,
    now: () => brokerClock.now(),
    onRoom,
    onDecidable,
    onCostlyFilter,
  });
  observeRouter(router, () => consumption?.deferred ?? 0);
  const joined = await kafka.consume({
    group: 'router',
    topics: [MESSAGES],
    onRecord: router.onRecord.bind(router),
    onRevoking: router.onRevoking.bind(router),
    onRestart: router.onRestart.bind(router),
    rebalanceListener: earlier,
    onFatal,
  });
  consumption = joined;
  return { router, consumption: joined };
}
