import { createHash, randomUUID } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { readPrivateFile } from './private-file';
import { isAlive, ownId, type ProcessId } from './process-id';

/**
 * The systems that `npm start` of this user has started, each with its data dir. The command line
 * uses a `.waypost` only if its path is among them, and takes the addresses from here: a `.waypost`
 * may have come with a repository, and what stands in it may have been written by anybody.
 *
 * There is a file for each data dir in `$XDG_STATE_HOME/waypost` (default: ~/.local/state/waypost).
 * Only this user can write there. It holds no secret.
 */

/** A system on this machine. */
export interface LocalSystemEntry {
  /** its data dir, with all links resolved */
  dir: string;
  /** device and inode of the data dir: another one at its path is not this one */
  folder: string;
  /** the process of `npm start`. Once it has ended, anybody may listen at these addresses */
  owner: ProcessId;
  control: string;
  ingest: string;
  /** the system runs the brokers itself, with one copy of each record */
  embedded: boolean;
  /** KAFKA_BROKERS, the settings of its topics, and those of the login of an embedded Kafka */
  kafka: Record<string, string>;
  /** health ports by service */
  health: Record<string, number>;
}

/** The variables and the home of this user that say where the state is. */
export interface StatePlace {
  env: Record<string, string | undefined>;
  home: string;
}

/** Returns the folder of the entries. A relative path would be inside of the present folder. */
export function stateFolder({ env, home }: StatePlace): string {
  const state = env.XDG_STATE_HOME ?? '';
  return join(isAbsolute(state) ? state : join(home, '.local', 'state'), 'waypost');
}

/**
 * Records the addresses of a system, and removes entries whose data dir is gone.
 * @param owner another process in tests
 * @throws Error if the folder cannot be written
 */
export function enterSystem(
  place: StatePlace,
  system: Omit<LocalSystemEntry, 'folder' | 'owner'>,
  owner = ownId(),
): void {
  const folder = stateFolder(place);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const dir = realpathSync(system.dir);
  const entry: LocalSystemEntry = {
    ...system,
    dir,
    folder: identityOf(dir),
    owner,
  };
  const draft = join(folder, randomUUID());
  writeFileSync(draft, `${JSON.stringify(entry, null, 2)}\n`, { mode: 0o600 });
  renameSync(draft, join(folder, fileOf(entry.dir)));
  for (const name of readdirSync(folder)) {
    const other = readEntry(join(folder, name));
    if (other && !existsSync(other.dir)) rmSync(join(folder, name), { force: true });
  }
}

/** Returns where the demo keeps its data: beside that of `npm start`, with which it never mixes. */
export function demoDir(dataDir: string): string {
  return join(dataDir, 'demo');
}

/**
 * Returns the entry of a data dir, by its path with all links resolved. The system may have ended.
 */
export function findSystem(place: StatePlace, dir: string): LocalSystemEntry | undefined {
  try {
    const real = realpathSync(dir);
    const entry = readEntry(join(stateFolder(place), fileOf(real)));
    return entry?.dir === real && entry.folder === identityOf(real) ? entry : undefined;
  } catch {
    // The data dir, or a folder above it, is missing or closed to this user.
    return undefined;
  }
}

/** Returns whether the process that recorded a system still runs. */
export function isRunning({ owner }: LocalSystemEntry): boolean {
  return isAlive(owner);
}

/** Reads an entry that only this user can have written. */
function readEntry(file: string): LocalSystemEntry | undefined {
  const text = readPrivateFile(file);
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text) as LocalSystemEntry;
  } catch {
    return undefined;
  }
}

function identityOf(dir: string): string {
  const { dev, ino } = statSync(dir, { bigint: true });
  return `${String(dev)}:${String(ino)}`;
}

function fileOf(dir: string): string {
  return `${createHash('sha256').update(dir).digest('hex').slice(0, 32)}.json`;
}
