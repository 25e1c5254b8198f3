/** Finds and moves the version of Waypost in the text of every file that names it. */

/** Files, and where in each of them the version stands. The patterns match the version alone. */
export interface Place {
  files: RegExp;
  version: RegExp;
  /** true if each of the files must name the version; false if a file may name none */
  required: boolean;
}

export const PLACES: Place[] = [
  {
    files: /^(clients\/node\/)?package\.json$/,
    version: after('^ {2}"version": "'),
    required: true,
  },
  {
    files: /^package-lock\.json$/,
    version: after('"name": "waypost",\\n +"version": "'),
    required: true,
  },
  {
    files: /^clients\/node\/src\/message\.ts$/,
    version: after("^export const VERSION = '"),
    required: true,
  },
  { files: /^clients\/go\/client\.go$/, version: after('^const Version = "'), required: true },
  {
    files: /^deploy\/helm\/waypost\/Chart\.yaml$/,
    version: after('^(?:version|appVersion): [\'"]?'),
    required: true,
  },
  {
    // Examples in pages, and manifests that require a client.
    files:
      /^(README\.md|docs\/(?!performance\.md|design\/)|examples\/|clients\/|cli\/|deploy\/|.*\/go\.mod$)/,
    version: after(
      '@waypost/(?:node|cli)(?:@|": "\\^?)|/clients/go(?: v|@v)|/waypost:|/charts/waypost ' +
        '(?:\\\\\\n +)?--version ',
    ),
    required: false,
  },
];

function after(prefix: string): RegExp {
  return new RegExp(`(?<=${prefix})\\d+\\.\\d+\\.\\d+`, 'gm');
}

/** A version in a file. */
export interface Found {
  file: string;
  version: string;
}

/** @throws Error if a file that must name the version names none */
export function versionsIn(file: string, text: string): Found[] {
  return PLACES.filter(({ files }) => files.test(file)).flatMap(({ version, required }) => {
    const found = [...text.matchAll(version)].map(([it]) => ({ file, version: it }));
    if (required && found.length === 0) {
      throw new Error(`${file} names no version where tools/release expects it`);
    }
    return found;
  });
}

/** Returns the text of a file with another version. */
export function withVersion(file: string, text: string, next: string): string {
  return PLACES.filter(({ files }) => files.test(file)).reduce(
    (was, { version }) => was.replace(version, next),
    text,
  );
}

/**
 * Gives the section `## Unreleased` of a page the version, and the date if there is one.
 * @throws Error if the page has no such section, or an empty one
 */
export function released(file: string, text: string, version: string, date?: string): string {
  const heading = '## Unreleased\n';
  const [before, section] = text.split(heading);
  if (before === undefined || section === undefined) {
    throw new Error(`${file} has no section "## Unreleased"`);
  }
  if (/^\s*(## |$)/.test(section)) throw new Error(`${file}: the section "## Unreleased" is empty`);
  return `${before}## ${version}${date === undefined ? '' : ` (${date})`}\n${section}`;
}

/** Returns true if a page has a section for the version. */
export function hasSection(text: string, version: string): boolean {
  return text
    .split('\n')
    .some((line) => line === `## ${version}` || line.startsWith(`## ${version} `));
}

/** The facts that decide about a refusal. */
export interface Situation {
  current: string;
  /** the changelog has a section for the current version */
  currentIsReleased: boolean;
  /** files with changes, as `git status` lists them */
  dirty: string[];
}

/**
 * Returns why the version cannot become `next`, or undefined. An unreleased current version may be
 * released as it is.
 */
export function refusal(
  next: string,
  { current, currentIsReleased, dirty }: Situation,
): string | undefined {
  if (!/^(0|[1-9]\d*)(\.(0|[1-9]\d*)){2}$/.test(next)) {
    return `"${next}" is not a version. Give three numbers, such as 0.2.0.`;
  }
  const order = compare(next, current);
  if (order < 0 || (order === 0 && currentIsReleased)) {
    return `${next} is not newer than ${current}. Give a higher version.`;
  }
  if (dirty.length > 0) {
    return `Commit or discard your changes first:\n${dirty.map((file) => `  ${file}`).join('\n')}`;
  }
  return undefined;
}

function compare(a: string, b: string): number {
  const [left, right] = [a, b].map((version) => version.split('.').map(Number));
  return (
    left?.map((part, i) => part - (right?.[i] ?? 0)).find((difference) => difference !== 0) ?? 0
  );
}
