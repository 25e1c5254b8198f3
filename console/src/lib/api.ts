import {
  keepPreviousData,
  QueryClient,
  useMutation,
  useQueries,
  useQuery,
  useQueryClient,
} from '@tanstack/react-query';
import {
  type ApiResponse,
  ApiProblem,
  createClient,
  type Input,
  type Name,
} from '../../../shared/api/client';
import {
  type Audience,
  type ComputedTrait,
  type Destination,
  type Source,
} from '../../../shared/api/operations';
import { defined } from '../../../shared/collections/defined';
import { useToast } from '../ui/toast';
import { readingById } from './by-id';
import { text } from '../texts';

const words = text.lib.api;

/** The control API for pages: cached reads, and changes that refresh them. */

/** The session's cookie authenticates: no page ever holds a token. */
export const call = createClient({ base: '/api/v1' });

/** A read that the API refused is not retried. If the API was unreachable, it is retried once. */
export function createQueries(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      // A response may hold a secret that is shown once: drop it with its component.
      mutations: { gcTime: 0 },
      queries: {
        retry: (count, error) => !(error instanceof ApiProblem) && count < 1,
        staleTime: 2_000,
      },
    },
  });
}

type GetName = Extract<Name, `GET ${string}`>;
type ChangeName = Exclude<Name, GetName>;

interface ReadOptions<N extends Name> {
  /** repeats after this many ms, or after an interval that depends on the last response */
  every?: number | ((last: ApiResponse<N>['data'] | undefined) => number | false);
  enabled?: boolean;
  /**
   * shows the last response until the next one arrives, for lists whose filters or time range
   * change
   */
  keep?: boolean;
}

/**
 * Reads once. The key is the operation and its input, so that a change can name the reads that it
 * makes stale.
 */
export function useRead<N extends GetName>(name: N, input: Input<N>, options: ReadOptions<N> = {}) {
  const { every } = options;
  return useQuery<ApiResponse<N>>({
    queryKey: [name, input],
    queryFn: ({ signal }) => call(name, { ...input, signal }),
    refetchInterval: ({ state }) =>
      typeof every === 'function' ? every(state.data?.data) : (every ?? false),
    ...defined({
      enabled: options.enabled,
      placeholderData: options.keep ? keepPreviousData : undefined,
    }),
  });
}

interface ChangeOptions<N extends Name> {
  onDone?: (response: ApiResponse<N>) => void;
  refresh?: boolean;
  /** the message on success; default "Saved" for a PATCH, "Deleted" for a DELETE, none otherwise */
  says?: string | ((response: ApiResponse<N>) => string);
}

const SAYS: Readonly<Record<string, string>> = { PATCH: words.saved, DELETE: words.deleted };

/** Makes one change. On success all reads are repeated, because many pages show its effects. */
export function useChange<N extends ChangeName>(name: N, options: ChangeOptions<N> = {}) {
  const { onDone, refresh = true, says = SAYS[name.slice(0, name.indexOf(' '))] } = options;
  const queries = useQueryClient();
  const toast = useToast();
  return useMutation<ApiResponse<N>, Error, Input<N>>({
    mutationFn: (input) => call(name, input),
    onSuccess: (answer, input) => {
      // Stores the response of a change immediately, so that the next change has the new version.
      // Never for a rotation: its response holds a secret and must not be cached.
      const { id }: { id?: string; ifMatch?: string } = input;
      if (name.startsWith('PATCH ')) {
        queries.setQueryData([name.replace('PATCH', 'GET'), { id }], answer);
      }
      if (refresh) {
        void queries.invalidateQueries({
          predicate: ({ queryKey }) => queryKey[0] !== 'GET /session',
        });
      }
      if (says !== undefined) toast(typeof says === 'function' ? says(answer) : says);
      onDone?.(answer);
    },
  });
}

interface Definitions {
  audiences: Audience;
  'computed-traits': ComputedTrait;
}
type Kind = keyof Definitions;

/**
 * Reads all definitions of a kind, which are few, up to a number that a person can choose from;
 * undefined until then.
 */
export function useAll<K extends Kind>(kind: K): Definitions[K][] | undefined {
  return useQuery({
    queryKey: [`GET /${kind}`, 'all'],
    queryFn: () => allOf(kind),
    staleTime: 10_000,
  }).data;
}

export type EntryKind = 'destinations' | 'sources';
export type Entry = Pick<Destination | Source, 'id' | 'name' | 'enabled'>;

/** The most ids that one request names. */
const MOST_IDS = 200;
/** A change in this tab refreshes all reads, and others seldom change a name. */
const ENTRY_STALE_MS = 60_000;

const readById = (kind: EntryKind) =>
  readingById<Entry>(async (ids) => {
    const query = { ids: ids.join(','), limit: MOST_IDS };
    const name = `GET /${kind}` as const;
    return (await call<'GET /sources' | 'GET /destinations'>(name, { query })).data.data;
  }, MOST_IDS);

const READ_BY_ID: Readonly<Record<EntryKind, ReturnType<typeof readById>>> = {
  destinations: readById('destinations'),
  sources: readById('sources'),
};

/**
 * Returns entries by id, as far as they are read. An id without an entry was deleted. Each id is
 * cached by itself, so that one more id does not ask for all the others again.
 */
export function useEntries(kind: EntryKind, ids: readonly string[]): ReadonlyMap<string, Entry> {
  const read = useQueries({
    queries: [...new Set(ids)].map((id) => ({
      queryKey: ['entry', kind, id],
      queryFn: () => READ_BY_ID[kind](id),
      staleTime: ENTRY_STALE_MS,
    })),
  });
  return new Map(read.flatMap(({ data }) => (data ? [[data.id, data]] : [])));
}

/** Returns the names of these entries, as far as they are read. */
export function useNames(kind: EntryKind, ids: readonly string[]): ReadonlyMap<string, string> {
  const entries = useEntries(kind, ids);
  return new Map([...entries].map(([id, { name }]) => [id, name]));
}

/** Longer lists are not useful to choose from. */
const MAX_PAGES = 5;

async function allOf<K extends Kind>(kind: K): Promise<Definitions[K][]> {
  const all: Definitions[K][] = [];
  let after: string | undefined;
  for (let page = 0; page < MAX_PAGES; page++) {
    const query = {
      limit: 200,
      ...defined({ after }),
    };
    const { data } = await call<`GET /${Kind}`>(`GET /${kind}`, { query });
    all.push(...(data.data as Definitions[K][]));
    if (data.next === null) break;
    after = data.next;
  }
  return all;
}
