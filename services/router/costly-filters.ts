import { type OnCostly } from '../../shared/cel/compile';
import { type BatchProducer } from '../../shared/kafka/port';
import { attemptsRecord } from '../../shared/kafka/topics';
import { filterDigest, type FilterEvent } from '../../shared/model/attempt-events';
import { logThrottle } from '../../shared/runtime/load-limits';

/** Reports to alerts the filters that take much work. */

/** For each filter. Alerts take a filter for cheap after a day without an event. */
const EVERY_MS = 10 * 60_000;
const MOST_FILTERS = 1_000;

export function reportCostlyFilters(
  producer: Pick<BatchProducer, 'send'>,
  now: () => number = Date.now,
): OnCostly {
  const isDue = logThrottle(EVERY_MS, MOST_FILTERS);
  return ({ id: destination, filter: text = '' }, { units, limit }) => {
    const filter = filterDigest(text);
    if (!isDue(`${destination} ${filter}`)) return;
    const at = new Date(now()).toISOString();
    const event: FilterEvent = { kind: 'filter', destination, filter, units, limit, at };
    // A lost event is repeated by the next message after a while.
    producer.send([attemptsRecord(destination, event)]).catch(() => undefined);
  };
}
