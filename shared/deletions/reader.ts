import { type GateConfig } from '../config/decision-gate';
import { type Kafka } from '../kafka/port';
import { DELETIONS } from '../kafka/topics';
import {
  type CallOfUser,
  decodeDeletion,
  DeletedUsers,
  type DeletionRecord,
  type UserDeletion,
} from '../model/deletion';
import { requireKnownFormat } from '../runtime/errors';
import { steadyClock } from '../runtime/steady-clock';
import { type Log } from '../telemetry/log';

/** Follows the topic `deletions` in memory. */

/** Time for reading all of it at start: millions of records take seconds. */
const OPEN_DEADLINE_MS = 60_000;

export interface Deletions extends GateConfig {
  /** Returns whether a call was accepted before its user or visitor was deleted. */
  covers(call: CallOfUser): boolean;
  /** time since all deletions were known, ms; Infinity: unknown, since the machine has slept */
  readonly ageMs: number;
}

export interface FollowedDeletions extends Deletions {
  /** time of the latest deletion, ms since 1970; 0: there is none */
  readonly latestAt: number;
  /** Returns the sources whose calls of that time were deleted for a user. */
  deletedSources(userId: string, acceptedAt: number): 'all' | string[];
  /** Returns the deletions of users that Kafka appended to `deletions` since a time. */
  usersSince(sinceMs: number): UserDeletion[];
  /** Adds a deletion that this process has learned before it read it here. */
  add(deletion: DeletionRecord): void;
  /** Called after each record. */
  onDeletion(listener: () => void): void;
  /** Resolves when everything that was in the topic at the time of the call is known. */
  known(): Promise<void>;
  /** why the reader must be considered stuck; undefined while it is well, or Kafka is away */
  stuck(): string | undefined;
  stop(): Promise<void>;
}

/** Nobody was ever deleted, and that is always known. */
export const NO_DELETIONS: Deletions = {
  covers: () => false,
  ageMs: 0,
  completeAt: Infinity,
  changes: 0,
  expectSoon: () => undefined,
  onComplete: () => undefined,
};

/**
 * Opens the topic and reads it to its end.
 * @throws AppError `kafka_unavailable` if the end is not reached in a minute
 */
export async function openDeletions(
  kafka: Pick<Kafka, 'tail'>,
  options: {
    name: string;
    log: Log;
    onFatal: (error: unknown) => void;
    /** goes on while the machine sleeps, ms */
    steadyMs?: () => number;
  },
): Promise<FollowedDeletions> {
  const { name, log, onFatal, steadyMs = () => steadyClock.now() } = options;
  const users = new DeletedUsers();
  const sleep = new SleepWatch(steadyMs);
  const onComplete: (() => void)[] = [];
  const onDeletion: (() => void)[] = [];
  const waiting: (() => void)[] = [];
  let changes = 0;
  const tail = await kafka.tail({
    name: `${name}-deletions`,
    topic: DELETIONS,
    from: 'beginning',
    onRecord: (record) => {
      requireKnownFormat(record, `this ${name} process`);
      changes++;
      const deletion = decodeDeletion(record.value?.toString() ?? '');
      if (deletion) users.add(deletion, record.timestampMs);
      else log.error({ offset: record.offset }, 'deletion.unreadable');
      for (const listener of onDeletion) listener();
    },
    onComplete: () => {
      for (const listener of [...onComplete, ...waiting.splice(0)]) listener();
    },
    onFatal,
  });
  try {
    await tail.caughtUp(OPEN_DEADLINE_MS);
  } catch (error) {
    await tail.stop();
    throw error;
  }
  return {
    covers: (call) => users.covers(call),
    deletedSources: (userId, acceptedAt) => users.deletedSources(userId, acceptedAt),
    usersSince: (sinceMs) => users.usersSince(sinceMs),
    add: (deletion) => users.add(deletion),
    get latestAt() {
      return users.latestAt;
    },
    get ageMs() {
      return tail.completeAt < sleep.noticedAt ? Infinity : performance.now() - tail.completeAt;
    },
    get completeAt() {
      return tail.completeAt;
    },
    get changes() {
      return changes;
    },
    expectSoon: () => tail.expectSoon(),
    onComplete: (listener) => onComplete.push(listener),
    onDeletion: (listener) => onDeletion.push(listener),
    known: async () => {
      const askedAt = performance.now();
      while (tail.completeAt < askedAt) {
        tail.expectSoon();
        await new Promise<void>((resolve) => waiting.push(resolve));
      }
    },
    stuck: () => tail.stuck(),
    stop: () => tail.stop(),
  };
}

/**
 * Tells when the machine slept: other processes went on meanwhile, and what this one proved before
 * is as old as the sleep was long, although `performance.now()` does not count it.
 */
class SleepWatch {
  #sleptMs: number;
  #noticedAt = -Infinity;

  constructor(private readonly steadyMs: () => number) {
    this.#sleptMs = this.steadyMs() - performance.now();
  }

  /** when this process last noticed that it had slept, by `performance.now()` */
  get noticedAt(): number {
    const now = performance.now();
    const sleptMs = this.steadyMs() - now;
    if (sleptMs - this.#sleptMs > NOTICED_MS) {
      this.#sleptMs = sleptMs;
      this.#noticedAt = now;
    }
    return this.#noticedAt;
  }
}

/** Above what passes between two readings of clocks. */
const NOTICED_MS = 100;
