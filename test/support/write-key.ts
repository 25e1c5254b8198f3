import { writeKeyHash } from '../../shared/config/encryption';
import { type WriteKey } from '../../shared/model/config';

/**
 * Returns a write key as `config` has it, with a text in place of the encrypted key that nothing
 * opens.
 */
export function aWriteKey(key: string, until?: number): WriteKey {
  const stored: WriteKey = { key: writeKeyHash(key), sealed: 'sealed' };
  if (until !== undefined) stored.until = until;
  return stored;
}
