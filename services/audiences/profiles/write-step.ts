import { AppError } from '../../../shared/service/errors';
import { type BatchProducer, type OutRecord } from '../../../shared/kafka/port';
import { type Step } from './change-set';
import { changelogRecords, moveRecords } from './step-records';
import { markedFull, type Profile } from './profile';

/**
 * Writes a step to Kafka, without the users whose records Kafka refuses permanently (too large, as a rule): one user
 * must not block the others of a partition. Such a user keeps the profile from before the step and is marked as full.
 * If Kafka refuses that too, the user's traits and counters are dropped.
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
  /** the step as written */
  step: Step;
  /** number of changelog records */
  records: number;
}

/** @throws errors of `send` about more than a single user's record; the process cannot continue then */
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
    // The last record is the state. It is small, so Kafka refuses all records at present.
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

/** Sends records. @returns the indexes of permanently refused ones; the others are written */
export async function refused(records: OutRecord[], { producer, onRefused }: Omit<Writing, 'partition' | 'before'>) {
  const places = new Set<number>();
  try {
    await producer.send(records);
    return places;
  } catch (error) {
    if (!isFinal(error)) throw error;
  }
  // The error does not name the record, so each is sent alone. A record that is written twice does no harm.
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

/** Returns the step with other, marked profiles of some users, and without their messages. */
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

/** Keeps the sent values, so that receivers still get later changes. */
function emptied(profile: Profile | undefined): Profile | null {
  if (!profile || (!profile.t && !profile.c && !profile.l)) return null;
  const { t: _, c: __, l: ___, ...rest } = profile;
  return rest;
}
