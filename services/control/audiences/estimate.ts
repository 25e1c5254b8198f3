import { sumOf } from './sum-of';

/** How large an audience would be, from what was looked at: pure. */

/** What is known of one partition. */
export interface Known {
  /** profiles there are */
  profiles: number;
  /** how many of them were looked at, and how many of those are in */
  known: number;
  members: number;
  /** of those known: what they did may not be known as a whole */
  unsure: number;
}

export interface Estimate {
  members: number;
  /** half the width of the 95 % interval */
  plusMinus: number;
  exact: boolean;
}

/** Of the normal distribution: 95 % lie within so many standard deviations. */
const DEVIATIONS = 1.96;

/**
 * Users are spread over the partitions by a hash, and drawn by another one: each partition is a stratum of a random sample.
 * The interval is that of Agresti and Coull (two more who are in, and two who are not: also nobody in a sample may be some in
 * all), with the correction for what was drawn of a finite number.
 * @param partitions how many there are; of those that are not given, nothing is known
 */
export function estimate(given: readonly Known[], partitions: number): Estimate {
  const sum = (read: (each: Known) => number) => sumOf(given, read);
  const counted = sum(({ members }) => members);
  const whole = given.length === partitions && given.every(({ known, profiles }) => known >= profiles);
  if (whole && sum(({ unsure }) => unsure) === 0) return { members: counted, plusMinus: 0, exact: true };
  // Of a partition that has said nothing: as many as of the others.
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

/** Of the number of members in a stratum. */
function varianceOf({ profiles, known, members }: Known): number {
  const share = (members + 2) / (known + 4);
  const left = Math.max(0, 1 - known / Math.max(1, profiles));
  return (profiles ** 2 * left * share * (1 - share)) / (known + 4);
}
