import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The notices of the packages that the image contains, from the packages themselves. */

/** An installed package. */
export interface Package {
  name: string;
  version: string;
  /** as its package.json says it; "unknown" without that */
  license: string;
  /** its license and its notices */
  texts: string[];
}

const TEXT = /^(licen[cs]e|copying|notice)/i;

/**
 * Lists the packages under a folder `node_modules`, those inside packages too, by name and version.
 */
export function findPackages(modules: string): Package[] {
  if (!existsSync(modules)) return [];
  const folders = readdirSync(modules, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .flatMap(({ name }) =>
      name.startsWith('@')
        ? readdirSync(join(modules, name)).map((part) => join(name, part))
        : [name],
    )
    .map((name) => join(modules, name));
  const found = folders.flatMap((folder) => [
    ...readPackage(folder),
    ...findPackages(join(folder, 'node_modules')),
  ]);
  const byId = new Map(found.map((one) => [idOf(one), one]));
  return [...byId.values()].sort((a, b) => (idOf(a) < idOf(b) ? -1 : 1));
}

function readPackage(folder: string): Package[] {
  const file = join(folder, 'package.json');
  if (!existsSync(file)) return [];
  const { name, version, license } = JSON.parse(readFileSync(file, 'utf8')) as Partial<
    Record<string, unknown>
  >;
  if (typeof name !== 'string' || typeof version !== 'string') return [];
  const texts = readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile() && TEXT.test(entry.name))
    .map((entry) => readFileSync(join(folder, entry.name), 'utf8').trim());
  return [{ name, version, license: typeof license === 'string' ? license : 'unknown', texts }];
}

/**
 * Formats the notices. A text that several packages share appears once, under all of their names.
 */
export function formatNotices(packages: Package[]): string {
  const byText = new Map<string, Package[]>();
  for (const one of packages) {
    const text = one.texts.join('\n\n') || '(The package contains no license text.)';
    byText.set(text, [...(byText.get(text) ?? []), one]);
  }
  const parts = [...byText].map(
    ([text, owners]) =>
      `${owners.map((one) => `${idOf(one)} (${one.license})`).join('\n')}\n\n${text}\n`,
  );
  return `Waypost contains these packages of others.\n\n${RULE}${parts.join(`\n${RULE}`)}`;
}

const RULE = `${'-'.repeat(80)}\n`;

const idOf = ({ name, version }: Package): string => `${name} ${version}`;
