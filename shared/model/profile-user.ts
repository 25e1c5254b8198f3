import { MAX_USER_BYTES } from './profile-records';

/**
 * Returns whether an id may have a profile. In UTF-8 it is the key of records and part of keys in
 * the store, which are bounded and not empty; and half of a surrogate pair would be the same key as
 * any other half.
 */
export function isUser(id: unknown): id is string {
  return (
    typeof id === 'string' &&
    id !== '' &&
    Buffer.byteLength(id) <= MAX_USER_BYTES &&
    !/\p{Surrogate}/u.test(id)
  );
}
