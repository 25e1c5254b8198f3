import { ATTEMPTS } from '../../../shared/kafka/topics';
import { type Evidence, evidenceOf } from '../health/attempt-evidence';
import { storeEvidence } from '../health/store';
import { type Handler } from '../reading/reader';

/**
 * Reads `attempts` for trouble only, independently of the history: it writes a row for each
 * destination and none for a delivery, so it keeps up when the history does not.
 */

/** Look-back of a new database. Older trouble shows in later records. */
const LOOK_BACK_MS = 3_600_000;

/** @param onTrouble called once something other than successes is stored */
export function evidenceHandler(
  nowMs: () => number,
  onTrouble: () => void = () => undefined,
): Handler<Evidence> {
  return {
    name: 'alerts',
    topic: ATTEMPTS,
    sinceMs: () => nowMs() - LOOK_BACK_MS,
    entriesOf: ({ value }) => evidenceOf(value),
    write: async (transaction, evidence) => {
      await storeEvidence(transaction, evidence);
      return evidence.some(({ kind }) => kind !== 'ok') ? onTrouble : undefined;
    },
  };
}
