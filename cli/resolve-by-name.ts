import { type Audience, type ComputedTrait, type Destination, type Source, type Token } from '../shared/api/operations';
import { ApiProblem } from '../shared/api/client';
import { all, type Api } from './connect/api';
import { type Present } from './export-file/format';
import { CliError } from './process-context';

/** Finds sources, destinations, audiences, computed traits and tokens by id, or by name if the name is unique. */

export async function findSource(api: Api, idOrName: string): Promise<Source> {
  return find('source', idOrName, {
    byId: async (id) => (await api.call('GET /sources/{id}', { id })).data,
    list: () => allSources(api),
  });
}

export async function findDestination(api: Api, idOrName: string): Promise<Destination> {
  return find('destination', idOrName, {
    byId: async (id) => (await api.call('GET /destinations/{id}', { id })).data,
    list: () => allDestinations(api),
  });
}

export async function findToken(api: Api, idOrName: string): Promise<Token> {
  return find('token', idOrName, {
    byId: async (id) => (await api.call('GET /tokens/{id}', { id })).data,
    list: () => allTokens(api),
  });
}

export async function findAudience(api: Api, idOrName: string): Promise<Audience> {
  return find('audience', idOrName, {
    byId: async (id) => (await api.call('GET /audiences/{id}', { id })).data,
    list: () => allAudiences(api),
  });
}

export async function findTrait(api: Api, idOrName: string): Promise<ComputedTrait> {
  return find('trait', idOrName, {
    byId: async (id) => (await api.call('GET /computed-traits/{id}', { id })).data,
    list: () => allTraits(api),
  });
}

export function allAudiences(api: Api): Promise<Audience[]> {
  return all((query) => api.call('GET /audiences', { query }));
}

export function allTraits(api: Api): Promise<ComputedTrait[]> {
  return all((query) => api.call('GET /computed-traits', { query }));
}

export function allSources(api: Api): Promise<Source[]> {
  return all((query) => api.call('GET /sources', { query }));
}

/**
 * Reads everything that an export file can hold. Sources of audiences and computed traits are left out: they come and
 * go with these.
 */
export async function allSettings(api: Api): Promise<Present> {
  const [sources, destinations, audiences, traits] = await Promise.all([
    allSources(api),
    allDestinations(api),
    allAudiences(api),
    allTraits(api),
  ]);
  const telling = new Set([...audiences, ...traits].map(({ source }) => source));
  return { sources: sources.filter(({ id }) => !telling.has(id)), destinations, audiences, traits };
}

export function allDestinations(api: Api): Promise<Destination[]> {
  return all((query) => api.call('GET /destinations', { query }));
}

export function allTokens(api: Api): Promise<Token[]> {
  return all((query) => api.call('GET /tokens', { query }));
}

/**
 * Returns the ids of all names.
 * @throws CliError if a name does not exist or is not unique
 */
export async function idsOf(
  find: (api: Api, idOrName: string) => Promise<{ id: string }>,
  api: Api,
  names: readonly string[],
): Promise<string[]> {
  const found = await Promise.all(names.map((name) => find(api, name)));
  return found.map(({ id }) => id);
}

interface Lookup<T> {
  byId: (id: string) => Promise<T>;
  list: () => Promise<T[]>;
}

async function find<T extends { id: string; name: string }>(
  kind: string,
  idOrName: string,
  { byId, list }: Lookup<T>,
): Promise<T> {
  try {
    return await byId(idOrName);
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
  return theOne(kind, idOrName, await list());
}

/** @throws CliError if no entry, or more than one, has that name */
function theOne<T extends { id: string; name: string }>(kind: string, name: string, from: T[]): T {
  const found = from.filter((one) => one.name === name);
  const [first] = found;
  if (first === undefined) {
    throw new CliError(`Unknown ${kind} "${name}". Run \`waypost ${kind}s list\`.`);
  }
  if (found.length > 1) {
    throw new CliError(
      `${String(found.length)} ${kind}s are named "${name}". Use an id (${found.map(({ id }) => id).join(', ')}).`,
    );
  }
  return first;
}

function isMissing(error: unknown): boolean {
  return error instanceof CliError && error.cause instanceof ApiProblem && error.cause.status === 404;
}
