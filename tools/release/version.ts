import { execFileSync } from 'node:child_process';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../shared/runtime/repo-root';
import {
  type Found,
  hasSection,
  PLACES,
  refusal,
  released,
  versionsIn,
  withVersion,
} from './versions';

/**
 * Sets the version everywhere, and gives the sections "Unreleased" of the changelog and of the
 * upgrade notes its name:
 *
 *     node dist/tools/release/version.js 0.2.0
 *     node dist/tools/release/version.js --check 0.2.0   fails unless every file names this version
 *                                                        and both pages have its section
 */

const USAGE = 'Usage: node dist/tools/release/version.js [--check] <version>, such as 0.2.0';
const CHANGELOG = 'CHANGELOG.md';
const UPGRADING = 'docs/operations/upgrading.md';

const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8');
const write = (file: string, text: string): void => {
  writeFileSync(join(ROOT, file), text);
  console.log(file);
};
const git = (...args: string[]): string[] =>
  execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).split('\n').filter(Boolean);

/** Files that may name the version. A link to a folder is none. */
function files(): string[] {
  return git('ls-files')
    .filter((file) => PLACES.some((place) => place.files.test(file)))
    .filter((file) => statSync(join(ROOT, file)).isFile());
}

/** @returns every place that names a version of Waypost */
export function allVersions(): Found[] {
  return files().flatMap((file) => versionsIn(file, read(file)));
}

function check(version: string): number {
  const wrong = [
    ...allVersions()
      .filter((found) => found.version !== version)
      .map((found) => `${found.file} names ${found.version}`),
    ...[CHANGELOG, UPGRADING]
      .filter((page) => !hasSection(read(page), version))
      .map((page) => `${page} has no section "## ${version}"`),
  ];
  if (wrong.length > 0) {
    console.error(`Not everything is ${version}:\n${wrong.map((it) => `  ${it}`).join('\n')}`);
  } else console.log(`Everything is ${version}.`);
  return wrong.length > 0 ? 1 : 0;
}

function set(next: string): number {
  const { version: current } = JSON.parse(read('package.json')) as { version: string };
  const currentIsReleased = hasSection(read(CHANGELOG), current);
  const reason = refusal(next, { current, currentIsReleased, dirty: git('status', '--porcelain') });
  if (reason !== undefined) {
    console.error(reason);
    return 1;
  }
  const pages = new Map([
    [CHANGELOG, released(CHANGELOG, read(CHANGELOG), next, new Date().toISOString().slice(0, 10))],
    [UPGRADING, released(UPGRADING, read(UPGRADING), next)],
  ]);
  for (const [file, text] of pages) write(file, text);
  for (const file of files()) {
    const text = withVersion(file, read(file), next);
    if (text !== read(file)) write(file, text);
  }
  console.log(
    `The version is ${next}. Next: node dist/tools/release/dry.js, then ` +
      'docs/operations/releasing.md.',
  );
  return 0;
}

function main(args: string[]): number {
  const [version, ...more] = args.filter((arg) => arg !== '--check');
  if (version === undefined || more.length > 0) {
    console.error(USAGE);
    return 1;
  }
  return args.includes('--check') ? check(version) : set(version);
}

if (require.main === module) process.exitCode = main(process.argv.slice(2));
