import { execFile, execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from '../../shared/runtime/repo-root';
import { freePort } from '../support/free-port';

/**
 * @waypost/cli as an installed package: its contents, and commands that run from it without a
 *   clone.
 */

const run = promisify(execFile);
let dir: string;
let home: string;
let files: string[];
const installed = () => join(dir, 'node_modules/@waypost/cli');

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'waypost-cli-'));
  home = join(dir, 'home');
  execFileSync('npx', ['vite', 'build', '--config', 'cli/vite.config.mjs'], {
    cwd: ROOT,
    stdio: 'pipe',
  });
  const { stdout } = await run('npm', ['pack', '--silent', '--pack-destination', dir], {
    cwd: join(ROOT, 'dist/packages/cli'),
  });
  for (const folder of [home, installed()]) mkdirSync(folder, { recursive: true });
  await run('tar', ['-xzf', join(dir, stdout.trim()), '-C', installed(), '--strip-components=1']);
  files = (await run('tar', ['-tzf', join(dir, stdout.trim())])).stdout.trim().split('\n').sort();
  // Only the declared packages: a command that needs another one fails.
  const { dependencies } = manifest();
  for (const name of Object.keys(dependencies)) {
    const link = join(dir, 'node_modules', name);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(join(ROOT, 'node_modules', name), link);
  }
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const manifest = () =>
  JSON.parse(readFileSync(join(installed(), 'package.json'), 'utf8')) as {
    version: string;
    bin: { waypost: string };
    dependencies: Record<string, string>;
  };

/** Runs a command outside the repository, so that it finds no `.waypost` and no stored login. */
async function waypost(...args: string[]): Promise<{ code: number; out: string; err: string }> {
  const script = join(installed(), manifest().bin.waypost);
  const env = {
    PATH: dirname(process.execPath),
    HOME: home,
    KAFKA_BROKERS: `127.0.0.1:${await freePort()}`,
  };
  return run(process.execPath, [script, ...args], { cwd: home, env }).then(
    ({ stdout, stderr }) => ({ code: 0, out: stdout, err: stderr }),
    (error: unknown) => {
      const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
      return { code, out: stdout, err: stderr };
    },
  );
}

test('the package of the command line holds one script and no services', () => {
  expect(files).toEqual(
    ['LICENSE', 'README.md', 'package.json', 'waypost.js'].map((name) => `package/${name}`),
  );
  const heavy = [
    '@electric-sql/pglite',
    '@opentelemetry/sdk-node',
    'express',
    'lmdb',
    'pg',
    'undici',
    'vite',
  ];
  expect(heavy.filter((name) => name in manifest().dependencies)).toEqual([]);
});

test('the installed command line shows its help and its version', async () => {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    version: string;
  };
  expect(await waypost('--version')).toEqual({ code: 0, out: `${version}\n`, err: '' });
  const { code, out } = await waypost('--help');
  expect(code).toBe(0);
  expect(out).toContain('Manage Waypost from a terminal');
});

test('the installed command line says that no Waypost answers at an address', async () => {
  const url = `http://127.0.0.1:${await freePort()}`;
  const { code, err } = await waypost('sources', 'list', '--url', url);
  expect(code).toBe(1);
  expect(err).toContain(url);
  expect(err).not.toContain('because of a bug');
});

test('the doctor of the installed command line looks for Kafka and finds none', async () => {
  const { code, out, err } = await waypost(
    'doctor',
    '--url',
    `http://127.0.0.1:${await freePort()}`,
  );
  expect(code).toBe(1);
  expect(out).toMatch(/^fail +kafka/m);
  expect(`${out}${err}`).not.toMatch(/Cannot find module|because of a bug/);
});
