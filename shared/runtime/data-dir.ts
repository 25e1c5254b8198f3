import { randomUUID } from 'node:crypto';
import {
  accessSync,
  constants,
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { AppError, messageOf } from './errors';
import { isAlive, ownId, parseProcessId, type ProcessId } from './process-id';

/**
 * A data dir, and the lock by which programs of one machine know of each other.
 *
 * The lock allows one Waypost per data dir. It is a file that names its owner by pid and start
 * time, so it needs no clean end: an owner that was killed, or whose pid now belongs to another
 * process, holds nothing.
 *
 * A lock appears complete or not at all (a link to a finished file). A stale lock is moved aside
 * before it is replaced, so that only one of two concurrent starts wins.
 */

/** A lock that this process holds. */
export interface Lock {
  /**
   * the previous owner ended without releasing the lock, and its child processes may still be
   * ending
   */
  takenOver: boolean;
  release(): void;
}

/**
 * Takes the lock of a data dir, and creates the dir if it is missing.
 * @throws AppError `cannot_start` with a sentence that names the owner
 */
export function takeLock(dir: string): Lock {
  createDataDir(dir);
  const file = join(dir, 'lock');
  const own = JSON.stringify(ownId());
  const draft = join(dir, `lock.${randomUUID()}`);
  writeFileSync(draft, own);
  try {
    let takenOver = false;
    while (!link(draft, file)) {
      const text = read(file);
      const owner = parseProcessId(text ?? '');
      if (owner && isAlive(owner)) throw inUse(dir, owner);
      takenOver = true;
      if (text !== undefined) moveAside(file, text);
    }
    return { takenOver, release: () => release(file, own) };
  } finally {
    rmSync(draft, { force: true });
  }
}

/**
 * Creates a data dir, which only its owner can read, if it is missing.
 * @throws AppError `cannot_start` if this process cannot write there
 */
export function createDataDir(dir: string): void {
  try {
    mkdirSync(dir, { recursive: true, mode: 0o700 });
    accessSync(dir, constants.W_OK);
  } catch (error) {
    const why = (error as NodeJS.ErrnoException).code ?? messageOf(error);
    throw new AppError(
      'cannot_start',
      `The data dir ${dir} cannot be written (${why}): mount a volume there that this user ` +
        'may write, or set WAYPOST_DATA_DIR to another folder.',
    );
  }
}

function inUse(dir: string, owner: ProcessId): AppError {
  return new AppError(
    'cannot_start',
    `Another Waypost (pid ${String(owner.pid)}) uses the data dir ${dir}; stop it, or set ` +
      'WAYPOST_DATA_DIR to another one.',
  );
}

/** Returns whether this process has the lock now: a link cannot replace an existing file. */
function link(draft: string, file: string): boolean {
  try {
    linkSync(draft, file);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/**
 * Removes a stale lock. If another process has replaced it in the meantime, puts that lock back.
 */
function moveAside(file: string, stale: string): void {
  const aside = `${file}.${randomUUID()}`;
  try {
    renameSync(file, aside);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw error;
  }
  if (read(aside) !== stale) link(aside, file);
  rmSync(aside, { force: true });
}

function release(file: string, own: string): void {
  if (read(file) === own) rmSync(file, { force: true });
}

function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
