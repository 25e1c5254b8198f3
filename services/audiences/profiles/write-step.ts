import { AppError } from '../../../shared/service/errors';
import { type BatchProducer, type OutRecord } from '../../../shared/kafka/port';
import { type Step } from './change-set';
import { changelogRecords, moveRecords } from './step-records';
import { markedFull, type Profile } from './profile';

/**
 * Writes a step to Kafka, and leaves out the users whose records Kafka refuses for good (too large, as a rule): one user
 * must not stop the others of a partition. Such a user keeps the profile of before the step and is marked as full. Where
 * that is refused too, traits and counters go.
 */

export interface Writing {
  producer: Pick<BatchProducer, 'send'>;
  partition: number;
  /** the profile before the step */
  before: (user: string) => Profile | undefined;
  /** called once for each user and step that was refused */
  onRefused: (error: AppError, bytes: number) => void;
}

interface Written {
  /** as it was written */
  step: Step;
  /** records of the changelog */
  records: number;
}

/** @throws what `append` throws where it is not for one user's record: then the process cannot go on */
export async function writeStep(step: Step, writing: Writing): Promise<Written> {
  const { partition, before } = writing;
  const moves = moveRecords(step);
  const stuck = await refused(moves, writing);
  const from = new Set([...stuck].map((i) => step.moves[i]?.from ?? ''));
  let current = from.size === 0 ? step : without(step, from, (user) => before(user) ?? null);
  const again = new Set<string>();
  for (;;) {
    const users = [...current.profiles.keys()];
    const records = changelogRecords(current, partition);
    const bad = [...(await refused(records, writing))].map((i) => users[i]);
    if (bad.length === 0) return { step: current, records: records.length };
    // The last record says how far the step is. It is small: Kafka takes none at present.
    if (bad.includes(undefined)) throw new AppError('kafka_unavailable', NOTHING_TAKEN);
    for (const user of bad as string[]) {
      const known = before(user);
      const kept = again.has(user) ? emptied(known) : (known ?? null);
      if (again.has(user) && kept === null) throw new AppError('kafka_unavailable', NOTHING_TAKEN);
      current = without(current, new Set([user]), () => kept);
      again.add(user);
    }
  }
}

const NOTHING_TAKEN =
  'Kafka refuses every record of topic profiles; look at its log, its limits and the ACLs of the topic';

/** Appends records. @returns the places of those that Kafka refuses for good; the others are written */
export async function refused(records: OutRecord[], { producer, onRefused }: Omit<Writing, 'partition' | 'before'>) {
  const places = new Set<number>();
  try {
    await producer.send(records);
    return places;
  } catch (error) {
    if (!isFinal(error)) throw error;
  }
  // Which one it was is not known: each is appended alone. One that is written twice says the same.
  for (const [i, record] of records.entries()) {
    try {
      await producer.send([record]);
    } catch (error) {
      if (!isFinal(error)) throw error;
      places.add(i);
      onRefused(error, record.value?.length ?? 0);
    }
  }
  return places;
}

function isFinal(error: unknown): error is AppError {
  return error instanceof AppError && !error.retriable;
}

/** The step with other profiles of some users, who are marked, and without what they were to be told. */
function without(step: Step, users: ReadonlySet<string>, kept: (user: string) => Profile | null): Step {
  const profiles = new Map(step.profiles);
  for (const user of users) {
    const profile = kept(user);
    profiles.set(user, profile && markedFull(profile, true));
  }
  return {
    ...step,
    profiles,
    moves: step.moves.filter(({ from }) => !users.has(from)),
    tells: step.tells.filter(({ user }) => !users.has(user)),
    refused: step.refused + users.size,
  };
}

/** What receivers were told is kept, so that they are told when it changes. */
function emptied(profile: Profile | undefined): Profile | null {
  if (!profile || (!profile.t && !profile.c && !profile.l)) return null;
  const { t: _, c: __, l: ___, ...rest } = profile;
  return rest;
}
