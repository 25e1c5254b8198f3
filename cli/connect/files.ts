import { randomUUID } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { messageOf } from '../../shared/runtime/errors';
import { demoDir, findSystem, isRunning } from '../../shared/runtime/local-systems';
import { readPrivateFile } from '../../shared/runtime/private-file';
import { CliError, type ProcessContext } from '../process-context';
import { type StoredLogin, type Local } from './resolve-installation';

/** The files with the address of Waypost: the stored login, and the data dir of `npm start`. */

/** A relative path would be inside of the present folder. */
export function loginFile({ env, home }: Pick<ProcessContext, 'env' | 'home'>): string {
  const config = env.XDG_CONFIG_HOME ?? '';
  return join(isAbsolute(config) ? config : join(home, '.config'), 'waypost', 'login.json');
}

/** @throws CliError if other users may read it: it contains the token */
export function readLogin(world: Pick<ProcessContext, 'env' | 'home'>): StoredLogin | undefined {
  const file = loginFile(world);
  if (!existsSync(file)) return undefined;
  if ((statSync(file).mode & 0o077) !== 0) {
    throw new CliError(
      `Other users can read ${file}, which contains a token. Run \`chmod 600 ${file}\`, or ` +
        `\`waypost logout\`.`,
    );
  }
  const kept = parse(readFileSync(file, 'utf8')) as Partial<StoredLogin> | undefined;
  if (typeof kept?.url !== 'string' || typeof kept.token !== 'string') {
    throw new CliError(`${file} cannot be read. Run \`waypost login\` again.`);
  }
  return { url: kept.url, ingestUrl: kept.ingestUrl, token: kept.token };
}

/** @throws CliError if it cannot be written */
export function writeLogin(world: Pick<ProcessContext, 'env' | 'home'>, kept: StoredLogin): string {
  const file = loginFile(world);
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    writePrivately(file, `${JSON.stringify(kept, null, 2)}\n`);
  } catch (error) {
    throw new CliError(
      `The login cannot be stored (${messageOf(error)}). Set HOME or XDG_CONFIG_HOME to a folder ` +
        'of this user, or use WAYPOST_URL and WAYPOST_TOKEN.',
    );
  }
  return file;
}

/** @returns whether the file existed */
export function removeLogin(world: Pick<ProcessContext, 'env' | 'home'>): boolean {
  const file = loginFile(world);
  const was = existsSync(file);
  if (was) rmSync(file, { force: true });
  return was;
}

/**
 * Writes a file that only its owner can read, even if it existed with wider permissions. It has the
 * whole text, or is what it was. A pipe or a device, such as /dev/stdout, gets the text and stays.
 */
function writePrivately(file: string, text: string): void {
  const open = isStream(file) ? file : descriptorOf(file);
  if (open !== undefined) {
    writeFileSync(open, text);
    return;
  }
  const draft = `${file}.${randomUUID()}`;
  try {
    // Others may write to the folder: a file of that name would be theirs.
    writeFileSync(draft, text, { mode: 0o600, flag: 'wx' });
    renameSync(draft, file);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
}

/**
 * Tells whether this is a pipe or a device of this user or of the system: not that of a stranger.
 */
function isStream(file: string): boolean {
  const found = statSync(file, { throwIfNoEntry: false });
  if (!found || found.isFile() || found.isDirectory()) return false;
  return found.uid === 0 || found.uid === process.getuid?.();
}

/**
 * Returns the number of the open file that a name such as /dev/stdout stands for, also if it is
 * redirected to a file: a file that is renamed to this name would replace it for the whole machine.
 */
function descriptorOf(file: string): number | undefined {
  const [name, fd] = /^\/dev\/(?:stdout|stderr|fd\/(\d+))$/.exec(file) ?? [];
  if (fd !== undefined) return Number(fd);
  if (name === undefined) return undefined;
  return name === '/dev/stdout' ? 1 : 2;
}

/**
 * Writes the file that an option names, for its owner only.
 * @throws CliError if it cannot be written
 */
export function writeOut({ cwd }: Pick<ProcessContext, 'cwd'>, name: string, text: string): void {
  try {
    writePrivately(resolve(cwd, name), text);
  } catch (error) {
    throw new CliError(`${name} cannot be written: ${messageOf(error)}.`);
  }
}

/** Returns the data dir of this folder: that of the demo while only the demo runs. */
export function localDir({ env, cwd, home }: Pick<ProcessContext, 'env' | 'cwd' | 'home'>): string {
  const dir = resolve(cwd, env.WAYPOST_DATA_DIR || '.waypost');
  const demo = demoDir(dir);
  const [own, ofDemo] = [dir, demo].map((each) => findSystem({ env, home }, each));
  if (own && isRunning(own)) return dir;
  if (ofDemo && (!own || isRunning(ofDemo))) return demo;
  return dir;
}

/**
 * Returns what the data dir in this folder gives, if there is one. Nothing in it is read, not even
 * its token, unless `npm start` of this user made it and runs.
 * @throws CliError if other users may read the token
 */
export function readLocal({
  env,
  cwd,
  home,
}: Pick<ProcessContext, 'env' | 'cwd' | 'home'>): Local | undefined {
  const dir = localDir({ env, cwd, home });
  if (!existsSync(dir)) return undefined;
  const system = findSystem({ env, home }, dir);
  if (!system) return { dir, state: 'unknown' };
  if (!isRunning(system)) return { dir, state: 'stopped' };
  return {
    dir,
    state: 'running',
    login: {
      url: system.control,
      ingestUrl: system.ingest,
      token: readToken(join(system.dir, 'admin-token')),
    },
  };
}

/** @returns undefined if the system has its token from the environment */
function readToken(file: string): string | undefined {
  const text = readPrivateFile(file);
  if (text === undefined && existsSync(file)) {
    throw new CliError(
      `${file} must be a file of yours that no other user can read, and not a link: it contains ` +
        'a token. Stop Waypost, remove the file, and run `npm start` again, which makes a new one.',
    );
  }
  return text?.trim();
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
