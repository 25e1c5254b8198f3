import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { join, relative } from 'node:path';
import { ROOT } from '../shared/runtime/repo-root';

/**
 * Builds the console into dist/console, unless its sources are unchanged: an unchanged console does
 * not slow a start. With --optional it reports a failure and exits with 0, because a system runs
 * without its console.
 */

const INPUTS = ['console', 'shared/api', 'shared/model', 'shared/cel', 'package-lock.json'];
const OUT = join(ROOT, 'dist', 'console');
/** The best quality takes seconds more and saves a twentieth. */
const QUALITY = 9;
const STAMP = join(ROOT, 'dist', '.console-built');

function build(): number {
  const digest = digestOf(INPUTS.flatMap((input) => filesIn(join(ROOT, input))));
  const built =
    existsSync(join(OUT, 'index.html')) &&
    existsSync(STAMP) &&
    readFileSync(STAMP, 'utf8') === digest;
  if (built) return 0;
  const vite = join(ROOT, 'node_modules', 'vite', 'bin', 'vite.js');
  const args = [
    vite,
    'build',
    '--config',
    join('console', 'vite.config.mjs'),
    '--logLevel',
    'warn',
  ];
  const { status } = spawnSync(process.execPath, args, { cwd: ROOT, stdio: 'inherit' });
  if (status !== 0) return status ?? 1;
  for (const file of filesIn(join(OUT, 'assets'))) compress(file);
  writeFileSync(STAMP, digest);
  return 0;
}

/**
 * Compresses once here, so that control sends the file unchanged. Browsers accept brotli only over
 * TLS; the others get gzip.
 */
function compress(file: string): void {
  const content = readFileSync(file);
  writeFileSync(
    `${file}.br`,
    brotliCompressSync(content, { params: { [constants.BROTLI_PARAM_QUALITY]: QUALITY } }),
  );
  writeFileSync(`${file}.gz`, gzipSync(content, { level: 9 }));
}

function digestOf(files: string[]): string {
  const hash = createHash('sha256');
  for (const file of files.sort()) {
    hash.update(relative(ROOT, file)).update('\0').update(readFileSync(file)).update('\0');
  }
  return hash.digest('hex');
}

function filesIn(path: string): string[] {
  if (path.endsWith('.json')) return [path];
  const entries = readdirSync(path, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

const status = build();
const optional = process.argv.includes('--optional');
if (status !== 0 && optional) {
  process.stderr.write('The console could not be built (see above). All else runs without it.\n');
}
process.exitCode = optional ? 0 : status;
