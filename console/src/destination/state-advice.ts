import { type DestinationHealth } from '../../../shared/api/operations';
import { causeInWords } from '../lib/labels';

/** What to say of the state of a destination, and what to do about it. Pure. */

type State = DestinationHealth['state'];

/** Returns the cause of a state; undefined: it has none, or the error is over. */
export function troubleInWords({
  state,
  lastError,
}: Pick<DestinationHealth, 'state' | 'lastError'>): string | undefined {
  const isInTrouble = state === 'failing' || state === 'degraded';
  return isInTrouble && lastError ? causeInWords(lastError) : undefined;
}

type Action = 'enable' | 'resume' | 'replay' | 'test';

/**
 * Returns what somebody most likely came for: to switch it on, to find out why it fails, or to send
 * again what died while it did.
 * @param dead deliveries that were given up within the last day
 */
export function nextActionFor(state: State, dead: number): Action {
  if (state === 'off') return 'enable';
  if (state === 'paused') return 'resume';
  return state !== 'failing' && dead > 0 ? 'replay' : 'test';
}
