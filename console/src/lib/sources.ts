import { useMemo } from 'react';
import { useAll } from './api';

/** Of a source by which an audience, or a computed trait, is told: what it tells of. */
export interface Telling {
  name: string;
  /** its page */
  to: string;
}

/** Sources that nobody sends to: they come and go with an audience or a computed trait. By their ids. */
export function useTelling(): ReadonlyMap<string, Telling> {
  const [audiences, traits] = [useAll('audiences'), useAll('computed-traits')];
  return useMemo(
    () =>
      new Map([
        ...(audiences ?? []).map(({ id, name, source }) => [source, { name, to: `/audiences/${id}` }] as const),
        ...(traits ?? []).map(({ id, name, source }) => [source, { name, to: `/audiences/traits/${id}` }] as const),
      ]),
    [audiences, traits],
  );
}

/** Sources that clients send to: their names by their ids. */
export function useOwnSources(): ReadonlyMap<string, string> {
  const [sources, telling] = [useAll('sources'), useTelling()];
  return useMemo(
    () => new Map(sources?.filter(({ id }) => !telling.has(id)).map(({ id, name }) => [id, name])),
    [sources, telling],
  );
}
