import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { compact } from '../../shared/collections/defined';
import { ROOT } from '../../shared/runtime/repo-root';
import { GO, PYTHON } from '../support/external-tools';
import { type Tool } from '../support/installed-tool';

/** Builds and starts the programs in this folder. */

const run = promisify(execFile);
const CLIENTS = join(ROOT, 'test/clients');
/** Caches downloads and builds between runs. */
const CACHE = join(tmpdir(), 'waypost-test-clients');

export interface ClientProgram {
  name: string;
  /** a tool that must be installed; undefined if the repository contains everything */
  needs?: Tool;
  /** Builds the program, and returns the command that starts it. */
  prepare(): Promise<string[]>;
  /** an argument after the user */
  extra?: string;
}

export const PROGRAMS = {
  node: { name: 'node', prepare: () => node('node') },
  python: { name: 'python', needs: PYTHON, prepare: python },
  pythonGzip: { name: 'python, gzip', needs: PYTHON, prepare: python, extra: 'gzip' },
  waypostNode: { name: 'waypost-node', prepare: () => node('waypost-node') },
  waypostGo: { name: 'waypost-go', needs: GO, prepare: () => go('waypost-go') },
  goV3: { name: 'go-v3', needs: GO, prepare: () => go('go-v3') },
  goV2: { name: 'go-v2', needs: GO, prepare: () => go('go-v2') },
} satisfies Record<string, ClientProgram>;

/**
 * Runs a program to its end. @throws Error if its exit code is not 0: some calls were not delivered
 */
export async function runClient(
  client: ClientProgram,
  { url, writeKey, user }: { url: string; writeKey: string; user: string },
): Promise<void> {
  const [command = '', ...args] = await client.prepare();
  await run(command, compact([...args, url, writeKey, user, client.extra]));
}

function node(dir: string): Promise<string[]> {
  return Promise.resolve([process.execPath, join(CLIENTS, dir, 'main.cjs')]);
}

/** How a program is made that verifies a request by the `verify` of a page. */
export interface Verifier {
  needs?: Tool;
  /** @param verify its code; the program is made in `folder`. */
  prepare(folder: string, verify: string): Promise<string[]>;
}

/** With libraries of Standard Webhooks. */
export const VERIFIERS = {
  node: {
    prepare: (folder, verify) => {
      const file = join(folder, 'verify.mjs');
      mkdirSync(folder);
      writeFileSync(file, verify);
      symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
      return Promise.resolve([process.execPath, join(CLIENTS, 'verify-node/main.mjs'), file]);
    },
  },
  python: {
    needs: PYTHON,
    prepare: async (folder, verify) => {
      copyWith('verify-python', folder, 'verify.py', verify);
      return [await pythonWith('verify-python'), join(folder, 'main.py')];
    },
  },
  go: {
    needs: GO,
    prepare: async (folder, verify) => {
      copyWith('verify-go', folder, 'verify.go', `package main\n\n${verify}`);
      await run('go', ['build', '-o', 'main', '.'], { cwd: folder });
      return [join(folder, 'main')];
    },
  },
} satisfies Record<string, Verifier>;

/** Copies a program of this folder, and writes a file beside it. */
function copyWith(program: string, folder: string, name: string, code: string): void {
  cpSync(join(CLIENTS, program), folder, { recursive: true });
  writeFileSync(join(folder, name), code);
}

async function go(dir: string): Promise<string[]> {
  mkdirSync(CACHE, { recursive: true });
  const binary = join(CACHE, dir);
  await run('go', ['build', '-o', binary, '.'], { cwd: join(CLIENTS, dir) });
  return [binary];
}

async function python(): Promise<string[]> {
  return [await pythonWithClients(), join(CLIENTS, 'python/main.py')];
}

/** @returns the path of an interpreter with the pinned clients */
export function pythonWithClients(): Promise<string> {
  return pythonWith('python');
}

/**
 * Creates a virtual environment with the packages of a folder, once for each content of its
 * requirements.txt.
 * @returns the path of its interpreter
 */
async function pythonWith(dir: string): Promise<string> {
  mkdirSync(CACHE, { recursive: true });
  const requirements = join(CLIENTS, dir, 'requirements.txt');
  const venv = join(
    CACHE,
    `python-${createHash('sha1').update(readFileSync(requirements)).digest('hex').slice(0, 12)}`,
  );
  const marker = join(venv, 'installed');
  if (!existsSync(marker)) {
    rmSync(venv, { recursive: true, force: true });
    await run('python3', ['-m', 'venv', venv]);
    await run(join(venv, 'bin/pip'), ['install', '--quiet', '--requirement', requirements]);
    renameSync(mkdtempSync(`${marker}-`), marker);
  }
  return join(venv, 'bin/python');
}
