import { warmDedupWindow } from '../../shared/kafka/dedup-warmup';
import { type Consumption, type Kafka, type BatchProducerOptions } from '../../shared/kafka/port';
import { MESSAGES } from '../../shared/kafka/topics';
import { DEDUP_IDS, DEDUP_MS } from '../../shared/model/dedup-window';
import { tellOfCostlyFilters } from './costly-filters';
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

interface Options extends Omit<RouterOptions, 'now' | 'onRoom' | 'onDecidable' | 'onCostlyFilter'> {
  kafka: Pick<Kafka, 'consume' | 'tail'>;
}

/** Connects a router with its consumer, and joins the consumer group. */
export async function startRouter(
  options: Options,
): Promise<{ router: Router; consumption: Consumption }> {
  const { kafka, log, onFatal } = options;
  let consumption: Consumption | undefined = undefined;
  const onRoom = () => consumption?.resume();
  const onDecidable = () => consumption?.readDeferred();
  const onCostlyFilter = tellOfCostlyFilters(options.producer);
  const router = new Router({ ...options, now: Date.now, onRoom, onDecidable, onCostlyFilter });
  observeRouter(router, () => consumption?.deferred ?? 0);
  const sinceMs = Date.now() - DEDUP_MS;
  await warmDedupWindow(kafka, router, {
    name: 'router-recall',
    sinceMs,
    atMost: DEDUP_IDS,
    log,
    onFatal,
  });
  const joined = await kafka.consume({
    group: 'router',
    topics: [MESSAGES],
    onRecord: router.onRecord.bind(router),
    onRevoking: router.onRevoking.bind(router),
    onFatal,
  });
  consumption = joined;
  return { router, consumption: joined };
}
