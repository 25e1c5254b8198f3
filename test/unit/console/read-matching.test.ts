import { readMatching } from '../../../console/src/deliveries/read-matching';
import { type Deliveries } from '../../../shared/api/operations';

/** Pages of so many deliveries each; the last page repeats. */
function pagesOf(lengths: number[], { ends }: { ends: boolean }) {
  const asked: (string | undefined)[] = [];
  const readPage = ({ after }: { after?: string }) => {
    const at = asked.push(after) - 1;
    const isLast = at >= lengths.length - 1;
    const data = Array.from({ length: lengths[at] ?? 0 }, (_, i) => ({ id: `${at}-${i}` }));
    return Promise.resolve({
      data: data as Deliveries['data'],
      next: ends && isLast ? null : `after-${at}`,
    });
  };
  return { asked, readPage };
}

test.each<[string, number[], boolean, { rows: number; pages: number; isPart: boolean }]>([
  ['one page', [7], true, { rows: 7, pages: 1, isPart: false }],
  ['empty pages before the last', [0, 0, 3], true, { rows: 3, pages: 3, isPart: false }],
  ['more than a selection holds', [200, 300, 900], false, { rows: 1_000, pages: 3, isPart: false }],
  ['hardly any, in a long past', [1, 0, 2], false, { rows: 3, pages: 20, isPart: true }],
])('reads %s', async (_, lengths, ends, expected) => {
  const { asked, readPage } = pagesOf(lengths, { ends });
  const { rows, isPart } = await readMatching(readPage);
  expect({ rows: rows.length, pages: asked.length, isPart }).toEqual(expected);
  expect(asked.slice(0, 2)).toEqual([undefined, 'after-0'].slice(0, expected.pages));
});

test('reads no further page after one that was aborted', async () => {
  const { asked, readPage } = pagesOf([0], { ends: false });
  const aborting = (page: { after?: string }) =>
    asked.length === 2 ? Promise.reject(new Error('aborted')) : readPage(page);
  await expect(readMatching(aborting)).rejects.toThrow('aborted');
  expect(asked).toHaveLength(2);
});
