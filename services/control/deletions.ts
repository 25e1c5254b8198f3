import { z } from 'zod';
import { type ConfigView } from '../../shared/config/view';
import { type Source } from '../../shared/domain/config';
import { type Message, messageHeaders, messageKey } from '../../shared/domain/message';
import { type FieldError, pointer } from '../../shared/http/problem';
import { type OutRecord } from '../../shared/kafka/port';
import { MESSAGES } from '../../shared/kafka/topics';
import { invalidFields, parseBody } from './fields';
import { type Deletion } from './history/deletions';
import { pageParameters } from './query';

/** Deleting users: which sources are affected, and the messages that say so. Pure: ids and the time are given. */

const MAX_USERS = 5_000;
const MAX_MESSAGES = 50_000;

export const deletionSchema = z.strictObject({
  userIds: z.array(z.string().min(1).max(500)).min(1).max(MAX_USERS),
  sources: z.array(z.string()).min(1).optional().meta({ description: 'Ids of sources; absent: all' }),
});
export const deletionsQuery = pageParameters;

export interface Wanted {
  users: string[];
  /** null: all */
  sources: string[] | null;
  /** those that a message is sent for */
  affected: string[];
}

/**
 * What a body asks for. Affected is a source that is on and has a destination that is on: others have nobody to tell.
 * @throws Problem `invalid_fields`
 */
export function readDeletion(body: unknown, config: Pick<ConfigView, 'source' | 'list' | 'destinationsOf'>): Wanted {
  const { userIds, sources } = parseBody(deletionSchema, body);
  const unknown = (sources ?? []).flatMap((id, i): FieldError[] =>
    config.source(id)
      ? []
      : [{ pointer: pointer(['sources', i]), detail: `there is no source ${JSON.stringify(id.slice(0, 100))}` }],
  );
  if (unknown.length > 0) throw invalidFields(unknown);
  const users = [...new Set(userIds)];
  const named = config
    .list('source')
    .map(({ data }) => data)
    .filter(({ id }) => sources === undefined || sources.includes(id));
  const affected = named.filter((source) => isAffected(source, config)).map(({ id }) => id);
  if (users.length * affected.length > MAX_MESSAGES) {
    const detail = `would be ${users.length * affected.length} messages (users times sources), and ${MAX_MESSAGES} are the most at once`;
    throw invalidFields([{ pointer: pointer(['userIds']), detail }]);
  }
  return { users, sources: sources ? [...new Set(sources)] : null, affected };
}

function isAffected({ id, enabled }: Source, config: Pick<ConfigView, 'destinationsOf'>): boolean {
  return enabled && config.destinationsOf(id).some(({ data }) => data.enabled);
}

/** One `delete` message for each user and affected source, routed like any other. */
export function deleteRecords(
  { users, affected }: Wanted,
  made: { id: string; now: Date; traceparent: () => string },
): OutRecord[] {
  const at = made.now.toISOString();
  return users.flatMap((userId, i) =>
    affected.map((source) => {
      // The same for all sources: ids of messages are a source's own.
      const message: Message = {
        type: 'delete',
        messageId: `${made.id}-${String(i)}`,
        userId,
        timestamp: at,
        receivedAt: at,
      };
      const times = { acceptedAtMs: made.now.getTime(), traceparent: made.traceparent() };
      const headers = messageHeaders(source, message.messageId, times);
      return { topic: MESSAGES, key: messageKey(source, message), value: JSON.stringify(message), headers };
    }),
  );
}

const SHOWN_IN_LIST = 20;

export function deletionView({ id, at, users, sources, affected, messages }: Deletion) {
  return { id, at: new Date(at).toISOString(), users: users.length, userIds: users, sources, affected, messages };
}

/** In a list the first of many users stand for all. */
export function deletionListView(deletion: Deletion) {
  return { ...deletionView(deletion), userIds: deletion.users.slice(0, SHOWN_IN_LIST) };
}
