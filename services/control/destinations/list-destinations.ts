import { type Query } from '../../../shared/api/operations';
import { type Entry } from '../../../shared/config/types';
import { ALERTS_ID, type Destination } from '../../../shared/model/config';
import { type ConfigEntries } from '../config/config-entries';
import { healthOfSome } from '../health/store';
import { countsBetween, openDeliveries } from '../history/queries';
import { spanOf } from '../history/count-series';
import { isNamed, pageOfEntries, pageOfSorted } from '../http/paging';
import { rowsOf } from '../overview/destination-rows';
import { type SharedAnswers } from '../overview/shared-answers';
import { type CircuitDeps, currentCircuits } from './open-circuits';
import { RECENT_MS } from './health';
import { pausedIds } from './model';

/** Lists destinations: by a part of their name, by their state, by a source, and sorted. */

interface ListDeps extends CircuitDeps {
  entries: Pick<ConfigEntries, 'list'>;
  now: () => Date;
  /** what the history knows of all destinations, for all pages and readers of a short time */
  figures: SharedAnswers<Figures>;
}

type ListQuery = Query<'GET /destinations'>;
type Column = 'state' | 'waiting' | 'dead' | 'lastDelivery';
export type Figures = ReadonlyMap<string, Partial<Record<Column, string | number>>>;

/** @throws Problem `unavailable` if the query asks for what only the history knows */
export async function listDestinations<V>(
  deps: ListDeps,
  query: ListQuery,
  view: (entry: Entry<Destination>) => V,
) {
  const { state, source, sort } = query;
  const all = deps.entries.list('destination');
  const isShown = ({ data }: Entry<Destination>) =>
    data.id !== ALERTS_ID &&
    isNamed(data, query) &&
    (source === undefined || data.sources.includes(source));
  const column = sort?.replace('-', '') as Column | 'name' | undefined;
  if (column === undefined && state === undefined) return pageOfEntries(all, query, view, isShown);
  const named = all.filter(isShown);
  const figures = await figuresFor(deps, all, state === undefined ? column : 'state');
  const found =
    state === undefined ? named : named.filter(({ data }) => figures.get(data.id)?.state === state);
  if (sort === undefined || column === undefined) return pageOfEntries(found, query, view);
  const valueOf = ({ data }: Entry<Destination>) =>
    column === 'name' ? data.name : (figures.get(data.id)?.[column] ?? 0);
  return pageOfSorted(found, { ...query, sort }, { valueOf, view });
}

function figuresFor(
  deps: ListDeps,
  entries: readonly Entry<Destination>[],
  column: Column | 'name' | undefined,
): Figures | Promise<Figures> {
  switch (column) {
    case undefined:
    case 'name':
      return new Map();
    case 'lastDelivery':
      return deps.figures.get(column, () => lastDeliveries(deps, entries));
    case 'dead':
    case 'state':
    case 'waiting':
      return deps.figures.get('all', () => figuresOf(deps, entries));
  }
}

/** Reads what is known of each, without the counts, which are a hundred times as many rows. */
function lastDeliveries(deps: ListDeps, entries: readonly Entry<Destination>[]): Promise<Figures> {
  const ids = entries.map(({ data }) => data.id);
  return deps.history.ask(async (database) => {
    const health = await healthOfSome(database, ids);
    return new Map(
      [...health].map(([id, { successAt }]) => [id, { lastDelivery: successAt ?? 0 }]),
    );
  });
}

async function figuresOf(deps: ListDeps, entries: readonly Entry<Destination>[]): Promise<Figures> {
  const nowMs = deps.now().getTime();
  const destinations = entries.map(({ data }) => data);
  const ids = destinations.map(({ id }) => id);
  const circuits = await currentCircuits(deps);
  return deps.history.ask(async (database) => {
    const [counts, recent, open, health] = await Promise.all([
      countsBetween(database, spanOf(undefined, nowMs), ids),
      countsBetween(database, { sinceMs: nowMs - RECENT_MS, untilMs: nowMs }, ids),
      openDeliveries(database, pausedIds(entries)),
      healthOfSome(database, ids),
    ]);
    const rows = rowsOf(destinations, { counts, recent, open, circuits, health, nowMs });
    return new Map(
      rows.map(({ destination, state, waiting, retrying, held, dead }) => [
        destination,
        {
          state,
          waiting: waiting + retrying + held,
          dead,
          lastDelivery: health.get(destination)?.successAt ?? 0,
        },
      ]),
    );
  });
}
