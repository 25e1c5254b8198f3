import { type Session } from '../../../cli/command';
import { columnsWithHealth } from '../../../cli/output/destinations';
import { type Destination } from '../../../shared/api/operations';
import { MOST_OVERVIEW_ROWS } from '../../../shared/api/operation';

/** The list of destinations. */

test('the list shows the health of destinations, even more than an overview has', async () => {
  const rows = Array.from(
    { length: MOST_OVERVIEW_ROWS + 1 },
    (_, i) => ({ id: `dst_${String(i)}` }) as Destination,
  );
  const call = (_: string, { query }: { query: { ids: string } }) => {
    const ids = query.ids.split(',');
    if (ids.length > MOST_OVERVIEW_ROWS) throw new Error('the API refuses so many ids');
    return Promise.resolve({
      data: { data: ids.map((destination) => ({ destination, state: 'healthy' })) },
    });
  };
  const columns = await columnsWithHealth({ api: () => ({ call }) } as unknown as Session, rows);
  const health = columns.find(({ title }) => title === 'HEALTH');
  expect(rows.filter((row) => health?.of(row) !== 'healthy')).toEqual([]);
});
