import { RECALL_ACTIONS, type RecallAction } from '../../shared/model/recall';
import { formatDuration } from '../../shared/model/time';
import { type OpenRecord } from '../../shared/kafka/port';
import { DUE, tierDelayMs } from '../../shared/kafka/topics';
import { type Count, type Distribution, metrics } from '../../shared/telemetry/metrics';
import {
  childTraceparent,
  isTraced,
  recordProcess,
  recordSend,
  withSpanId,
} from '../../shared/telemetry/trace';

/** Metrics and spans of the retry service. */

const GROUP = 'retry';
const LATENESS_BOUNDS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900];

const returned = metrics.counter({
  name: 'waypost.retries.returned',
  help: 'Deliveries returned to `webhooks.due` when they were due.',
  labels: { tier: '`10s`, `1m`, …' },
});
const lateness = metrics.histogram(
  {
    name: 'waypost.retry.lateness',
    help: 'Time between the due time of a delivery and its return.',
    unit: 's',
    labels: { tier: '`10s`, `1m`, …' },
  },
  LATENESS_BOUNDS,
);

const recalled = metrics.counter({
  name: 'waypost.retries.recalled',
  help: 'Deliveries that left their tier before they were due.',
  labels: { action: RECALL_ACTIONS.map((action) => `\`${action}\``).join(', ') },
});
const dropped = metrics
  .counter({
    name: 'waypost.retries.dropped',
    help: 'Records that fell due after their delivery had left the tier early. Retry dropped them.',
  })
  .of({});
const refused = metrics
  .counter({
    name: 'waypost.retries.refused',
    help:
      'Deliveries that retry gave up, because Kafka refuses their records for good. They are ' +
      'dead letters of reason `too_large`. If Kafka refuses those too, the log names them ' +
      '(`delivery.lost`).',
  })
  .of({});
for (const action of RECALL_ACTIONS) recalled.of({ action });

/** Counts copies that Kafka has acknowledged. */
export function countRecalled(action: RecallAction, count: number): void {
  recalled.of({ action }).value += count;
}

/** Counts a delivery whose record Kafka refuses for good. */
export function countRefused(): void {
  refused.value++;
}

/** Counts a due record that had left early. */
export function countDropped(): void {
  dropped.value++;
}

interface Tier {
  name: string;
  delayMs: number;
  returned: Count;
  lateness: Distribution;
}
const tiers = new Map<string, Tier>();

/** Creates the series of these tiers, so that they are exported as 0 before the first record. */
export function watchTiers(topics: readonly string[]): void {
  for (const topic of topics) tierOf(topic);
}

function tierOf(topic: string): Tier {
  const known = tiers.get(topic);
  if (known) return known;
  const delayMs = tierDelayMs(topic) ?? 0;
  const name = formatDuration(delayMs);
  const tier = {
    name,
    delayMs,
    returned: returned.of({ tier: name }),
    lateness: lateness.of({ tier: name }),
  };
  tiers.set(topic, tier);
  return tier;
}

/**
 * Starts the measurement of a due record. @returns the function to call when its copy is
 * acknowledged
 */
export function watchReturn(record: OpenRecord, sinceDueMs: number): () => void {
  const tier = tierOf(record.topic);
  const lateMs = Math.max(0, sinceDueMs);
  const waitedMs = tier.delayMs + lateMs;
  const trace = watchTraced(record, { tier: tier.name, waitedMs, lateMs });
  return () => {
    tier.returned.value++;
    tier.lateness.record(lateMs / 1_000);
    trace?.();
  };
}

function watchTraced(record: OpenRecord, wait: { tier: string; waitedMs: number; lateMs: number }) {
  const { traceparent = '', message, delivery, span } = record.headers;
  if (!isTraced(traceparent)) return undefined;
  const dueAt = performance.now();
  const context = childTraceparent(traceparent);
  const about = { 'messaging.message.id': message, 'waypost.delivery.id': delivery };
  return () => {
    recordSend({ parent: context, topic: DUE, startedAt: dueAt, attributes: about });
    recordProcess({
      record,
      group: GROUP,
      context,
      parent: traceparent,
      startedAt: dueAt - wait.waitedMs,
      attributes: { ...about, 'waypost.tier': wait.tier, 'waypost.lateness_ms': wait.lateMs },
      links: span === undefined ? [] : [{ context: withSpanId(traceparent, span), as: 'previous' }],
    });
  };
}
