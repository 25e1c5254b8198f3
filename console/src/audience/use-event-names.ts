import { useQueries } from '@tanstack/react-query';
import { useMemo } from 'react';
import { call, useRead } from '../lib/api';
import { useTelling } from '../lib/sources';
import { type SeenNames, suggestionsOf } from './suggestions';

/** Limits the requests: each source needs one. The last events of all sources are read at once. */
const MAX_SOURCES = 8;
const LATELY = 200;
const MINUTE_MS = 60_000;

/**
 * Reads recent names of events and traits as suggestions. Nothing waits for it, and nothing fails
 * without it.
 */
export function useEventNames(sources: readonly string[] | null): SeenNames {
  const telling = useTelling();
  const latest = useRead(
    'GET /sources',
    { query: { sort: '-lastCall', limit: MAX_SOURCES } },
    { enabled: sources === null },
  );
  const own = latest.data?.data.data.map(({ id }) => id).filter((id) => !telling.has(id));
  const asked = (sources ?? own ?? []).slice(0, MAX_SOURCES);
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
