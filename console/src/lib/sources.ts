import { useMemo } from 'react';
import { type SourceRow } from '../../../shared/api/operations';
import { useAll, useRead } from './api';

/** The audience or computed trait behind a source that Waypost itself feeds. */
export interface Telling {
  name: string;
  /** path of its page */
  to: string;
}

/**
 * Returns, by id, the sources that no client sends to: they come and go with an audience or a
 * computed trait.
 */
export function useTelling(): ReadonlyMap<string, Telling> {
  const [audiences, traits] = [useAll('audiences'), useAll('computed-traits')];
  return useMemo(
    () =>
      new Map([
        ...(audiences ?? []).map(
          ({ id, name, source }) => [source, { name, to: `/audiences/${id}` }] as const,
        ),
        ...(traits ?? []).map(
          ({ id, name, source }) => [source, { name, to: `/audiences/traits/${id}` }] as const,
        ),
      ]),
    [audiences, traits],
  );
}

/** Returns the first source, with whose code somebody may send a call; undefined: not read yet, or none. */
export function useFirstSource(): SourceRow | undefined {
  return useRead('GET /sources', { query: { limit: 1 } }).data?.data.data[0];
}
