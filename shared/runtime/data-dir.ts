import { randomUUID } from 'node:crypto';
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { AppError, messageOf } from './errors';
import { isAlive, ownId, parseProcessId, type ProcessId } from './process-id';

/**
 * A data dir, and the lock by which programs of one machine know of each other.
 *
 * The lock allows one Waypost per data dir. It is a folder with one file, which names its owner by
 * pid and start time, so it needs no clean end: an owner that was killed, or whose pid now belongs
 * to another process, holds nothing.
 *
 * A lock appears complete or not at all: a finished folder is moved to its place, which succeeds
 * only if the folder there is missing or empty. The file of each owner has a name of its own, so
 * that whoever removes the file of a dead owner never removes that of a living one, however many
 * processes start at once.
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
  const lock = join(dir, 'owner');
  const name = randomUUID();
  const draft = join(dir, `owner.${name}`);
  try {
    mkdirSync(draft, { mode: 0o700 });
    writeFileSync(join(draft, name), JSON.stringify(ownId()));
    for (;;) {
      // An owner that ends removes the folder: one that is there was left by a killed owner, also
      // without its file, which another start may have removed.
      const takenOver = existsSync(lock);
      if (moveTo(lock, draft)) return { takenOver, release: () => release(lock, name) };
      for (const file of filesIn(lock)) {
        const owner = parseProcessId(read(file));
        if (owner && isAlive(owner)) throw inUse(dir, owner);
        rmSync(file, { force: true });
      }
    }
  } finally {
    rmSync(draft, { recursive: true, force: true });
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

/** Returns whether this process has the lock now: a folder cannot replace one that has a file. */
function moveTo(lock: string, draft: string): boolean {
  try {
    renameSync(draft, lock);
    return true;
  } catch (error) {
    if (isCode(error, 'ENOTEMPTY') || isCode(error, 'EEXIST')) return false;
    throw error;
  }
}

/** Another process may have taken the lock: its file stays, and so does the folder. */
function release(lock: string, name: string): void {
  rmSync(join(lock, name), { force: true });
  try {
    rmdirSync(lock);
  } catch (error) {
    if (!isCode(error, 'ENOTEMPTY') && !isCode(error, 'EEXIST') && !isCode(error, 'ENOENT')) {
      throw error;
    }
  }
}

function filesIn(lock: string): string[] {
  try {
    return readdirSync(lock).map((name) => join(lock, name));
  } catch (error) {
    if (isCode(error, 'ENOENT')) return [];
    throw error;
  }
}

/** Returns the text of a file; empty if it is gone. */
function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (isCode(error, 'ENOENT')) return '';
    throw error;
  }
}

function isCode(error: unknown, code: string): boolean {
  return (error as NodeJS.ErrnoException).code === code;
}
