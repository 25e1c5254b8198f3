import { stringifyJson } from '../json/json';
import { type Message, type MessageType } from './message';

/**
 * Renders the body that customers receive. The router renders it once. Its bytes are never parsed
 * or written again, so that every try carries, and signs, the same bytes.
 *
 * Receivers were written against these keys and this order, including the oddities: `version` is
 * missing from a delete, and the two ids of an alias have spaces in their names.
 */
const BODY_BY_TYPE: Record<MessageType, (m: Message) => object> = {
  page: (m) => ({
    version: 1,
    type: m.type,
    userId: m.userId,
    timestamp: m.timestamp,
    properties: m.properties,
    name: m.name,
    category: m.category,
    context: m.context,
    ...added(m),
  }),
  screen: (m) => ({
    version: 1,
    type: m.type,
    userId: m.userId,
    timestamp: m.timestamp,
    name: m.name,
    properties: m.properties,
    context: m.context,
    ...added(m),
  }),
  identify: (m) => ({
    version: 1,
    type: m.type,
    userId: m.userId,
    timestamp: m.timestamp,
    traits: m.traits,
    context: m.context,
    ...added(m),
  }),
  track: (m) => ({
    version: 1,
    type: m.type,
    userId: m.userId,
    timestamp: m.timestamp,
    event: m.event,
    properties: m.properties,
    context: m.context,
    ...added(m),
  }),
  alias: (m) => ({
    version: 1,
    type: m.type,
    'Previous ID': m.previousId,
    'User ID': m.userId,
    timestamp: m.timestamp,
    context: m.context,
    ...added(m),
  }),
  group: (m) => ({
    version: 1,
    type: m.type,
    userId: m.userId,
    timestamp: m.timestamp,
    groupId: m.groupId,
    traits: m.traits,
    context: m.context,
    ...added(m),
  }),
  delete: (m) => ({
    type: m.type,
    userId: m.userId,
    anonymousId: m.userId === undefined ? m.anonymousId : undefined,
    timestamp: m.timestamp,
  }),
};

/**
 * Without `anonymousId`, a receiver could not distinguish anonymous users; without `messageId`, it
 * could not drop duplicates. `integrations` is the top-level value; `context.integrations` stays in
 * the context.
 */
function added(m: Message): object {
  return { anonymousId: m.anonymousId, messageId: m.messageId, integrations: m.integrations };
}

/** Returns the fields of the body, in their order; absent ones are undefined. */
export function bodyFields(message: Message): object {
  return BODY_BY_TYPE[message.type](message);
}

/**
 * Returns the JSON text to POST for a message. Absent keys are left out, as JSON.stringify does
 * with undefined; numbers keep their digits.
 */
export function renderBody(message: Message): string {
  return stringifyJson(bodyFields(message));
}
