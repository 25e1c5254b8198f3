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

/** Beyond them hardly anybody needs a first one. */
const FIRST = 20;

/** Returns the first source that clients may send to; null: none; undefined: not read yet. */
export function useFirstSource(): SourceRow | null | undefined {
  const telling = useTelling();
  const read = useRead('GET /sources', { query: { limit: FIRST } });
  return read.data && (read.data.data.data.find(({ id }) => !telling.has(id)) ?? null);
}
