import { type ProfileResult, type PreviewResult, type SampleUser } from '../../../shared/model/profile-records';
import { estimate, sumOf } from './estimate';

/**
 * Combines the results of a preview. Pure.
 *
 * The last result of each partition counts, and its first `done` is final. When a partition moves, its new owner counts
 * from the beginning, so figures may fall. The preview is done when all partitions are.
 */
export interface PreviewProgress {
  /** a process has read the query */
  heard: boolean;
  /** why the preview cannot complete */
  refused?: string;
  answers: ReadonlyMap<number, PreviewResult>;
}

export const NO_PROGRESS: PreviewProgress = { heard: false, answers: new Map() };

/** @returns the same object if the result adds nothing */
export function hear(progress: PreviewProgress, answer: ProfileResult): PreviewProgress {
  switch (answer.kind) {
    case 'heard':
      return { ...progress, heard: true };
    case 'refused':
      return { ...progress, heard: true, refused: answer.reason };
    case 'preview':
      if (progress.answers.get(answer.partition)?.state === 'done') return progress;
      return { ...progress, heard: true, answers: new Map(progress.answers).set(answer.partition, answer) };
    case 'members':
      return progress;
  }
}

/** @param partitions number of partitions of profiles */
export function isDone({ answers }: PreviewProgress, partitions: number): boolean {
  return partitions > 0 && answers.size >= partitions && [...answers.values()].every(({ state }) => state === 'done');
}

/** Returns whether there are figures to show. */
export function hasFigures({ answers }: PreviewProgress): boolean {
  return [...answers.values()].some(({ known }) => known > 0);
}

export interface PreviewFigures {
  phase: 'counting' | 'done' | 'failed';
  members: number;
  looked: number;
  of: number;
  exact: boolean;
  plusMinus: number;
  failed: number;
  sample: SampleUser[];
  detail: string | null;
}

const MAX_SAMPLE = 10;

/** @param over no further results are accepted, so missing partitions stay missing */
export function figuresOf(progress: PreviewProgress, partitions: number, over: boolean): PreviewFigures {
  const answers = [...progress.answers.values()].sort((a, b) => a.partition - b.partition);
  const done = isDone(progress, partitions);
  const figures = {
    ...estimate(answers, partitions),
    looked: sumOf(answers, ({ looked }) => looked),
    of: sumOf(answers, (each) => each.of),
    failed: sumOf(answers, ({ failed }) => failed),
    sample: answers.flatMap(({ sample }) => sample).slice(0, MAX_SAMPLE),
  };
  if (done) return { phase: 'done', ...figures, detail: noteOf(answers, figures) };
  // Until all partitions are done the figures may change, even if they look complete.
  const open = { ...figures, exact: false };
  if (progress.refused !== undefined) return { phase: 'failed', ...open, detail: progress.refused };
  return { phase: over ? 'failed' : 'counting', ...open, detail: missingOf(answers, partitions, over) };
}

/** Returns the caveats of a result. */
function noteOf(answers: readonly PreviewResult[], { exact, of }: { exact: boolean; of: number }): string | null {
  if (exact) return null;
  const profiles = sumOf(answers, (each) => each.profiles);
  const unsure = sumOf(answers, (each) => each.unsure);
  const sampled = of < profiles ? [`Estimated from ${of} of ${profiles} profiles`] : [];
  const merged = unsure ? [`${unsure} of them had another id before; events under that id are not counted`] : [];
  return [...sampled, ...merged].join('; ');
}

/** Returns what the preview waits for. */
function missingOf(answers: readonly PreviewResult[], partitions: number, over: boolean): string | null {
  const silent = partitions - answers.length;
  const waiting = answers.filter(({ state }) => state === 'waiting').length;
  if (over) return `Not all partitions of profiles were counted in time (${answers.length} of ${partitions} responded)`;
  if (waiting > 0) {
    return `Reading earlier messages first, in ${waiting} of ${partitions} partitions. The first time, this takes a while`;
  }
  return silent > 0 ? `${silent} of ${partitions} partitions of profiles have not responded yet` : null;
}
