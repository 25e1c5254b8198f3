/** Estimates the size of an audience from samples. Pure. */

/** The sample of one partition. */
export interface Known {
  /** number of profiles */
  profiles: number;
  /** sampled profiles, and members among them */
  known: number;
  members: number;
  /** sampled profiles with incomplete data about their events */
  unsure: number;
}

export interface Estimate {
  members: number;
  /** half the width of the 95 % interval */
  plusMinus: number;
  exact: boolean;
}

/** 95 % of a normal distribution lie within this many standard deviations. */
const DEVIATIONS = 1.96;

/**
 * Estimates the members. A hash spreads users over the partitions, and another hash draws the sample, so each partition
 * is a stratum of a random sample. The interval is by Agresti and Coull, with a correction for a finite population: it
 * adds two members and two others, since an audience may have members although a sample has none.
 * @param partitions number of partitions; those not in `given` have no sample
 */
export function estimate(given: readonly Known[], partitions: number): Estimate {
  const sum = (read: (each: Known) => number) => sumOf(given, read);
  const counted = sum(({ members }) => members);
  const whole = given.length === partitions && given.every(({ known, profiles }) => known >= profiles);
  if (whole && sum(({ unsure }) => unsure) === 0) return { members: counted, plusMinus: 0, exact: true };
  // A partition without a result counts as the average of the others.
  const profiles = given.length === 0 ? 0 : (sum((each) => each.profiles) * partitions) / given.length;
  const looked = given.filter(({ known }) => known > 0);
  const covered = sumOf(looked, ({ profiles: there }) => there);
  if (covered === 0) return { members: 0, plusMinus: Math.ceil(profiles), exact: false };
  const scale = profiles / covered;
  const over = (read: (each: Known) => number) => sumOf(looked, read);
  const members = scale * over((each) => (each.profiles * each.members) / each.known);
  const unsure = scale * over((each) => (each.profiles * each.unsure) / each.known);
  const all = { profiles, known: over(({ known }) => known), members: over((each) => each.members), unsure: 0 };
  const variance = scale ** 2 * over(varianceOf) + (profiles - covered) ** 2 * (varianceOf(all) / profiles ** 2);
  return {
    members: Math.max(counted, Math.min(Math.round(profiles), Math.round(members))),
    plusMinus: Math.ceil(DEVIATIONS * Math.sqrt(variance) + unsure),
    exact: false,
  };
}

/** Returns the variance of the number of members in a stratum. */
function varianceOf({ profiles, known, members }: Known): number {
  const share = (members + 2) / (known + 4);
  const left = Math.max(0, 1 - known / Math.max(1, profiles));
  return (profiles ** 2 * left * share * (1 - share)) / (known + 4);
}

/** Adds up a value of each element. */
export function sumOf<T>(all: readonly T[], read: (each: T) => number): number {
  return all.reduce((total, each) => total + read(each), 0);
}
