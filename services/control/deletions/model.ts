import { deletionBody } from '../../../shared/api/deletions';
import { type ConfigView } from '../../../shared/config/types';
import { type OutRecord } from '../../../shared/kafka/port';
import { MESSAGES } from '../../../shared/kafka/topics';
import { type Source } from '../../../shared/model/config';
import { type Message, messageHeaders, messageKey } from '../../../shared/model/message';
import { type FieldError, pointer } from '../http/problem';
import { invalidFields, parseBody } from '../http/validate';
import { type Deletion } from '../history/deletions';

/**
 * Decides which sources a deletion affects, and builds its messages. Pure: ids and the time are
 * arguments.
 */

const MAX_MESSAGES = 50_000;

export interface WantedDeletion {
  users: string[];
  anonymous: string[];
  /** null: all */
  sources: string[] | null;
  /** the sources that get a message */
  affected: string[];
}

/**
 * Validates a deletion. It affects sources that are on and have a destination that is on; others
 * have no receiver.
 * @throws Problem `invalid_fields`
 */
export function readDeletion(
  body: unknown,
  config: Pick<ConfigView, 'source' | 'list' | 'destinationsOf'>,
): WantedDeletion {
  const { userIds = [], anonymousIds = [], sources } = parseBody(deletionBody, body);
  if (userIds.length + anonymousIds.length === 0) {
    throw invalidFields([
      {
        pointer: pointer(['userIds']),
        detail: 'needs at least one of `userIds` and `anonymousIds`',
      },
    ]);
  }
  const unknown = (sources ?? []).flatMap((id, i): FieldError[] =>
    config.source(id)
      ? []
      : [
          {
            pointer: pointer(['sources', i]),
            detail: `unknown source ${JSON.stringify(id.slice(0, 100))}`,
          },
        ],
  );
  if (unknown.length > 0) throw invalidFields(unknown);
  const [users, anonymous] = [[...new Set(userIds)], [...new Set(anonymousIds)]];
  const count = users.length + anonymous.length;
  const named = config
    .list('source')
    .map(({ data }) => data)
    .filter(({ id }) => sources === undefined || sources.includes(id));
  const affected = named.filter((source) => isAffected(source, config)).map(({ id }) => id);
  if (count * affected.length > MAX_MESSAGES) {
    const most = Math.floor(MAX_MESSAGES / count);
    const detail =
      `would create ${count * affected.length} messages (users times sources); the limit is ` +
      `${MAX_MESSAGES}. Send several requests that each name at most ${most} \`sources\`, or ` +
      'fewer users';
    throw invalidFields([{ pointer: pointer(['userIds']), detail }]);
  }
  return { users, anonymous, sources: sources ? [...new Set(sources)] : null, affected };
}

function isAffected({ id, enabled }: Source, config: Pick<ConfigView, 'destinationsOf'>): boolean {
  return enabled && config.destinationsOf(id).some(({ data }) => data.enabled);
}

/**
 * Returns one `delete` message for each user or visitor and affected source, routed like any other
 * message.
 */
export function deleteRecords(
  { users, anonymous, affected }: WantedDeletion,
  made: { id: string; now: Date; traceparent: () => string },
): OutRecord[] {
  const at = made.now.toISOString();
  const whose = [
    ...users.map((userId) => ({ userId })),
    ...anonymous.map((anonymousId) => ({ anonymousId })),
  ];
  return whose.flatMap((id, i) =>
    affected.map((source) => {
      // The id is the same for all sources, since message ids count for each source separately.
      const message: Message = {
        type: 'delete',
        messageId: `${made.id}-${String(i)}`,
        ...id,
        timestamp: at,
        receivedAt: at,
      };
      const times = { acceptedAtMs: made.now.getTime(), traceparent: made.traceparent() };
      const headers = messageHeaders(source, message, times);
      return {
        topic: MESSAGES,
        key: messageKey(source, message),
        value: JSON.stringify(message),
        headers,
      };
    }),
  );
}

const SHOWN_IN_LIST = 20;

export function deletionView({ id, at, users, anonymous, sources, affected, messages }: Deletion) {
  const ids = {
    users: users.length,
    visitors: anonymous.length,
    userIds: users,
    anonymousIds: anonymous,
  };
  return { id, at: new Date(at).toISOString(), ...ids, sources, affected, messages };
}

/** Shows only the first of many users in a list. */
export function deletionListView(deletion: Deletion) {
  const { users, anonymous } = deletion;
  const shown = {
    userIds: users.slice(0, SHOWN_IN_LIST),
    anonymousIds: anonymous.slice(0, SHOWN_IN_LIST),
  };
  return { ...deletionView(deletion), ...shown };
}
