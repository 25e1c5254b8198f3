import { type OutRecord } from '../../shared/kafka/port';
import { ATTEMPTS, DEAD } from '../../shared/kafka/topics';
import { type Admission } from './admission';
import { type DeliveryInHand } from './outcome';

/** Derives the outcome of one step of a delivery from the records written for it. Pure. */

export interface StepOutcome {
  /** `tested`: a test send, which has no next step */
  kind: 'delivered' | 'tested' | 'retried' | 'diverted' | 'dead' | 'cancelled';
  reason?: string;
  /** the topic the delivery was written to, not counting its event */
  topic?: string;
}

/** @param admission why it was not tried, if it was not */
export function stepOutcomeOf(
  { delivery }: DeliveryInHand,
  outcome: readonly OutRecord[],
  admission?: Admission,
): StepOutcome {
  if (admission?.kind === 'cancel') return { kind: 'cancelled', reason: admission.reason };
  const moved = outcome.find(({ topic }) => topic !== ATTEMPTS);
  if (!moved) return { kind: delivery.test ? 'tested' : 'delivered' };
  const { topic, headers = {} } = moved;
  const { reason = '' } = headers;
  if (topic === DEAD) return { kind: 'dead', reason, topic };
  const attempted = Number(headers.attempt ?? 0) > delivery.attempt;
  return { kind: attempted ? 'retried' : 'diverted', reason, topic };
}
