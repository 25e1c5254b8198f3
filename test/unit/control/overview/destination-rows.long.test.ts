import { type Destination } from '../../../../shared/model/config';
import { MOST_OVERVIEW_ROWS } from '../../../../shared/api/operation';
import { shownOf } from '../../../../services/control/overview/destination-rows';
import { controlUnderTest } from '../../../support/control';
import { memoryDatabase } from '../../../support/database';

const NONE = {
  ids: undefined,
  destination: undefined,
  dead: [],
  open: [],
  failed: [],
  troubled: [],
  circuits: [],
};
const many = (count: number) =>
  Array.from({ length: count }, (_, i) => {
    const destination: Pick<Destination, 'id' | 'enabled'> = {
      id: `dst_${String(i)}`,
      enabled: i % 2 > 0,
    };
    return destination as Destination;
  });
const shown = (all: ReturnType<typeof many>, chosen: object) =>
  shownOf(all, { ...NONE, ...chosen }).map(({ id }) => id);

test('the overview keeps the order of few destinations', () => {
  expect(shown(many(MOST_OVERVIEW_ROWS), { troubled: ['dst_99'] })[0]).toBe('dst_0');
});

test('an overview has the chosen destination, those needing attention, and last those off', () => {
  const all = many(2 * MOST_OVERVIEW_ROWS);
  const of = (...ids: string[]) => ids.map((destination) => ({ destination }));
  const found = shown(all, {
    destination: 'dst_8',
    circuits: of('dst_91', 'dst_90'),
    open: of('dst_97', 'dst_93', 'dst_97'),
    troubled: ['dst_95'],
    failed: ['dst_93', 'dst_95'],
    // The second one is off.
    dead: ['dst_399', 'dst_398'],
  });
  expect(found.slice(0, 8)).toEqual([
    'dst_8',
    'dst_398',
    'dst_399',
    'dst_91',
    'dst_95',
    'dst_93',
    'dst_97',
    'dst_1',
  ]);
  expect(found).toHaveLength(MOST_OVERVIEW_ROWS);
  expect(found).not.toContain('dst_0');
});

test('GET /overview has named destinations, and the open deliveries of all or of one', async () => {
  const database = await memoryDatabase();
  const control = await controlUnderTest({ database });
  const made: string[] = [];
  for (const name of ['One', 'Two', 'Three']) {
    const body = { name, type: 'webhooks', sources: [], webhooks: [{ url: 'https://a.example/' }] };
    made.push(((await control.call('post', '/destinations').send(body)).body as { id: string }).id);
  }
  const [one, , three] = made;
  const get = async (query: string) => (await control.call('get', `/overview${query}`)).body;
  const rows = async (query: string) =>
    (await get(query)).data.map((row: { destination: string }) => row.destination);
  expect(await rows('')).toEqual(made);
  expect(await rows(`?ids=${three},${one}&trend=true`)).toEqual([one, three]);
  expect(await get('')).toMatchObject({
    destinations: 3,
    open: { waiting: 0, retrying: 0, held: 0 },
  });
  const tooMany = await control.call('get', `/overview?ids=${','.repeat(MOST_OVERVIEW_ROWS)}`);
  expect([tooMany.status, tooMany.body.errors]).toMatchObject([422, [{ parameter: 'ids' }]]);
  await database.close();
});
