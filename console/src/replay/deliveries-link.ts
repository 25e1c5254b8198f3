import { type Replay } from '../../../shared/api/operations';

/** Returns the page with the deliveries of a job; undefined: a preview has none. */
export function deliveriesLink({
  id,
  action,
  preview,
  destination,
}: Pick<Replay, 'id' | 'action' | 'preview' | 'destination'>): string | undefined {
  if (preview) return undefined;
  // What was cancelled does not name the job.
  return action === 'cancel'
    ? `/deliveries?destination=${destination}&status=cancelled`
    : `/deliveries?replay=${id}`;
}
