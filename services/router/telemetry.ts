import { type Filters } from './decide';
import { type OpenRecord } from '../../shared/kafka/port';
import { type MessageHeaders } from '../../shared/model/message-codec';
import { WEBHOOKS } from '../../shared/kafka/topics';
import { failureText } from '../../shared/render/render-request';
import { type Unrendered } from '../../shared/render/render-failed';
import { logThrottle } from '../../shared/runtime/load-limits';
import { type Log } from '../../shared/telemetry/log';
import { metrics, only } from '../../shared/telemetry/metrics';
import {
  childTraceparent,
  isTraced,
  recordProcess,
  recordSend,
} from '../../shared/telemetry/trace';

/** Metrics and spans of the router. */

const GROUP = 'router';

const dropped = metrics.counter({
  name: 'waypost.messages.dropped',
  help: 'Messages that became no delivery.',
  labels: { reason: '`no_destination`, `unknown_source`, `blocked`, `filtered`' },
});
export const drops = {
  no_destination: dropped.of({ reason: 'no_destination' }),
  unknown_source: dropped.of({ reason: 'unknown_source' }),
  blocked: dropped.of({ reason: 'blocked' }),
  filtered: dropped.of({ reason: 'filtered' }),
};

const filtered = metrics
  .counter({
    name: 'waypost.deliveries.filtered',
    help: 'Deliveries that a filter stopped, failures included.',
  })
  .of();
const failures = metrics.counter({
  name: 'waypost.filters.failed',
  help: 'Messages for which a filter could not be evaluated. A failure counts as no match.',
  labels: { 'waypost.destination.id': 'at most 100, then `other`' },
});

const dead = metrics.counter({
  name: 'waypost.deliveries.unrendered',
  help:
    'Dead letters of reason `render_failed`: deliveries whose body or header could not be ' +
    'rendered.',
  labels: { 'waypost.destination.id': 'at most 100, then `other`' },
});

/**
 * Logs deliveries that have no body. @returns the function to call when their dead letters are
 * acknowledged; undefined without any
 */
export function watchUnrendered(
  unrendered: readonly Unrendered[],
  log: Log,
): (() => void) | undefined {
  if (unrendered.length === 0) return undefined;
  for (const { delivery, failure } of unrendered) {
    const { id, destinationId: destination } = delivery;
    if (speaks(destination)) {
      log.warn({ delivery: id, destination, reason: failureText(failure) }, 'delivery.unrendered');
    }
  }
  return () => {
    for (const { delivery } of unrendered) {
      dead.of({ 'waypost.destination.id': delivery.destinationId }).value++;
    }
  };
}
const LOG_EVERY_MS = 60_000;
const MAX_LOGGED_DESTINATIONS = 100;
const speaks = logThrottle(LOG_EVERY_MS, MAX_LOGGED_DESTINATIONS);

/** Counts the deliveries that filters stopped, and failed filters by destination. */
export function watchFilters({ filtered: kept, failed }: Filters): void {
  filtered.value += kept;
  for (const { destination } of failed) {
    failures.of({ 'waypost.destination.id': destination.id }).value++;
  }
}

/**
 * Registers the router's metrics.
 * @param deferred returns how many messages are left in Kafka until they can be decided
 */
export function observeRouter(
  router: {
    counts: Readonly<
      Record<'routed' | 'deliveries' | 'duplicates' | 'rejected' | 'unchecked', number>
    >;
    held: { count: number; oldestMs: number };
  },
  deferred: () => number,
): void {
  const { counts } = router;
  const held = {
    name: 'waypost.messages.held',
    help:
      'Messages that wait until the router knows `config`. `kafka`: the router has left them ' +
      'in Kafka and reads them again. Hundreds in memory are normal while many messages have ' +
      'no destination, each for at most 0.2 s.',
    labels: { where: '`memory`, `kafka`' },
  };
  metrics.gauge(held, () => [
    { labels: { where: 'memory' }, value: router.held.count },
    { labels: { where: 'kafka' }, value: deferred() },
  ]);
  const oldest = {
    name: 'waypost.messages.held.oldest',
    help: 'Wait of the oldest held message in memory; 0 without one.',
    unit: 's',
  } as const;
  metrics.gauge(oldest, () => only(router.held.oldestMs / 1_000));
  const counted = (name: string, help: string, read: () => number) =>
    metrics.counted({ name, help }, () => only(read()));
  counted('waypost.messages.routed', 'Messages that became deliveries.', () => counts.routed);
  counted('waypost.deliveries.created', 'Deliveries made of messages.', () => counts.deliveries);
  counted(
    'waypost.messages.duplicate',
    'Copies of messages that were routed before.',
    () => counts.duplicates,
  );
  counted(
    'waypost.messages.unchecked',
    'Messages decided before the router had read back the whole hour before them, in the first ' +
      'seconds after it took over their partition. A copy of an older message is then delivered.',
    () => counts.unchecked,
  );
  const unreadable = {
    name: 'waypost.messages.rejected',
    help: 'Messages that the router cannot read.',
    labels: { reason: '`unreadable_message`' },
  };
  metrics.counted(unreadable, () => [
    { labels: { reason: 'unreadable_message' }, value: counts.rejected },
  ]);
}

/**
 * Starts the spans of a message. @returns the function to call when its deliveries are
 * acknowledged; undefined if its trace is not recorded
 */
export function watchRouting(
  record: OpenRecord,
  head: MessageHeaders,
  deliveries: number,
): (() => void) | undefined {
  if (!isTraced(head.traceparent)) return undefined;
  const startedAt = performance.now();
  const context = childTraceparent(head.traceparent);
  return () => {
    const about = { 'messaging.message.id': head.messageId };
    const batch = deliveries > 1 ? { 'messaging.batch.message_count': deliveries } : {};
    recordSend({ parent: context, topic: WEBHOOKS, startedAt, attributes: { ...about, ...batch } });
    recordProcess({
      record,
      group: GROUP,
      context,
      parent: head.traceparent,
      startedAt,
      attributes: {
        ...about,
        'waypost.source.id': head.sourceId,
        'waypost.deliveries': deliveries,
      },
    });
  };
}
