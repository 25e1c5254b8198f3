import { type Database } from '../../../../services/control/history/database';
import { recordDeletion } from '../../../../services/control/history/deletions';
import { FORMAT_HEADER } from '../../../../shared/model/record-format';
import { type ControlUnderTest, controlUnderTest } from '../../../support/control';
import { dropDeliveries, memoryDatabase } from '../../../support/database';
import { aDeath, anEvent, aWait } from '../../../support/events';
import { storeEvents } from '../../../support/store-events';

let database: Database;
let control: ControlUnderTest;
beforeAll(async () => {
  database = await memoryDatabase();
});
afterAll(() => database.close());
beforeEach(async () => {
  control = await controlUnderTest({ database });
  control.clock.now = new Date();
  await dropDeliveries(database);
});

const create = async (path: string, body: object) =>
  (await control.call('post', path).send(body).expect(201)).body.id as string;
const aDestination = (source: string, name: string, more = {}) =>
  create('/destinations', {
    name,
    sources: [source],
    webhooks: [{ url: 'https://example.com/hook' }],
    type: 'webhooks',
    enabled: true,
    ...more,
  });
const accept = (source: string, message: object) =>
  control.memory.append([
    {
      topic: 'messages',
      key: null,
      value: JSON.stringify({ type: 'track', timestamp: 't', event: 'Order', ...message }),
      headers: {
        format: FORMAT_HEADER,
        source,
        message: (message as { messageId: string }).messageId,
        'accepted-at': String(control.clock.now.getTime() - 1_000),
      },
    },
  ]);
const lookUp = (query: string) => control.call('get', `/lookup?${query}`);

test('a message names what became of it at each destination of its source', async () => {
  const source = await create('/sources', { name: 'Shop' });
  const got = await aDestination(source, 'got');
  const waits = await aDestination(source, 'waits');
  const resumed = await aDestination(source, 'resumed');
  const died = await aDestination(source, 'died');
  const pages = await aDestination(source, 'pages', { types: ['page'] });
  const cheap = await aDestination(source, 'cheap', { filter: 'properties.total < 10.0' });
  const late = await aDestination(source, 'late');
  accept(source, { messageId: 'm-1', userId: 'u-1', properties: { total: 50.5 } });
  const of = { message: 'm-1', source };
  const events = [
    anEvent({ ...of, delivery: 'd-1', destination: got }),
    aWait({ ...of, delivery: 'd-2', destination: waits, reason: 'circuit_open' }),
    aWait({ ...of, delivery: 'd-4', destination: resumed, reason: 'paused', n: 1 }),
    aDeath({ ...of, delivery: 'd-3', destination: died, reason: 'window_closed' }),
  ];
  await storeEvents(database, events);

  const { body } = await lookUp('message=m-1').expect(200);
  expect(body).toMatchObject({
    data: [{ message: 'm-1', source, type: 'track', event: 'Order' }],
    searched: { to: control.clock.now.toISOString(), complete: true },
    next: null,
  });
  const outcomes = (
    body.data[0].destinations as { id: string; outcome: string; reason: string }[]
  ).map(({ id, ...rest }) => [id, rest] as const);
  expect(Object.fromEntries(outcomes)).toEqual({
    [got]: {
      delivery: { id: 'd-1', status: 'delivered' },
      outcome: 'delivered',
      reason: null,
    },
    [waits]: {
      delivery: { id: 'd-2', status: 'held' },
      outcome: 'waiting',
      reason: 'circuit_open',
    },
    [resumed]: {
      delivery: { id: 'd-4', status: 'retrying' },
      outcome: 'waiting',
      reason: null,
    },
    [died]: {
      delivery: { id: 'd-3', status: 'dead' },
      outcome: 'dead',
      reason: 'window_closed',
    },
    [pages]: { delivery: null, outcome: 'not_matched', reason: 'type' },
    [cheap]: { delivery: null, outcome: 'not_matched', reason: 'filtered' },
    [late]: { delivery: null, outcome: 'unknown', reason: null },
  });
});

test('a lookup examines filters until its time is over', async () => {
  let [cpuMs, stepMs] = [0, 0];
  control = await controlUnderTest({ database, workClock: () => (cpuMs += stepMs) });
  control.clock.now = new Date();
  const source = await create('/sources', { name: 'Shop' });
  for (let i = 0; i < 5; i++) await aDestination(source, `cheap ${i}`, { filter: 'false' });
  const unfiltered = await aDestination(source, 'unfiltered');
  accept(source, { messageId: 'm-1', userId: 'u-1' });
  stepMs = 300;
  const { data } = (await lookUp('message=m-1').expect(200)).body;
  const filtered = { outcome: 'not_matched', reason: 'filtered' };
  const unknown = { outcome: 'unknown', reason: 'too_much_work' };
  const { destinations } = data[0];
  expect(destinations).toHaveLength(6);
  expect(destinations[0]).toMatchObject(filtered);
  expect(destinations[4]).toMatchObject(unknown);
  // It has nothing to examine.
  expect(destinations[5]).toEqual({
    id: unfiltered,
    delivery: null,
    outcome: 'unknown',
    reason: null,
  });
});

test('a message of a disabled source was dropped, and one of no destination has none', async () => {
  const source = await create('/sources', { name: 'Shop' });
  const destination = await aDestination(source, 'any');
  const alone = await create('/sources', { name: 'Alone' });
  await control.call('patch', `/sources/${source}`).send({ enabled: false }).expect(200);
  accept(source, { messageId: 'm-1', userId: 'u-1' });
  accept(alone, { messageId: 'm-2', userId: 'u-1' });
  const { data } = (await lookUp('user=u-1').expect(200)).body;
  expect(data).toMatchObject([
    { message: 'm-2', destinations: [] },
    {
      message: 'm-1',
      destinations: [{ id: destination, outcome: 'dropped', reason: 'source_off' }],
    },
  ]);
});

test('a deleted user is not found', async () => {
  accept('src_1', { messageId: 'm-1', userId: 'u-gone' });
  await recordDeletion(database, {
    id: 'del_1',
    at: control.clock.now.getTime(),
    users: ['u-gone'],
    anonymous: [],
    sources: null,
    affected: [],
    messages: 0,
  });
  for (const query of ['user=u-gone', 'message=m-1']) {
    expect((await lookUp(query).expect(200)).body.data).toEqual([]);
  }
});

test.each([
  ['', 'must be given'],
  ['message=a&user=b', 'only one of them'],
  ['message=a&after=rubbish', 'must be the `next` of a previous page'],
])('?%s is refused with a sentence', async (query, sentence) => {
  const { body } = await lookUp(query).expect(422);
  expect(JSON.stringify(body)).toContain(sentence);
});
