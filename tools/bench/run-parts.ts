import { messageOf } from '../../shared/runtime/errors';
import { type Part, type Measured } from './parts';
import { type Progress } from './progress';
import { type Round } from './report';

/** Measures the parts of a round: it reports a part that fails, and continues with the others. */
export async function runParts(
  parts: readonly Part[],
  progress: Progress,
  measure: (part: Part, progress: Progress) => Promise<Measured>,
): Promise<Round> {
  const round: Round = { rows: [], figures: {}, failures: [] };
  for (const part of parts) {
    try {
      progress.note(part);
      const { figures, rows } = await measure(part, progress.within(part));
      round.figures[part] = figures;
      round.rows.push(...rows);
    } catch (error) {
      progress.note(`${part} could not be measured: ${messageOf(error)}`);
      round.failures.push({ part, why: messageOf(error) });
    }
  }
  return round;
}
