import { firstSorted, pageOfEntries } from '../../../../services/control/http/paging';

const query = { limit: 3, after: undefined, total: undefined };
const view = ({ data }: { data: { id: string } }) => data.id;
const entriesOf = (ids: string[]) => ids.map((id) => ({ data: { id } }));

test("pages follow the order of ids, whatever the list's, and leave out hidden entries", () => {
  const entries = entriesOf(['e', 'b', 'hidden', 'a', 'd', 'c']);
  const page = (after?: string) => {
    return pageOfEntries(
      entries,
      { ...query, after, total: true },
      view,
      ({ data }) => data.id !== 'hidden',
    );
  };
  expect(page()).toEqual({ data: ['a', 'b', 'c'], next: 'c', total: { count: 5, exact: true } });
  expect(page('c')).toEqual({ data: ['d', 'e'], next: null, total: { count: 5, exact: true } });
  // The entry that the client saw last was deleted meanwhile.
  expect(page('bb').data).toEqual(['c', 'd', 'e']);
  expect(page('z')).toMatchObject({ data: [], next: null });
});

test('a further page of a long list reads few entries', () => {
  let reads = 0;
  const entries = Array.from({ length: 10_000 }, (_, i) => ({
    data: {
      get id() {
        reads++;
        return String(i).padStart(5, '0');
      },
    },
  }));
  const { next } = pageOfEntries(entries, query, view);
  reads = 0;
  expect(pageOfEntries(entries, { ...query, after: next ?? '' }, view).data).toEqual([
    '00003',
    '00004',
    '00005',
  ]);
  expect(reads).toBeLessThan(40);
});

test('the first items of a long list are found without sorting all', () => {
  const items = Array.from({ length: 10_000 }, (_, i) => (i * 7_919) % 10_007);
  let compared = 0;
  const first = firstSorted(items, 51, (a, b) => {
    compared++;
    return a - b;
  });
  expect(first).toEqual(items.toSorted((a, b) => a - b).slice(0, 51));
  expect(compared).toBeLessThan(15_000);
  // Equal ones keep their order.
  const even = (a: number, b: number) => (a % 2) - (b % 2);
  expect(firstSorted([3, 2, 4, 1, 6], 9, even)).toEqual([2, 4, 6, 3, 1]);
  expect(firstSorted([], 3, even)).toEqual([]);
});
