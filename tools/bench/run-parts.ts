import { messageOf } from '../../shared/service/errors';
import { type Progress } from './progress';

/** Runs the selected parts: it reports a part that fails and continues with the others. */
export class RunParts<Part extends string> {
  readonly failures: { part: string; why: string }[] = [];

  constructor(
    private readonly only: ReadonlySet<Part>,
    private readonly progress: Progress,
  ) {}

  /** Undefined if the part is not selected, or failed. For a group of parts: if none is selected. */
  async run<T>(
    part: Part | readonly Part[],
    what: string,
    measure: (progress: Progress) => Promise<T>,
  ): Promise<T | undefined> {
    const wanted = [part].flat().filter((name) => this.only.has(name as Part));
    if (wanted.length === 0) return undefined;
    try {
      this.progress.note(what);
      return await measure(this.progress.within(what));
    } catch (error) {
      const failed = wanted.join(', ');
      this.progress.note(`${failed} could not be measured: ${messageOf(error)}`);
      this.failures.push({ part: failed, why: messageOf(error) });
      return undefined;
    }
  }
}
