import { type OutRecord } from '../kafka/port';
import { DEAD } from '../kafka/topics';
import { type DeadReason } from '../model/reasons';

/**
 * Returns the dead letter of a record that holds a delivery and cannot be read: the record
 * unchanged, with the reason.
 */
export function unreadableLetter(
  { key, value, headers }: Pick<OutRecord, 'key' | 'value' | 'headers'>,
  why: string,
): OutRecord {
  const reason: DeadReason = 'unreadable';
  return {
    topic: DEAD,
    key,
    value,
    headers: {
      ...headers,
      reason,
      error: why,
    },
  };
}
