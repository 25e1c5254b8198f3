#!/usr/bin/env node
// Runs the compiled command line. In a clone that was not compiled, or not since a
// change, it compiles first.
const { spawnSync } = require('node:child_process');
const { existsSync, readdirSync, statSync, utimesSync } = require('node:fs');
const nodeModule = require('node:module');
const { homedir } = require('node:os');
const { join } = require('node:path');

const root = join(__dirname, '..');
const built = join(root, 'dist', 'cli', 'main.js');
// tsc leaves unchanged output files alone, but it always updates this one.
const mark = join(root, 'dist', '.tsbuildinfo');
const SOURCES = ['cli', 'shared', 'clients/node/src'];

function newestIn(folder) {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce(
      (newest, entry) =>
        Math.max(newest, statSync(join(entry.parentPath ?? entry.path, entry.name)).mtimeMs),
      0,
    );
}

/** A container or a package contains only dist, and no sources to compile. */
function isStale() {
  if (!existsSync(join(root, 'tsconfig.build.json'))) return false;
  const builtAt = existsSync(built) ? statSync(built).mtimeMs : 0;
  const checkedAt = existsSync(mark) ? statSync(mark).mtimeMs : 0;
  return SOURCES.some((folder) => newestIn(folder) > Math.max(builtAt, checkedAt));
}

function build() {
  const compiler = join(root, 'node_modules', '@typescript', 'compiler', 'bin', 'tsc');
  if (!existsSync(compiler)) return false;
  process.stderr.write('waypost: building it once, this takes some seconds\n');
  const { status } = spawnSync(
    process.execPath,
    [compiler, '-b', join(root, 'tsconfig.build.json')],
    {
      stdio: ['ignore', 2, 2],
    },
  );
  if (status === 0 && existsSync(mark)) utimesSync(mark, new Date(), new Date());
  return status === 0;
}

if (isStale() && !build() && !existsSync(built)) {
  process.stderr.write(`waypost: it is not built. Run \`npm ci && npm run build\` in ${root}.\n`);
  process.exit(1);
}
// Node from 22 on keeps what it compiled for the next start: in a folder of this user, because its
// own default is one where others of this machine may write first.
nodeModule.enableCompileCache?.(
  join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'waypost', 'compiled'),
);
require(built);
