import { deletionBody } from '../../../shared/api/deletions';
import { type ConfigView } from '../../../shared/config/types';
import { type OutRecord } from '../../../shared/kafka/port';
import { deletionRecord, MESSAGES, PROFILE_EVENTS } from '../../../shared/kafka/topics';
import { type Source } from '../../../shared/model/config';
import { type Message, messageHeaders, messageKey } from '../../../shared/model/message';
import { type UserDeletedEvent } from '../../../shared/model/profile-records';
import { isUser } from '../../../shared/model/profile-user';
import { FORMAT_HEADER } from '../../../shared/model/record-format';
import { isoTime } from '../../../shared/model/time';
import { errorAt, type FieldError, quoted } from '../http/problem';
import { invalidFields, parseBody } from '../http/validate';
import { type Deletion } from '../history/deletions';

/**
 * Decides which sources a deletion affects, and builds its records. Pure: ids and the time are
 * arguments.
 */

const MAX_MESSAGES = 50_000;

export type WantedDeletion = Pick<Deletion, 'users' | 'anonymous' | 'sources' | 'affected'>;

/**
 * Validates a deletion. It affects sources that are on and have a destination that is on; others
 * have no receiver. The sources of audiences and computed traits send no calls of users, and are
 * not among them.
 * @throws Problem `invalid_fields`
 */
export function readDeletion(
  body: unknown,
  config: Pick<ConfigView, 'source' | 'list' | 'destinationsOf'>,
): WantedDeletion {
  const { userIds = [], anonymousIds = [], sources } = parseBody(deletionBody, body);
  if (userIds.length + anonymousIds.length === 0) {
    throw invalidFields([
      errorAt(['userIds'], 'needs at least one of `userIds` and `anonymousIds`'),
    ]);
  }
  const unknown = (sources ?? []).flatMap((id, i): FieldError[] =>
    mistakeOf(id, config).map((detail) => errorAt(['sources', i], detail)),
  );
  if (unknown.length > 0) throw invalidFields(unknown);
  const [users, anonymous] = [[...new Set(userIds)], [...new Set(anonymousIds)]];
  const count = users.length + anonymous.length;
  const named = config
    .list('source')
    .map(({ data }) => data)
    .filter(({ id, of }) => of === undefined && (sources === undefined || sources.includes(id)));
  const affected = named.filter((source) => isAffected(source, config)).map(({ id }) => id);
  if (count * affected.length > MAX_MESSAGES) {
    const most = Math.floor(MAX_MESSAGES / count);
    const detail =
      `would create ${count * affected.length} messages (users times sources); the limit is ` +
      `${MAX_MESSAGES}. Send several requests that each name at most ${most} \`sources\`, or ` +
      'fewer users';
    throw invalidFields([errorAt(['userIds'], detail)]);
  }
  return { users, anonymous, sources: sources ? [...new Set(sources)] : null, affected };
}

/** Returns what is wrong with a named source. */
function mistakeOf(id: string, config: Pick<ConfigView, 'source'>): string[] {
  const source = config.source(id)?.data;
  if (!source) return [`unknown source ${quoted(id)}`];
  return source.of === undefined
    ? []
    : [`is the source of an audience or computed trait, and sends no calls of users`];
}

function isAffected({ id, enabled }: Source, config: Pick<ConfigView, 'destinationsOf'>): boolean {
  return enabled && config.destinationsOf(id).some(({ data }) => data.enabled);
}

type Whose = { userId: string } | { anonymousId: string };

function whoseOf({ users, anonymous }: Pick<WantedDeletion, 'users' | 'anonymous'>): Whose[] {
  return [
    ...users.map((userId) => ({ userId })),
    ...anonymous.map((anonymousId) => ({ anonymousId })),
  ];
}

/** Returns what tells the services of Waypost. @param at ms since 1970 */
export function deletionRecords(wanted: WantedDeletion, at: number): OutRecord[] {
  const { users, sources } = wanted;
  const event: UserDeletedEvent = { kind: 'delete', at, sources };
  const value = JSON.stringify(event);
  const headers = { format: FORMAT_HEADER };
  return [
    ...whoseOf(wanted).map((whose) => deletionRecord({ ...whose, at, sources })),
    ...users.filter(isUser).map((key) => ({ topic: PROFILE_EVENTS, key, value, headers })),
  ];
}

/**
 * Returns one `delete` message for each user or visitor and affected source, routed like any other
 * message.
 * @param made `at`: the time of the deletion; `atMs`: when the messages were accepted
 */
export function deleteMessages(
  wanted: WantedDeletion,
  made: { id: string; at: number; atMs: number; traceparent: () => string },
): OutRecord[] {
  const at = isoTime(made.at);
  return whoseOf(wanted).flatMap((id, i) =>
    wanted.affected.map((source) => {
      // The id is the same for all sources, since message ids count for each source separately.
      const message: Message = {
        type: 'delete',
        messageId: `${made.id}-${String(i)}`,
        ...id,
        timestamp: at,
        receivedAt: at,
      };
      const times = { acceptedAtMs: made.atMs, traceparent: made.traceparent() };
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
  return { id, at: isoTime(at), ...ids, sources, affected, messages };
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
