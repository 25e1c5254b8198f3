import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';

/** Waiting for a writer of a named pipe would never end. */
const FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/**
 * Reads a file that belongs to this user and that no other user may read or write.
 * @returns undefined if there is none, also for a link
 */
export function readPrivateFile(file: string): string | undefined {
  let descriptor: number;
  try {
    descriptor = openSync(file, FLAGS);
  } catch {
    return undefined;
  }
  try {
    const stat = fstatSync(descriptor);
    const isPrivate =
      stat.isFile() && stat.uid === process.geteuid?.() && (stat.mode & 0o077) === 0;
    return isPrivate ? readFileSync(descriptor, 'utf8') : undefined;
  } finally {
    closeSync(descriptor);
  }
}
