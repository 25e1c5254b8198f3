import { useQueries } from '@tanstack/react-query';
import { useMemo } from 'react';
import { call, useAll, useRead } from '../lib/api';
import { type Seen, suggestionsOf } from './suggest';

/** So many sources are asked what they have sent: each is a question of its own. */
const MAX_SOURCES = 20;
const LATELY = 200;
const MINUTE_MS = 60_000;

/** What was seen of events and traits, to choose from. Nothing waits for it, and nothing fails without it. */
export function useSeen(sources: readonly string[] | null): Seen {
  const own = useOwnSources();
  const asked = (sources ?? [...own.keys()]).slice(0, MAX_SOURCES);
  const counted = useQueries({
    queries: asked.map((id) => ({
      queryKey: ['GET /sources/{id}/events', { id }],
      queryFn: () => call('GET /sources/{id}/events', { id }),
      staleTime: MINUTE_MS,
    })),
    combine: (reads) => reads.flatMap(({ data }) => data?.data.data ?? []),
  });
  const identifies = useRead('GET /events', { query: { type: 'identify', limit: LATELY } }).data?.data.data;
  const tracks = useRead('GET /events', { query: { type: 'track', limit: LATELY } }).data?.data.data;
  return useMemo(
    () => suggestionsOf(counted, [...(identifies ?? []), ...(tracks ?? [])]),
    [counted, identifies, tracks],
  );
}

/** Sources that clients send to, by id: not those by which audiences are told. */
export function useOwnSources(): ReadonlyMap<string, string> {
  const [sources, audiences, traits] = [useAll('sources'), useAll('audiences'), useAll('computed-traits')];
  return useMemo(() => {
    const telling = new Set([...(audiences ?? []), ...(traits ?? [])].map(({ source }) => source));
    return new Map(sources?.filter(({ id }) => !telling.has(id)).map(({ id, name }) => [id, name]));
  }, [sources, audiences, traits]);
}
