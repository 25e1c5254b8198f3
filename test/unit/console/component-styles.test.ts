import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ROOT } from '../../../shared/runtime/repo-root';

/**
 * The console loads the styles of the components that it uses, and of those that these consist of:
 * a component without its styles would be bare, and nothing would say so.
 */

const MANTINE = join(ROOT, 'node_modules/@mantine/core');
const SOURCES = join(ROOT, 'console/src');

const read = (path: string) => readFileSync(path, 'utf8');
const namesIn = (list: string) =>
  list.split(',').flatMap((name) => /^\s*(\w+)/.exec(name.replace(/^\s*type .*/, ''))?.[1] ?? []);

/** What no component names: variables, and what holds for every page. */
const FOR_ALL = ['baseline', 'default-css-variables', 'global'];

/** Returns the components that the console imports. */
function importedNames(): string[] {
  const files = readdirSync(SOURCES, { recursive: true, encoding: 'utf8' });
  return files
    .filter((file) => /\.tsx?$/.test(file))
    .flatMap((file) => [
      ...read(join(SOURCES, file)).matchAll(/^import {([^}]*)} from '@mantine\/core'/gm),
    ])
    .flatMap(([, names]) => namesIn(names!));
}

/** Returns the styles of the modules that are imported from here on. */
function stylesFrom(file: string, seen: Set<string>): string[] {
  if (seen.has(file)) return [];
  seen.add(file);
  const own = /(\w+)\.module\.mjs$/.exec(file)?.[1];
  const imported = [...read(file).matchAll(/^import .* from "(\..*)"/gm)]
    .map(([, path]) => join(dirname(file), path!))
    .filter((path) => existsSync(path))
    .flatMap((path) => stylesFrom(path, seen));
  return own === undefined ? imported : [own, ...imported];
}

test('the console has the styles of its components, and no others, in the order of Mantine', () => {
  const modules = new Map(
    [...read(join(MANTINE, 'esm/index.mjs')).matchAll(/^import {(.*)} from "(.*)"/gm)].flatMap(
      ([, names, path]) => namesIn(names!).map((name) => [name, join(MANTINE, 'esm', path!)]),
    ),
  );
  const seen = new Set<string>();
  const needed = importedNames().flatMap((name) => stylesFrom(modules.get(name)!, seen));
  const all = read(join(MANTINE, 'styles.css'));
  const placeOf = (name: string) =>
    all.indexOf(read(join(MANTINE, `styles/${name}.css`)).slice(0, 100));
  const list = read(join(SOURCES, 'component-styles.ts'));
  const loaded = [...list.matchAll(/styles\/(.*)\.css/g)].map(([, name]) => name!);
  expect(loaded).toEqual(
    [...FOR_ALL, ...needed].sort((one, other) => placeOf(one) - placeOf(other)),
  );
});
