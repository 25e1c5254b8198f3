import { type Destination } from '../../../shared/model/config';
import { isoTime } from '../../../shared/model/time';
import { type CircuitRow } from '../history/circuits';
import { totals } from '../history/count-series';
import { type DestinationCount, type OpenCount } from '../history/queries';

/** Computes the state of each destination from counts. Pure. */

interface Counted {
  counts: readonly DestinationCount[];
  open: readonly Pick<OpenCount, 'destination' | 'status' | 'count'>[];
  circuits: readonly CircuitRow[];
}

export function overviewOf(
  { id, name, enabled, paused }: Destination,
  { counts, open, circuits }: Counted,
) {
  const underWay = (status: string) => open.find((each) => each.status === status)?.count ?? 0;
  return {
    destination: id,
    name,
    enabled,
    paused,
    ...totals(counts),
    waiting: underWay('waiting'),
    retrying: underWay('retrying'),
    held: underWay('held'),
    circuits: circuits.map(({ url, origin, why, at }) => {
      return { url, origin, state: 'open' as const, why, at: isoTime(at) };
    }),
  };
}

export function openOf(open: readonly OpenCount[]) {
  const sum = (status: string) =>
    open.reduce((total, each) => total + (each.status === status ? each.count : 0), 0);
  return { waiting: sum('waiting'), retrying: sum('retrying'), held: sum('held') };
}
