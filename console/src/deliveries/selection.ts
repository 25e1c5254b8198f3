import { useEffect, useState } from 'react';
import { type Deliveries, type Operations } from '../../../shared/api/operations';
import { call } from '../lib/api';
import { count } from '../lib/labels';
import { sayProblem } from '../lib/problems';
import { useToast } from '../ui/toast';
import { readMatching } from './read-matching';
import { text } from '../texts';

const words = text.watch.deliveries;

type Row = Deliveries['data'][number];
type Query = NonNullable<Operations['GET /deliveries']['query']>;

interface Selected {
  /** the list that they were selected in */
  list: string;
  rows: ReadonlyMap<string, Row>;
  /** all that match were selected, and none was added or taken out since */
  isAll: boolean;
}

function noneOf(list: string): Selected {
  return {
    list,
    rows: new Map(),
    isAll: false,
  };
}

export type Selection = ReturnType<typeof useSelection>;

/**
 * The selected deliveries of a list. They stay selected while other pages are read, or cannot be.
 * Other filters are another list, which begins with none: nobody acts on what is no longer listed.
 * @param list names the list, with its filters
 * @param query finds its deliveries
 */
export function useSelection(list: string, query: Query) {
  const [selected, setSelected] = useState(noneOf(list));
  const [reading, setReading] = useState<AbortController>();
  const toast = useToast();
  useEffect(() => () => reading?.abort(), [list, reading]);
  if (selected.list !== list) setSelected(noneOf(list));
  /** Whoever selects by hand, or clears the selection, no longer waits for all that match. */
  const set = (rows: ReadonlyMap<string, Row>) => {
    reading?.abort();
    const next: Selected = {
      list,
      rows,
      isAll: false,
    };
    // What began in another list, as a replay that ends now, leaves the selection of this one.
    setSelected((now) => (now.list === list ? next : now));
  };
  const readAll = async () => {
    const aborter = new AbortController();
    const { signal } = aborter;
    setReading(aborter);
    const { after: _, ...all } = query;
    const readPage = async (page: { limit: number; after?: string }) =>
      (await call('GET /deliveries', { query: { ...all, ...page }, signal })).data;
    try {
      const { rows, isPart } = await readMatching(readPage);
      setSelected({
        list,
        rows: new Map(rows.map((row) => [row.id, row])),
        isAll: true,
      });
      if (isPart) toast(words.selectedPart(count(rows.length)));
    } catch (error) {
      if (!signal.aborted) toast(sayProblem(error));
    } finally {
      setReading(undefined);
    }
  };
  return {
    rows: selected.rows,
    isAll: selected.isAll,
    /** all that match are being read */
    isReading: reading !== undefined,
    select: (rows: readonly Row[], on: boolean) => {
      const next = new Map(selected.rows);
      for (const row of rows) {
        if (on) next.set(row.id, row);
        else next.delete(row.id);
      }
      set(next);
    },
    selectAll: () => void readAll(),
    clear: () => set(new Map()),
  };
}
