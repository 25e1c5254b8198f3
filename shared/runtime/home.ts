import { homedir } from 'node:os';
import { isAbsolute } from 'node:path';

/** No file can exist below it, nor be written there. */
const NOWHERE = '/dev/null';

/**
 * Returns the home of this user. A user without one, as in some containers, gets a path below which
 * nothing is: a relative path would be inside of the present folder, which a stranger may have
 * made.
 * @param read another one in tests; throws for a user without an entry in the list of users
 */
export function homeFolder(read: () => string = homedir): string {
  try {
    const home = read();
    return isAbsolute(home) ? home : NOWHERE;
  } catch {
    return NOWHERE;
  }
}
