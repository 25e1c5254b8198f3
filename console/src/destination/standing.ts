import { type DestinationHealth } from '../../../shared/api/operations';
import { capitalized, causeInWords, clock, stateInWords } from '../lib/labels';
import { text } from '../texts';

const words = text.destination.standing;

/** The state of a destination in words, and what to do about it. Pure. */

type State = DestinationHealth['state'];

/** "Failing since 13:41: HTTP 500". An error that is over does not belong to a healthy state. */
export function standingInWords(
  { state, stateSince, lastError }: Pick<DestinationHealth, 'state' | 'stateSince' | 'lastError'>,
  nowMs: number,
): string {
  const name = capitalized(stateInWords(state));
  const since = words.since(name, clock(stateSince, nowMs));
  const isInTrouble = state === 'failing' || state === 'degraded';
  return isInTrouble && lastError ? words.because(since, causeInWords(lastError)) : since;
}

type Action = 'enable' | 'resume' | 'replay' | 'test';

/**
 * Returns what somebody most likely came for: to switch it on, to find out why it fails, or to send
 * again what was lost while it did.
 * @param dead deliveries that were given up within the last day
 */
export function actionFor(state: State, dead: number): Action {
  if (state === 'off') return 'enable';
  if (state === 'paused') return 'resume';
  return state !== 'failing' && dead > 0 ? 'replay' : 'test';
}
