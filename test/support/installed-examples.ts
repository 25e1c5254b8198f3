import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from '../../shared/runtime/repo-root';

const run = promisify(execFile);

/** The Node examples as a user has them: in a separate folder, with their packages installed. */
export interface InstalledExamples {
  dir: string;
  remove(): void;
}

/** @throws Error if clients/node is not built */
export async function installExamples(): Promise<InstalledExamples> {
  if (!existsSync(join(ROOT, 'clients/node/dist/cjs/index.js'))) {
    throw new Error('clients/node is not built: run `npm --prefix clients/node run build` first.');
  }
  const dir = mkdtempSync(join(tmpdir(), 'waypost-examples-'));
  // The package as a registry would hold it: a file that package.json does not list is missing here
  // too.
  const { stdout } = await run('npm', ['pack', '--silent', '--pack-destination', dir], {
    cwd: join(ROOT, 'clients/node'),
  });
  const client = join(dir, 'node_modules/@waypost/node');
  mkdirSync(client, { recursive: true });
  await run('tar', ['-xzf', join(dir, stdout.trim()), '-C', client, '--strip-components=1']);
  symlinkSync(dirname(require.resolve('express/package.json')), join(dir, 'node_modules/express'));
  symlinkSync(dirname(require.resolve('fastify/package.json')), join(dir, 'node_modules/fastify'));
  for (const name of ['send-node', 'browser', 'receive-express', 'receive-fastify']) {
    cpSync(join(ROOT, 'examples', name), join(dir, name), { recursive: true });
  }
  return { dir, remove: () => rmSync(dir, { recursive: true, force: true }) };
}
