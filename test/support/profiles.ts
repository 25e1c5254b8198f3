import pino from 'pino';
import { type MemberShelf } from '../../services/audiences/members';
import { type Glance } from '../../services/audiences/preview';
import { type Profile } from '../../services/audiences/profile';
import { Questions } from '../../services/audiences/questions';
import { type MemoryLog } from './memory-log';

/** Profiles of one partition in memory, and a process that answers for them. */

export type ProfileShelf = Glance['shelf'] & MemberShelf;

export function profileShelf(profiles: Readonly<Record<string, Profile>>): ProfileShelf {
  const names = Object.keys(profiles).sort();
  const from = (after: string | undefined, limit: number, all = names) =>
    all.filter((user) => after === undefined || user > after).slice(0, limit);
  return {
    size: names.length,
    get: (user) => profiles[user],
    users: from,
    members: (definition, after, limit) =>
      from(
        after,
        limit,
        names.filter((user) => profiles[user]?.s?.[definition]),
      ),
    touched: () => [],
    due: () => [],
    write: () => {
      throw new Error('whoever answers writes nothing');
    },
  };
}

/** Nobody has done anything. */
export const EMPTY_LOG: Glance['log'] = {
  read: (_, end) => Promise.resolve({ records: [], next: end, done: true }),
};

export interface Answering {
  questions: Questions;
  /** by partition; undefined where it is not this process's */
  kept: Map<number, { glance: (Glance & { shelf: ProfileShelf }) | undefined; queued: number }>;
  stop(): Promise<void>;
}

/** Answers what is asked on this log, for one partition with these profiles. */
export async function answering(
  { kafka }: MemoryLog,
  profiles: Readonly<Record<string, Profile>> = {},
  { now = Date.now }: { now?: () => number } = {},
): Promise<Answering> {
  const producer = await kafka.producer({ maxPendingBytes: 1e6, deliveryTimeoutMs: 1_000 });
  const kept: Answering['kept'] = new Map();
  const glance = { shelf: profileShelf(profiles), log: EMPTY_LOG, ready: true, next: 0 };
  kept.set(0, { glance, queued: 0 });
  const log = pino({ level: 'silent' });
  const onFatal = (error: unknown) => {
    throw error;
  };
  const questions = new Questions({
    kafka,
    producer,
    keepers: () => kept,
    onPreview: () => undefined,
    now,
    log,
    onFatal,
  });
  await questions.start();
  return { questions, kept, stop: () => questions.stop() };
}
