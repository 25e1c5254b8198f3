import { type Deliveries } from '../../../shared/api/operations';
import { defined } from '../../../shared/collections/defined';

type Row = Deliveries['data'][number];

/** One selection holds no more: more belong into a replay, which has a scope and a rate. */
export const MOST_SELECTED = 1_000;
const PAGE = 200;
/** A page is a part of the past: it may be empty, although others follow. */
const MOST_PAGES = 20;

interface Matching {
  rows: Row[];
  /** it gave up before the end: more may match */
  isPart: boolean;
}

/** Reads all deliveries that match, up to the most that are acted on one by one. */
export async function readMatching(
  readPage: (page: { limit: number; after?: string }) => Promise<Pick<Deliveries, 'data' | 'next'>>,
): Promise<Matching> {
  const rows: Row[] = [];
  let after: string | undefined;
  for (let pages = 0; pages < MOST_PAGES; pages++) {
    const page = {
      limit: PAGE,
      ...defined({ after }),
    };
    const { data, next } = await readPage(page);
    rows.push(...data);
    if (next === null || rows.length >= MOST_SELECTED) {
      return {
        rows: rows.slice(0, MOST_SELECTED),
        isPart: false,
      };
    }
    after = next;
  }
  return {
    rows,
    isPart: true,
  };
}
