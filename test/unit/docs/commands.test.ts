import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../../shared/runtime/repo-root';
import { blocksOf, type DocBlock } from '../../support/doc-blocks';
import { userPages } from '../../support/doc-pages';

/**
 * Every block of commands or code says in a comment before it which test runs it, or why none does:
 *
 *     <!-- run by test/e2e/pages.test.ts: client -->         the file reads the block `client`
 *     <!-- run by test/integration/local-system.test.ts -->  the file holds each command of it
 *     <!-- not run: needs Docker -->
 */

/** Pages whose blocks all need something that a test lacks. */
const NOT_RUN: Readonly<Record<string, string>> = {
  'docs/operations/kubernetes.md': 'not run: needs a Kubernetes cluster',
};

/** It shows the help of the commands themselves. */
const GENERATED = 'docs/reference/cli.md';

const CODE = /^(sh|bash|js|ts|python|go)$/;
const COMMAND = /^(npm|npx|waypost|node|docker|kubectl|helm|curl|kafka-|bq |\.\/|KAFKA_|WAYPOST_)/;
const isCode = ({ language, code }: DocBlock) =>
  CODE.test(language) || (language === '' && COMMAND.test(code));

const blocks = userPages()
  .filter((page) => page !== GENERATED)
  .flatMap((page) => blocksOf(page).map((block) => ({ ...block, page })))
  .filter(isCode)
  .map((block) => ({ ...block, at: `${block.page}:${block.line}` }));

/**
 * Returns the reason why a mark is wrong; undefined for a good one. @param read returns the text of
 * a file
 */
function faultOf(
  { mark, page, code }: { mark: string; page: string; code: string },
  read = readTest,
) {
  const [, path, name] = /^run by ([\w./-]+)(?:: (.+))?$/.exec(mark) ?? [];
  if (path === undefined) {
    if (!/^not run: .{5}/.test(mark)) return 'no mark';
    const gone = mark.match(/\btest\/[\w/.-]+\w/g)?.find((named) => read(named) === undefined);
    return gone === undefined ? undefined : `no file ${gone}`;
  }
  const test = read(path);
  if (test === undefined) return `no file ${path}`;
  if (name === undefined) {
    const text = plain(test);
    const missing = commandsOf(code).find((command) => !text.includes(` ${command} `));
    return missing === undefined ? undefined : `${path} does not run ${missing}`;
  }
  const missing = [`'${page}'`, `'${name}'`].find((text) => !test.includes(text));
  return missing === undefined ? undefined : `${path} does not read ${missing}`;
}

function readTest(path: string): string | undefined {
  if (!existsSync(join(ROOT, path))) return undefined;
  return statSync(join(ROOT, path)).isDirectory() ? '' : readFileSync(join(ROOT, path), 'utf8');
}

/**
 * Returns a text without the marks between the arguments of a command in TypeScript:
 * `'npm', ['start']` is `npm start`.
 */
const plain = (text: string) => text.replace(/[^\w/.:=-]+/g, ' ');

/**
 * Returns the commands of a block without their comments. Every run of the tests begins with
 * `npm ci`.
 */
function commandsOf(code: string): string[] {
  const commands = code.split('\n').flatMap((line) => line.replace(/ +# .*/, '').split('&&'));
  return commands
    .map((command) => plain(command).trim())
    .filter((command) => command !== '' && command !== 'npm ci');
}

test.each(blocks)(
  'the commands at $at name the test that runs them, or the reason why none does',
  ({ page, mark, code }) => {
    expect(faultOf({ page, mark: mark || (NOT_RUN[page] ?? ''), code })).toBeUndefined();
  },
);

test.each([
  ['no mark', '', 'no mark'],
  ['no reason', 'not run: ', 'no mark'],
  ['a reason that names no file', 'not run: test/gone.ts does the same', 'no file test/gone.ts'],
  ['no such file', 'run by test/gone.ts', 'no file test/gone.ts'],
  ['a file without the command', 'run by test/a.ts', 'test/a.ts does not run npm run demo'],
  ['a file without the name', 'run by test/b.ts: first', "test/b.ts does not read 'first'"],
  [
    'a file that reads another page',
    'run by test/c.ts: first',
    "test/c.ts does not read 'README.md'",
  ],
  ['a file with every command', 'run by test/d.ts', undefined],
  ['a file that reads the block', 'run by test/e.ts: first', undefined],
])('a block with %s has the fault that its mark shows', (_, mark, fault) => {
  const files: Record<string, string> = {
    'test/a.ts': "start('npm', ['start'])",
    'test/b.ts': "blockNamed('README.md', 'second')",
    'test/c.ts': "blockNamed('CHANGELOG.md', 'first')",
    'test/d.ts': "start('npm', ['run', 'demo', '--', '--once'])",
    'test/e.ts': "blockNamed('README.md', 'first')",
  };
  const block = {
    mark,
    page: 'README.md',
    code: 'npm ci && npm run demo     # starts everything\n',
  };
  expect(faultOf(block, (path) => files[path])).toBe(fault);
});

test('a block of commands without a comment is found', () => {
  expect(blocks.length).toBeGreaterThan(20);
  expect(
    ['npm start\n', 'curl -s localhost\n'].every((code) =>
      isCode({ line: 1, language: '', code, mark: '' }),
    ),
  ).toBe(true);
});

const workflows = readdirSync(join(ROOT, '.github/workflows')).map(
  (name) => `.github/workflows/${name}`,
);

test.each([
  ...new Set([
    ...userPages(),
    ...workflows,
    'CONTRIBUTING.md',
    'CHANGELOG.md',
    'Dockerfile',
    '.ci/run',
  ]),
])('every npm script that %s names exists', (path) => {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    scripts: object;
  };
  const named = [...readFileSync(join(ROOT, path), 'utf8').matchAll(/npm run ([\w:-]+)/g)].map(
    ([, name]) => name!,
  );
  expect(named.filter((name) => !(name in scripts))).toEqual([]);
});

test('no page runs a name of Waypost from a package registry that is not claimed yet', () => {
  const unclaimed =
    /npx (--yes |-y )?(@waypost\/cli|waypost)(?! outside| would|`)|"command": "npx"/;
  // It describes what a release publishes.
  const pages = [...userPages(), 'cli/README.md', 'llms.txt'].filter(
    (page) => page !== 'docs/operations/releasing.md',
  );
  const bad = pages.filter((page) => unclaimed.test(readFileSync(join(ROOT, page), 'utf8')));
  expect(bad).toEqual([]);
});
