import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../shared/service/repo-root';
import { measure, type Prose } from './measure';

/** The texts of the repository: pages in Markdown, and comments of code. */

export interface Measured extends Prose {
  path: string;
}

const PAGE = /\.md$/;
const CODE = /(?<!\.d)\.(ts|tsx|mjs|go)$/;
const SKIPPED = /^(node_modules|dist|coverage|\..+)$/;

/** Folders and files with pages. */
const DOCS = ['docs', 'clients', 'examples', 'test', 'README.md', 'CHANGELOG.md', 'CONTRIBUTING.md'].concat(
  'SECURITY.md',
  'CODE_OF_CONDUCT.md',
);

/** Measures every page. */
export function measureDocs(): Measured[] {
  return DOCS.flatMap((path) => measureBelow(path, PAGE));
}

/** Measures the comments below a folder. */
export function measureComments(folder: string): Measured[] {
  return measureBelow(folder, CODE);
}

/** @param path folder or file, relative to the repository */
export function measureBelow(path: string, wanted: RegExp = /.*/): Measured[] {
  return filesBelow(path)
    .filter((file) => wanted.test(file) && (PAGE.test(file) || CODE.test(file)))
    .map((file) => ({ path: file, ...measure(file, readFileSync(join(ROOT, file), 'utf8')) }));
}

function filesBelow(path: string): string[] {
  if (statSync(join(ROOT, path)).isFile()) return [path];
  return readdirSync(join(ROOT, path))
    .filter((name) => !SKIPPED.test(name))
    .flatMap((name) => filesBelow(join(path, name)));
}
