import {
  type ProfileResult,
  type PreviewResult,
  type SampleUser,
} from '../../../shared/model/profile-records';

/** Estimates the size of an audience from samples. Pure. */

/** The sample of one partition. */
export type PartitionSample = Pick<PreviewResult, 'profiles' | 'known' | 'members' | 'unsure'>;

export interface Estimate {
  members: number;
  /** half the width of the 95 % interval */
  plusMinus: number;
  exact: boolean;
}

/** 95 % of a normal distribution lie within this many standard deviations. */
const DEVIATIONS = 1.96;

/**
 * Estimates the members. A hash spreads users over the partitions, and another hash draws the
 * sample, so each partition is a stratum of a random sample. The interval is by Agresti and Coull,
 * with a correction for a finite population: it adds two members and two others, since an audience
 * may have members although a sample has none.
 * @param partitions number of partitions; those not in `given` have no sample
 */
export function estimate(given: readonly PartitionSample[], partitions: number): Estimate {
  const sum = (read: (each: PartitionSample) => number) => sumOf(given, read);
  const counted = sum(({ members }) => members);
  const whole =
    given.length === partitions && given.every(({ known, profiles }) => known >= profiles);
  if (whole && sum(({ unsure }) => unsure) === 0) {
    return { members: counted, plusMinus: 0, exact: true };
  }
  // A partition without a result counts as the average of the others.
  const profiles =
    given.length === 0 ? 0 : (sum((each) => each.profiles) * partitions) / given.length;
  const looked = given.filter(({ known }) => known > 0);
  const covered = sumOf(looked, ({ profiles: there }) => there);
  if (covered === 0) return { members: 0, plusMinus: Math.ceil(profiles), exact: false };
  const scale = profiles / covered;
  const over = (read: (each: PartitionSample) => number) => sumOf(looked, read);
  const members = scale * over((each) => (each.profiles * each.members) / each.known);
  const unsure = scale * over((each) => (each.profiles * each.unsure) / each.known);
  const all = {
    profiles,
    known: over(({ known }) => known),
    members: over((each) => each.members),
    unsure: 0,
  };
  const variance =
    scale ** 2 * over(varianceOf) + (profiles - covered) ** 2 * (varianceOf(all) / profiles ** 2);
  return {
    members: Math.max(counted, Math.min(Math.round(profiles), Math.round(members))),
    plusMinus: Math.ceil(DEVIATIONS * Math.sqrt(variance) + unsure),
    exact: false,
  };
}

/** Returns the variance of the number of members in a stratum. */
function varianceOf({ profiles, known, members }: PartitionSample): number {
  const share = (members + 2) / (known + 4);
  const left = Math.max(0, 1 - known / Math.max(1, profiles));
  return (profiles ** 2 * left * share * (1 - share)) / (known + 4);
}

/** Adds up a value of each element. */
export function sumOf<T>(all: readonly T[], read: (each: T) => number): number {
  return all.reduce((total, each) => total + read(each), 0);
}

/**
 * Combines the results of a preview. Pure.
 *
 * The last result of each partition counts, and its first `done` is final. When a partition moves,
 * its new owner counts from the beginning, so figures may fall. The preview is done when all
 * partitions are.
 */
export interface PreviewProgress {
  /** a process has read the query */
  isAcknowledged: boolean;
  /** why the preview cannot complete */
  refused?: string;
  answers: ReadonlyMap<number, PreviewResult>;
}

export const NO_PROGRESS: PreviewProgress = { isAcknowledged: false, answers: new Map() };

/** @returns the same object if the result adds nothing */
export function withAnswer(progress: PreviewProgress, answer: ProfileResult): PreviewProgress {
  switch (answer.kind) {
    case 'heard':
      return { ...progress, isAcknowledged: true };
    case 'refused':
      return { ...progress, isAcknowledged: true, refused: answer.reason };
    case 'preview':
      if (progress.answers.get(answer.partition)?.state === 'done') return progress;
      return {
        ...progress,
        isAcknowledged: true,
        answers: new Map(progress.answers).set(answer.partition, answer),
      };
    case 'members':
      return progress;
  }
}

export function isDone({ answers }: PreviewProgress, partitions: number): boolean {
  return (
    partitions > 0 &&
    answers.size >= partitions &&
    [...answers.values()].every(({ state }) => state === 'done')
  );
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
export function figuresOf(
  progress: PreviewProgress,
  partitions: number,
  over: boolean,
): PreviewFigures {
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
  return {
    phase: over ? 'failed' : 'counting',
    ...open,
    detail: missingOf(answers, partitions, over),
  };
}

function noteOf(
  answers: readonly PreviewResult[],
  { exact, of }: { exact: boolean; of: number },
): string | null {
  if (exact) return null;
  const profiles = sumOf(answers, (each) => each.profiles);
  const unsure = sumOf(answers, (each) => each.unsure);
  const sampled = of < profiles ? [`Estimated from ${of} of ${profiles} profiles`] : [];
  const merged = unsure
    ? [`${unsure} of them had another id before; events under that id are not counted`]
    : [];
  return [...sampled, ...merged].join('; ');
}

function missingOf(
  answers: readonly PreviewResult[],
  partitions: number,
  over: boolean,
): string | null {
  const silent = partitions - answers.length;
  const waiting = answers.filter(({ state }) => state === 'waiting').length;
  if (over) {
    return (
      `Not all partitions of profiles were counted in time (${answers.length} of ` +
      `${partitions} responded)`
    );
  }
  if (waiting > 0) {
    return (
      `Reading earlier messages first, in ${waiting} of ${partitions} partitions. The first ` +
      'time, this takes a while'
    );
  }
  return silent > 0
    ? `${silent} of ${partitions} partitions of profiles have not responded yet`
    : null;
}
