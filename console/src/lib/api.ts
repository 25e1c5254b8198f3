import { keepPreviousData, QueryClient, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type Answer, ApiProblem, createClient, type Input, type Name } from '../../../shared/api/client';
import { type Operations } from '../../../shared/api/operations';

/** The control API for pages: reads that are kept and refreshed, and changes after which reads are made anew. */

/** The session's cookie is all that is sent: no page ever holds a token. */
export const call = createClient({ base: '/api/v1' });

/** Reads fail at once where the API has refused; where it was away, once more. */
export function createQueries(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      // An answer may hold a secret that is shown once: it goes with what shows it.
      mutations: { gcTime: 0 },
      queries: { retry: (count, error) => !(error instanceof ApiProblem) && count < 1, staleTime: 2_000 },
    },
  });
}

type GetName = Extract<Name, `GET ${string}`>;
type ChangeName = Exclude<Name, GetName>;

interface ReadOptions<N extends Name> {
  /** asks again after so many ms, or as long as the last answer deserves it */
  every?: number | ((last: Answer<N>['data'] | undefined) => number | false);
  enabled?: boolean;
  /** shows the last answer until this one is there: of a list whose filters change, or of a time that moves on */
  keep?: boolean;
}

/** One read. Its key is the operation and what it was asked with, so that a change can name what it makes old. */
export function useRead<N extends GetName>(name: N, input: Input<N>, options: ReadOptions<N> = {}) {
  const { every } = options;
  return useQuery<Answer<N>>({
    queryKey: [name, input],
    queryFn: ({ signal }) => call(name, { ...input, signal }),
    refetchInterval: ({ state }) => (typeof every === 'function' ? every(state.data?.data) : (every ?? false)),
    ...(options.enabled !== undefined && { enabled: options.enabled }),
    ...(options.keep && { placeholderData: keepPreviousData }),
  });
}

/** One change; all reads are made anew when it has succeeded, since what it touches is seen on many pages. */
export function useChange<N extends ChangeName>(
  name: N,
  { onDone, refresh = true }: { onDone?: (answer: Answer<N>) => void; refresh?: boolean } = {},
) {
  const queries = useQueryClient();
  return useMutation<Answer<N>, Error, Input<N>>({
    mutationFn: (input) => call(name, input),
    onSuccess: (answer, input) => {
      // What was changed is known at once, so that who goes on does so with its new version. Never of a rotation: its answer
      // holds a secret, and must not be kept.
      const { id }: { id?: string; ifMatch?: string } = input;
      if (name.startsWith('PATCH ')) queries.setQueryData([name.replace('PATCH', 'GET'), { id }], answer);
      if (refresh) void queries.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'GET /session' });
      onDone?.(answer);
    },
  });
}

type Kind = 'sources' | 'destinations' | 'audiences' | 'computed-traits';
type EntryOf<K extends Kind> = Operations[`GET /${K}`]['answer']['data'][number];

/** All of a kind, as far as a person would choose from; undefined until they are read. */
export function useAll<K extends Kind>(kind: K): EntryOf<K>[] | undefined {
  return useQuery({ queryKey: [`GET /${kind}`, 'all'], queryFn: () => allOf(kind), staleTime: 10_000 }).data;
}

/** Names to be shown in place of ids. */
export function useNames(kind: Kind): ReadonlyMap<string, string> {
  return new Map(useAll(kind)?.map(({ id, name }) => [id, name]));
}

/** Beyond this a list is no longer something to choose from. */
const MAX_PAGES = 5;

async function allOf<K extends Kind>(kind: K): Promise<EntryOf<K>[]> {
  const all: EntryOf<K>[] = [];
  let after: string | undefined;
  for (let page = 0; page < MAX_PAGES; page++) {
    const query = { limit: 200, ...(after !== undefined && { after }) };
    const { data } = await call<`GET /${Kind}`>(`GET /${kind}`, { query });
    all.push(...(data.data as EntryOf<K>[]));
    if (data.next === null) break;
    after = data.next;
  }
  return all;
}
