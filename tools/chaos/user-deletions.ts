import { setTimeout as pause } from 'node:timers/promises';
import { type DeletedUserCalls } from '../harness/deleted-users';
import { type Random } from '../harness/random';
import { type System } from '../harness/system';
import { DELETED_USERS, userName } from './scenario';

/** Deletes users during the run, one after the other. */

const EVERY_MS = { least: 1_000, most: 4_000 };

export interface UserDeletions {
  /** ids of the `delete` messages so far */
  messages: readonly string[];
  stop(): Promise<void>;
}

/** @param users is told of each deletion that was answered */
export function deleteUsers(
  system: Pick<System, 'control'>,
  users: Pick<DeletedUserCalls, 'deleted'>,
  random: Random,
): UserDeletions {
  const messages: string[] = [];
  const stopped = new AbortController();
  /** A function, because the value may change during a wait. */
  const isStopped = () => stopped.signal.aborted;
  const wait = (ms: number) => pause(ms, undefined, { signal: stopped.signal });
  const deleteOne = async () => {
    const user = userName(random.between(1, DELETED_USERS));
    // Control may be away: then the user stays, or is deleted without an answer.
    const answer = await system
      .control('POST', '/deletions', { userIds: [user] })
      .catch(() => undefined);
    if (answer?.status !== 202) return;
    const { id, at } = answer.body as { id: string; at: string };
    users.deleted(user, Date.parse(at), Date.now());
    messages.push(`${id}-0`);
  };
  const work = (async () => {
    while (!isStopped()) {
      await wait(random.between(EVERY_MS.least, EVERY_MS.most)).catch(() => undefined);
      if (!isStopped()) await deleteOne();
    }
  })();
  return {
    messages,
    stop: async () => {
      stopped.abort();
      await work;
    },
  };
}
