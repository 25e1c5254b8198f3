import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ROOT } from '../../../shared/runtime/repo-root';

/**
 * The console loads the styles of the components that it uses, and of those that these consist of:
 * a component without its styles would be bare, and nothing would say so.
 */

const MANTINE = join(ROOT, 'node_modules/@mantine/core');
const CHARTS = join(ROOT, 'node_modules/@mantine/charts');
const SOURCES = join(ROOT, 'console/src');

const read = (path: string) => readFileSync(path, 'utf8');
const namesIn = (list: string) =>
  list.split(',').flatMap((name) => /^\s*(\w+)/.exec(name.replace(/^\s*type .*/, ''))?.[1] ?? []);

/** What no component names: variables, and what holds for every page. */
const FOR_ALL = ['baseline', 'default-css-variables', 'global'];

/** Returns what the console imports from a package. */
function importedFrom(from: string): string[] {
  const files = readdirSync(SOURCES, { recursive: true, encoding: 'utf8' });
  return files
    .filter((file) => /\.tsx?$/.test(file))
    .flatMap((file) => namesFrom(from, read(join(SOURCES, file))));
}

function namesFrom(from: string, source: string): string[] {
  return [...source.matchAll(/^import {([^}]*)} from ['"](.*)['"]/gm)].flatMap(
    ([, names, imported]) => (imported === from ? namesIn(names!) : []),
  );
}

/** Returns the modules of a package by the names that it exports. */
function modulesOf(root: string): Map<string, string> {
  return new Map(
    [...read(join(root, 'esm/index.mjs')).matchAll(/^import {(.*)} from "(.*)"/gm)].flatMap(
      ([, names, path]) => namesIn(names!).map((name) => [name, join(root, 'esm', path!)]),
    ),
  );
}

/** Returns a module and all of its package that it imports, each once. */
function withImports(file: string, seen: Set<string>): string[] {
  if (seen.has(file) || !existsSync(file)) return [];
  seen.add(file);
  const imported = [...read(file).matchAll(/^import .* from "(\..*)"/gm)];
  return [file, ...imported.flatMap(([, path]) => withImports(join(dirname(file), path!), seen))];
}

test('the console has the styles of its components, and no others, in the order of Mantine', () => {
  const modules = modulesOf(MANTINE);
  const charts = modulesOf(CHARTS);
  const seen = new Set<string>();
  // A legend has swatches, which no page names.
  const inCharts = importedFrom('@mantine/charts')
    .flatMap((name) => withImports(charts.get(name) ?? '', seen))
    .flatMap((file) => namesFrom('@mantine/core', read(file)));
  const needed = [...importedFrom('@mantine/core'), ...inCharts]
    .flatMap((name) => withImports(modules.get(name) ?? '', seen))
    .flatMap((file) => /(\w+)\.module\.mjs$/.exec(file)?.[1] ?? []);
  const all = read(join(MANTINE, 'styles.css'));
  const placeOf = (name: string) =>
    all.indexOf(read(join(MANTINE, `styles/${name}.css`)).slice(0, 100));
  const list = read(join(SOURCES, 'component-styles.ts'));
  const loaded = [...list.matchAll(/styles\/(.*)\.css/g)].map(([, name]) => name!);
  expect(loaded).toEqual(
    [...FOR_ALL, ...needed].sort((one, other) => placeOf(one) - placeOf(other)),
  );
});
