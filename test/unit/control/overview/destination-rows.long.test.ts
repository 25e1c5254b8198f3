import { listOf } from '../../../../console/src/lib/series';
import { ALERTS_ID, type Destination } from '../../../../shared/model/config';
import { MOST_OVERVIEW_ROWS } from '../../../../shared/api/operation';
import { shownOf } from '../../../../services/control/overview/destination-rows';
import { type DeliveryEvent } from '../../../../shared/model/attempt-events';
import { controlUnderTest } from '../../../support/control';
import { memoryDatabase } from '../../../support/database';
import { aCancellation, aDeath, anEvent, at, aUrl, aWait } from '../../../support/events';
import { storeEvents } from '../../../support/store-events';

const NONE = {
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
    made.push((await control.destination({ name })).id as string);
  }
  const [one, , three] = made;
  const get = (query: string) => control.get(`/overview${query}`);
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

const HOUR = 3_600;

test('each figure of the overview leads to a list of as many deliveries', async () => {
  const database = await memoryDatabase();
  const control = await controlUnderTest({ database });
  const { id } = (await control.destination()) as { id: string };
  let deliveries = 0;
  /** accepted and ended these seconds after the start of the history */
  const own = (acceptedAt: number, endedAt: number, over: object = {}) => ({
    delivery: `dlv_${String(++deliveries)}`,
    destination: id,
    acceptedAt: at(acceptedAt),
    at: at(endedAt),
    ...over,
  });
  const urls = [aUrl({ url: 'whk_1' }), aUrl({ url: 'whk_2', outcome: 'rejected', status: 404 })];
  const events: DeliveryEvent[] = [
    anEvent(own(0, 1)),
    anEvent(own(3 * HOUR, 3 * HOUR + 60)),
    // Accepted before the time, and ended within it.
    anEvent(own(0, 3 * HOUR + 60)),
    anEvent(own(0, 3 * HOUR + 60, { urls })),
    aDeath(own(0, 3 * HOUR + 60)),
    aDeath(own(1, 3 * HOUR + 120, { reason: 'render_failed' })),
    aDeath(own(0, 60)),
    aCancellation(own(0, 3 * HOUR + 60)),
    aCancellation(own(0, 3 * HOUR + 60)),
    aWait(own(0, 1)),
    // No traffic.
    anEvent(own(3 * HOUR, 3 * HOUR + 60, { test: true })),
    aDeath(own(3 * HOUR, 3 * HOUR + 60, { test: true })),
    aWait(own(3 * HOUR, 3 * HOUR + 60, { test: true })),
    anEvent(own(3 * HOUR, 3 * HOUR + 60, { destination: ALERTS_ID })),
  ];
  await storeEvents(database, events);
  control.clock.now = new Date(at(4 * HOUR));
  const get = (path: string) => control.get(path);
  const { since, totals, open, data } = await get(`/overview?since=${at(3 * HOUR)}`);
  expect([totals, open]).toMatchObject([
    { delivered: 3, partlyDelivered: 1, dead: 2, cancelled: 2 },
    { held: 1 },
  ]);
  const lengthOf = async (...link: Parameters<typeof listOf>) =>
    (await get(listOf(...link))).data.length;
  for (const only of ['', id]) {
    expect({
      delivered: await lengthOf(only, { since }, 'delivered'),
      partlyDelivered: await lengthOf(only, { since }, 'partly_delivered'),
      dead: await lengthOf(only, { since }, 'dead'),
      cancelled: await lengthOf(only, { since }, 'cancelled'),
      held: await lengthOf(only, {}, 'held'),
    }).toEqual({ delivered: 3, partlyDelivered: 1, dead: 2, cancelled: 2, held: 1 });
  }
  // The newest dead letter of the time says why something was lost.
  expect(data).toMatchObject([{ dead: 2, lastDead: { at: at(3 * HOUR + 120) } }]);
  await database.close();
});
