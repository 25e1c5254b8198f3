import { type Deliveries, type Delivery } from '../../../shared/api/operations';

/** Finds the members of a batch among deliveries. Pure. */

type Row = Deliveries['data'][number];
type AttemptBatch = NonNullable<Delivery['attempts'][number]['urls'][number]['batch']>;

export interface BatchMember {
  delivery: string;
  title: string;
  /** place in the array, from 0 */
  index: number;
  /** its outcome in the batch */
  outcome: Delivery['attempts'][number]['outcome'];
  status: number | undefined;
}

/** Returns the members in the order of the array. */
export function membersOf(batch: AttemptBatch['id'], deliveries: readonly Row[]): BatchMember[] {
  const members = deliveries.flatMap(({ id, type, event, attempts }) => {
    const url = attempts.flatMap(({ urls }) => urls).find((each) => each.batch?.id === batch);
    if (!url?.batch) return [];
    const title = event === null ? type : `${type}: ${event}`;
    return [
      { delivery: id, title, index: url.batch.index, outcome: url.outcome, status: url.status },
    ];
  });
  return members.sort((a, b) => a.index - b.index);
}
