import { ApiProblem } from '../shared/api/client';
import { type Operations } from '../shared/api/operations';
import { type Api, readList } from './connect/api';
import { type Present } from './export-file/format';
import { CliError } from './process-context';

/**
 * The entries that commands take as arguments: by id or, if they have names, by a name that is
 * unique.
 */

/** The paths of entries in the API, and sample arguments for the examples in the help. */
const NAMED = {
  source: { path: '/sources', sample: '"My site"' },
  destination: { path: '/destinations', sample: '"My hook"' },
  audience: { path: '/audiences', sample: '"My audience"' },
  trait: { path: '/computed-traits', sample: '"My trait"' },
  token: { path: '/tokens', sample: '"A dashboard"' },
} as const;
const KINDS = {
  ...NAMED,
  delivery: { path: '/deliveries', sample: 'dlv_…' },
  replay: { path: '/replays', sample: 'rpl_…' },
  notice: { path: '/notices', sample: 'ntc_…' },
  deletion: { path: '/deletions', sample: 'del_…' },
} as const;

export type Kind = keyof typeof KINDS;
export type NamedKind = keyof typeof NAMED;
export type Entry<K extends Kind> = Operations[`GET ${(typeof KINDS)[K]['path']}/{id}`]['response'];
/** The body of a change. */
export type Patch<K extends NamedKind> =
  Operations[`PATCH ${(typeof NAMED)[K]['path']}/{id}`]['body'];

/** Replaces each `<kind>` of a command's syntax by a sample: `show <source>` → `show "My site"`. */
export function sampleOf(syntax: string): string {
  return syntax.replace(/<(\w+)>/g, (argument, kind: string) =>
    kind in KINDS ? KINDS[kind as Kind].sample : argument,
  );
}

const pathOf = (kind: Kind) => KINDS[kind].path;
const pathOfNamed = (kind: NamedKind) => NAMED[kind].path;

/** @throws CliError for an unknown entry, or a name of several entries */
export async function find<K extends Kind>(api: Api, kind: K, idOrName: string): Promise<Entry<K>> {
  try {
    return (await api.call(`GET ${pathOf(kind)}/{id}`, { id: idOrName })).data as Entry<K>;
  } catch (error) {
    if (!isMissing(error) || !isNamed(kind)) throw error;
    return (await findByName(api, kind, idOrName)) as Entry<K>;
  }
}

/** Returns whether entries of a kind have names. */
function isNamed(kind: string): kind is NamedKind {
  return kind in NAMED;
}

function isMissing(error: unknown): boolean {
  return (
    error instanceof CliError && error.cause instanceof ApiProblem && error.cause.status === 404
  );
}

async function findByName(api: Api, kind: NamedKind, name: string): Promise<Entry<NamedKind>> {
  const found = (await listAll(api, kind)).filter((one) => one.name === name);
  const [first] = found;
  if (first === undefined) {
    throw new CliError(`Unknown ${kind} "${name}". Run \`waypost ${kind}s list\`.`);
  }
  if (found.length > 1) {
    throw new CliError(
      `${String(found.length)} ${kind}s are named "${name}". Use an id ` +
        `(${found.map(({ id }) => id).join(', ')}).`,
    );
  }
  return first;
}

export async function listAll<K extends NamedKind>(api: Api, kind: K): Promise<Entry<K>[]> {
  return (await readList(api, `GET ${pathOfNamed(kind)}`, {})) as Entry<K>[];
}

/** Returns the ids of all names. */
export async function idsOf(
  api: Api,
  kind: NamedKind,
  names: readonly string[],
): Promise<string[]> {
  return (await Promise.all(names.map((name) => find(api, kind, name)))).map(({ id }) => id);
}

/** Changes an entry, with If-Match: the API refuses if the entry has changed since it was read. */
export async function patchEntry<K extends NamedKind>(
  api: Api,
  kind: K,
  { id, version }: { id: string; version: number },
  body: Patch<K>,
): Promise<Entry<K>> {
  const input = { id, body: body as Patch<NamedKind>, ifMatch: `"${String(version)}"` };
  return (await api.call(`PATCH ${pathOfNamed(kind)}/{id}`, input)).data as Entry<K>;
}

/**
 * Lists all entries whose names a table shows. Without the right to read them it has none, and the
 * ids remain.
 */
export function listReadable<K extends 'source' | 'destination'>(api: Api, kind: K) {
  return listAll(api, kind).catch(() => []);
}

/** Returns the names by id, for tables that people read. */
export async function destinationNames(api: Api): Promise<ReadonlyMap<string, string>> {
  const destinations = await listReadable(api, 'destination');
  return new Map(destinations.map(({ id, name }) => [id, name]));
}

/** Deletes an entry, with If-Match: the API refuses if the entry has changed since it was found. */
export async function deleteEntry(
  api: Api,
  kind: NamedKind,
  { id, version }: { id: string; version: number },
): Promise<void> {
  await api.call(`DELETE ${pathOfNamed(kind)}/{id}`, { id, ifMatch: `"${String(version)}"` });
}

/**
 * Reads everything that an export file can hold. Sources of audiences and computed traits are left
 * out: they come and go with these.
 */
export async function allSettings(api: Api): Promise<Present> {
  const [sources, destinations, audiences, traits] = await Promise.all([
    listAll(api, 'source'),
    listAll(api, 'destination'),
    listAll(api, 'audience'),
    listAll(api, 'trait'),
  ]);
  const telling = new Set([...audiences, ...traits].map(({ source }) => source));
  return { sources: sources.filter(({ id }) => !telling.has(id)), destinations, audiences, traits };
}
