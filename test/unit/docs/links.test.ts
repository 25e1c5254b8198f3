import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { DOCS } from '../../../console/src/lib/docs';
import { ROOT } from '../../../shared/runtime/repo-root';
import { markdownPages, userPages } from '../../support/doc-pages';

/** Checks that every link of a page leads to an existing file and heading. */

/** begins the address of each file */
const CLONE = 'https://github.com/waypost/waypost/blob/main/';

const pages = markdownPages('*.md', 'llms.txt');

test.each(pages)('%s links to files and headings that exist', (page) => {
  const broken = linksOf(page).filter(({ file, anchor }) => {
    if (!existsSync(join(ROOT, file))) return true;
    return anchor !== undefined && file.endsWith('.md') && !anchorsOf(file).has(anchor);
  });
  expect(broken.map(({ link }) => link)).toEqual([]);
});

test.each(['llms.txt', 'docs/README.md'])('%s leads to every page for users', (index) => {
  const linked = new Set(linksOf(index).map(({ file }) => file));
  const other = new Set([
    index,
    'docs/README.md',
    'CHANGELOG.md',
    'CODE_OF_CONDUCT.md',
    'SECURITY.md',
  ]);
  expect(userPages().filter((page) => !linked.has(page) && !other.has(page))).toEqual([]);
});

test('code and configuration name pages that exist', () => {
  const files = execFileSync('git', ['grep', '-lE', 'docs/[a-z]', '--', ':!*.md', ':!*.svg'], {
    cwd: ROOT,
  });
  const missing = files
    .toString()
    .trim()
    .split('\n')
    .flatMap((file) =>
      [...readFileSync(join(ROOT, file), 'utf8').matchAll(/(?<![\w/])docs\/[\w./-]*\.md/g)].map(
        ([page]) => page,
      ),
    )
    .filter((page) => !existsSync(join(ROOT, page)));
  expect(missing).toEqual([]);
});

test('the console links to pages that exist', () => {
  const { kinds, ...others } = DOCS;
  const addresses = [...Object.values(others), ...Object.values(kinds)];
  const paths = addresses.map((address) => address.replace(CLONE, ''));
  expect(paths.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
});

function linksOf(page: string) {
  return [...prose(page).matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, link]) => link!)
    .filter((link) => !/^[a-z]+:/.test(link))
    .map((link) => {
      const [path, anchor] = link.split('#');
      return { link, anchor, file: path ? relative(ROOT, join(ROOT, dirname(page), path)) : page };
    });
}

/** Returns anchors as GitHub creates them. */
function anchorsOf(page: string): Set<string> {
  const anchors = new Set<string>();
  for (const [, title] of prose(page).matchAll(/^#+ (.*)$/gm)) {
    const anchor = title!
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-');
    anchors.add(anchor);
  }
  return anchors;
}

/** Removes code blocks, in which `#` starts a comment. */
function prose(page: string): string {
  return readFileSync(join(ROOT, page), 'utf8').replace(/^```[\s\S]*?^```/gm, '');
}
