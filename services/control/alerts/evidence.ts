import { ATTEMPTS } from '../../../shared/kafka/topics';
import { type Evidence, evidenceOf } from '../health/attempt-evidence';
import { addToHealth } from '../health/store';
import { type Handler } from '../reading/reader';
import { saveSignals } from './signal-store';
import { holding, type Signal, signalOf } from './signals';

/**
 * Reads `attempts` for the health of destinations only, independently of the history: it writes a
 * row for each destination and none for a delivery, so it keeps up when the history does not.
 */

/** Look-back of a new database. Older trouble shows in later records. */
const LOOK_BACK_MS = 3_600_000;

type Fact = { kind: 'evidence'; evidence: Evidence } | { kind: 'signal'; signal: Signal };

/** @param onTrouble called once something other than successes is stored */
export function evidenceHandler(
  nowMs: () => number,
  onTrouble: () => void = () => undefined,
): Handler<Fact> {
  return {
    name: 'alerts',
    topic: ATTEMPTS,
    sinceMs: () => nowMs() - LOOK_BACK_MS,
    entriesOf: ({ value }) => {
      const signal = signalOf(value);
      if (signal) return [{ kind: 'signal', signal }];
      return evidenceOf(value).map((evidence) => ({ kind: 'evidence', evidence }));
    },
    write: async (transaction, facts) => {
      const evidence: Evidence[] = [];
      const signals = new Map<string, Signal>();
      for (const fact of facts) {
        if (fact.kind === 'evidence') evidence.push(fact.evidence);
        else signals.set(fact.signal.key, holding(signals.get(fact.signal.key), fact.signal));
      }
      await addToHealth(transaction, evidence);
      await saveSignals(transaction, [...signals.values()]);
      return signals.size > 0 || evidence.some(({ kind }) => kind !== 'ok') ? onTrouble : undefined;
    },
  };
}
