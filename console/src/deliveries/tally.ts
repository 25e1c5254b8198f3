import { type Deliveries } from '../../../shared/api/operations';
import { isDelivered, isUnderWay } from '../../../shared/model/reasons';
import { count } from '../lib/labels';
import { text } from '../texts';

/** What became of several deliveries, in a few numbers. Pure. */

type TalliedDelivery = Pick<Deliveries['data'][number], 'status' | 'messageId'>;

const OUTCOMES = ['delivered', 'waiting', 'dead', 'cancelled'] as const;
type Outcome = (typeof OUTCOMES)[number];

function outcomeOf({ status }: TalliedDelivery): Outcome {
  if (isUnderWay(status)) return 'waiting';
  if (isDelivered(status)) return 'delivered';
  return status === 'dead' ? 'dead' : 'cancelled';
}

const words = text.watch.deliveries;

/** Says how many deliveries came to what: "3 delivered, 1 dead". */
export function tallyInWords(found: readonly TalliedDelivery[]): string {
  const outcomes = found.map(outcomeOf);
  return OUTCOMES.flatMap((outcome) => {
    const n = outcomes.filter((each) => each === outcome).length;
    return n === 0 ? [] : [`${count(n)} ${words.outcomes[outcome]}`];
  }).join(', ');
}

/** Returns the event that all of them are deliveries of; undefined: several, or none. */
export function theMessageOf(found: readonly TalliedDelivery[]): string | undefined {
  const messages = new Set(found.map(({ messageId }) => messageId));
  return messages.size === 1 ? found[0]?.messageId : undefined;
}
