import { useQueries } from '@tanstack/react-query';
import { useMemo } from 'react';
import { call, useRead } from '../lib/api';
import { useOwnSources } from '../lib/sources';
import { type SeenNames, suggestionsOf } from './suggestions';

/** Limits the requests: each source needs one. */
const MAX_SOURCES = 20;
const LATELY = 200;
const MINUTE_MS = 60_000;

/**
 * Reads recent names of events and traits as suggestions. Nothing waits for it, and nothing fails
 * without it.
 */
export function useEventNames(sources: readonly string[] | null): SeenNames {
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
  const identifies = useRead('GET /events', { query: { type: 'identify', limit: LATELY } }).data
    ?.data.data;
  const tracks = useRead('GET /events', { query: { type: 'track', limit: LATELY } }).data?.data
    .data;
  return useMemo(
    () => suggestionsOf(counted, [...(identifies ?? []), ...(tracks ?? [])]),
    [counted, identifies, tracks],
  );
}
