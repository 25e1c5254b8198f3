import { type Deliveries } from '../../../shared/api/operations';
import { isDelivered, isUnderWay } from '../../../shared/model/reasons';

/** What a search has found, in a few numbers. Pure. */

type Found = Pick<Deliveries['data'][number], 'status' | 'messageId'>;

const OUTCOMES = ['delivered', 'waiting', 'dead', 'cancelled'] as const;
type Outcome = (typeof OUTCOMES)[number];

function outcomeOf({ status }: Found): Outcome {
  if (isUnderWay(status)) return 'waiting';
  if (isDelivered(status)) return 'delivered';
  return status === 'dead' ? 'dead' : 'cancelled';
}

/** Returns how many deliveries came to what, without what none came to. */
export function tallyOf(found: readonly Found[]): { outcome: Outcome; n: number }[] {
  const outcomes = found.map(outcomeOf);
  return OUTCOMES.map((outcome) => ({
    outcome,
    n: outcomes.filter((each) => each === outcome).length,
  })).filter(({ n }) => n > 0);
}

/** Returns the event that all of them are deliveries of; undefined: several, or none. */
export function theMessageOf(found: readonly Found[]): string | undefined {
  const messages = new Set(found.map(({ messageId }) => messageId));
  return messages.size === 1 ? found[0]?.messageId : undefined;
}
