import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../../shared/service/repo-root';
import { blocksOf, type DocBlock } from '../../support/doc-blocks';
import { userPages } from '../../support/doc-pages';

/**
 * Every block of commands or code says in a comment before it which test runs it, or why none does:
 *
 *     <!-- run by test/e2e/pages.ts: client -->      the file reads the block `client` from the page
 *     <!-- run by test/e2e/cli.test.ts -->                the file runs the same commands
 *     <!-- not run: needs Docker -->
 */

/** Pages whose blocks all need something that a test lacks. */
const NOT_RUN: Readonly<Record<string, string>> = {
  'docs/operations/kubernetes.md': 'not run: needs a Kubernetes cluster',
};

/** It shows the help of the commands themselves. */
const GENERATED = 'docs/reference/cli.md';

const CODE = /^(sh|bash|js|ts|python|go)$/;
const COMMAND = /^(npm|npx|node|docker|kubectl|helm|curl|kafka-|bq |\.\/|KAFKA_|WAYPOST_)/;
const isCode = ({ language, code }: DocBlock) => CODE.test(language) || (language === '' && COMMAND.test(code));

const blocks = userPages()
  .filter((page) => page !== GENERATED)
  .flatMap((page) => blocksOf(page).map((block) => ({ ...block, page })))
  .filter(isCode)
  .map((block) => ({ ...block, at: `${block.page}:${block.line}` }));

test.each(blocks)(
  'the commands at $at name the test that runs them, or the reason why none does',
  ({ page, mark: own }) => {
    const mark = own || (NOT_RUN[page] ?? '');
    const [, path, name] = /^run by ([\w./-]+)(?:: (.+))?$/.exec(mark) ?? [];
    if (path === undefined) {
      expect(mark).toMatch(/^not run: .{5}/);
      return;
    }
    expect([path, existsSync(join(ROOT, path))]).toEqual([path, true]);
    if (name === undefined) return;
    const test = readFileSync(join(ROOT, path), 'utf8');
    expect(test).toContain(`'${page}'`);
    expect(test).toContain(`'${name}'`);
  },
);

test('a block of commands without a comment is found', () => {
  expect(blocks.length).toBeGreaterThan(20);
  expect(
    ['npm start\n', 'curl -s localhost\n'].every((code) => isCode({ line: 1, language: '', code, mark: '' })),
  ).toBe(true);
});
