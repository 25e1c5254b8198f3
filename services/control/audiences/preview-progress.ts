import { type ProfileResult, type PreviewResult, type SampleUser } from '../../../shared/model/profile-queries';
import { estimate } from './estimate';
import { sumOf } from './sum-of';

/**
 * What the answers to a preview come to: pure.
 *
 * Of each partition the last answer counts, until one says that it is done: that one stays. A partition that moves is counted
 * anew by whoever has it then, so its figures may fall; and the whole is done when all partitions are.
 */
export interface PreviewProgress {
  /** a process has read the question */
  heard: boolean;
  /** why there will be no whole */
  refused?: string;
  answers: ReadonlyMap<number, PreviewResult>;
}

export const NO_PROGRESS: PreviewProgress = { heard: false, answers: new Map() };

/** @returns the same where the answer says nothing new */
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

/** @param partitions how many there are */
export function isDone({ answers }: PreviewProgress, partitions: number): boolean {
  return partitions > 0 && answers.size >= partitions && [...answers.values()].every(({ state }) => state === 'done');
}

/** Something may be shown. */
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

/** @param over nobody waits for further answers: what is missing stays so */
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
  // Before all have ended the figures may yet change, also where they look whole.
  const open = { ...figures, exact: false };
  if (progress.refused !== undefined) return { phase: 'failed', ...open, detail: progress.refused };
  return { phase: over ? 'failed' : 'counting', ...open, detail: missingOf(answers, partitions, over) };
}

/** What should be known of a result. */
function noteOf(answers: readonly PreviewResult[], { exact, of }: { exact: boolean; of: number }): string | null {
  if (exact) return null;
  const profiles = sumOf(answers, (each) => each.profiles);
  const unsure = sumOf(answers, (each) => each.unsure);
  const sampled = of < profiles ? [`Estimated from ${of} of ${profiles} profiles`] : [];
  const merged = unsure ? [`${unsure} of them had another id before; events under that id are not counted`] : [];
  return [...sampled, ...merged].join('; ');
}

/** What it waits for. */
function missingOf(answers: readonly PreviewResult[], partitions: number, over: boolean): string | null {
  const silent = partitions - answers.length;
  const waiting = answers.filter(({ state }) => state === 'waiting').length;
  if (over) return `Not all partitions of profiles were counted in time (${answers.length} of ${partitions} responded)`;
  if (waiting > 0) {
    return `Reading earlier messages first, in ${waiting} of ${partitions} partitions. The first time, this takes a while`;
  }
  return silent > 0 ? `${silent} of ${partitions} partitions of profiles have not responded yet` : null;
}
