import { pendingOf } from '../../../shared/model/attention';
import { type Overview } from '../../../shared/api/operations';

/** The state of the system in a few numbers, for the sentence above the overview. Pure. */

interface Headline {
  /** destinations that fail, those that do so in part, and all */
  failing: number;
  degraded: number;
  destinations: number;
  waiting: number;
  /** when the oldest waiting delivery was accepted; null: nothing waits */
  oldestAt: string | null;
  /** deliveries that died within the time */
  dead: number;
}

/** The rows hold every destination that fails, or the most urgent of very many. */
export function headlineOf({
  data,
  destinations,
  totals,
  open,
}: Pick<Overview, 'data' | 'destinations' | 'totals' | 'open'>): Headline {
  const oldest = data.flatMap((row) =>
    pendingOf(row) > 0 && row.oldestWaitingAt !== null ? [row.oldestWaitingAt] : [],
  );
  const inState = (wanted: string) => data.filter(({ state }) => state === wanted).length;
  return {
    failing: inState('failing'),
    degraded: inState('degraded'),
    destinations,
    waiting: open.waiting + open.retrying + open.held,
    oldestAt: oldest.reduce<string | null>(
      (first, at) => (first === null || Date.parse(at) < Date.parse(first) ? at : first),
      null,
    ),
    dead: totals.dead,
  };
}
