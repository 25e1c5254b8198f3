import { defined } from '../../collections/defined';
import { type Message } from '../message';

/** CloudEvents 1.0: the attributes of an event, and how HTTP headers carry them. */

export interface Attributes {
  specversion: '1.0';
  id: string;
  source: string;
  type: string;
  time: string;
  subject?: string;
}

/**
 * `source` and `id` together identify the event, also if two destinations of one receiver send it.
 */
export function attributesOf(
  { messageId, type, timestamp, userId, anonymousId }: Message,
  sourceId: string,
): Attributes {
  const subject = userId ?? anonymousId;
  return {
    specversion: '1.0',
    id: messageId,
    source: `/sources/${encodeURIComponent(sourceId)}`,
    type: `waypost.${type}`,
    time: timestamp,
    ...defined({ subject: subject || undefined }),
  };
}

/** Returns the headers of the binary mode: alternating names and values. */
export function binaryHeaders(attributes: Attributes): string[] {
  return Object.entries(attributes).flatMap(([name, value]) => [
    `ce-${name}`,
    headerText(String(value)),
  ]);
}

/**
 * Encodes a value as the HTTP binding asks (section 3.1.3.2): percent-encoded UTF-8 for a space, a
 * quote, `%` and everything beyond printable ASCII.
 */
function headerText(value: string): string {
  return value.replace(/[^!#$&-~]/gu, (character) =>
    Array.from(
      Buffer.from(character),
      (byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`,
    ).join(''),
  );
}
