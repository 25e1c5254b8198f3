import { type Database } from '../../../../services/control/history/database';
import { addEventNames, MAX_NAMES } from '../../../../services/control/sources/store';
import { eventNamesHandler } from '../../../../services/control/sources/event-names';
import { type OutRecord } from '../../../../shared/kafka/port';
import { RESPONSES } from '../../../../shared/api/operations';
import { type ControlUnderTest, controlUnderTest } from '../../../support/control';
import { memoryDatabase } from '../../../support/database';
import { readerOf } from '../../../support/reader';
import { FORMAT_HEADER } from '../../../../shared/model/record-format';

/** Filters, blocked events, and their display in the debugger. */

let control: ControlUnderTest;
let source: string;
beforeEach(async () => {
  control = await controlUnderTest();
  source = (await control.call('post', '/sources').send({ name: 'Shop' })).body.id;
});

const AT = '2026-01-01T00:00:00.000Z';
const accept = (...calls: object[]) =>
  control.memory.append(
    calls.map((call, i) => ({
      topic: 'messages',
      key: `${source}:u`,
      value: JSON.stringify({
        type: 'track',
        messageId: `m${i}`,
        timestamp: AT,
        receivedAt: AT,
        userId: 'u',
        ...call,
      }),
      headers: {
        format: FORMAT_HEADER,
        source,
        message: `m${i}`,
        'accepted-at': '1',
        traceparent: '',
      },
    })),
  );
const make = async (over: object = {}) => {
  const webhooks = [{ url: 'https://a.example.com/' }];
  const body = {
    name: 'Hooks',
    type: 'webhooks',
    enabled: true,
    sources: [source],
    webhooks,
    ...over,
  };
  return control.call('post', '/destinations').send(body);
};
const ORDERS = 'event == "Order" && properties.total > 100';

describe('the filter of a destination', () => {
  test('a filter is set, shown, changed and removed', async () => {
    const made = await make({ filter: ORDERS });
    expect(made.body).toMatchObject({ filter: ORDERS });
    const path = `/destinations/${made.body.id}`;
    expect((await control.call('patch', path).send({ name: 'Other' })).body).toMatchObject({
      filter: ORDERS,
    });
    expect((await control.call('patch', path).send({ filter: 'type == "page"' })).body.filter).toBe(
      'type == "page"',
    );
    expect((await control.call('patch', path).send({ filter: null })).body.filter).toBeNull();
    expect((await make()).body.filter).toBeNull();
  });

  test.each([
    ['event = "Order"', 'line 1, column 7: "=" is unexpected here. To compare, write ==.'],
    [
      'type == "track" &&\nevnt == "x"',
      expect.stringMatching(/^line 2, column 1: Unknown name "evnt"/),
    ],
    ['properties.total + 1', expect.stringMatching(/must be true or false/)],
  ])('the filter %j is refused with its place', async (filter, detail) => {
    const answer = await make({ filter });
    expect(answer.status).toBe(422);
    expect(answer.body.errors).toEqual([{ pointer: '#/filter', detail }]);
    expect((await control.get('/destinations')).data).toEqual([]);
  });
});

describe('a filter trial', () => {
  const attempt = (body: object) => control.call('post', '/filters/try').send(body);
  beforeEach(() =>
    accept(
      { event: 'Order', properties: { total: 150 } },
      { event: 'Order', properties: { total: 50 } },
      { event: 'Order', properties: {} },
      { type: 'page', name: 'Cart' },
      { type: 'delete' },
    ),
  );

  test('a filter trial uses recent events, newest first', async () => {
    const { body, status } = await attempt({ filter: ORDERS });
    expect(status).toBe(200);
    expect(RESPONSES.Trial.parse(body)).toMatchObject({
      mistake: null,
      tried: 4,
      matched: 1,
      failed: 1,
      failures: [{ reason: 'there is no "total"', count: 1 }],
    });
    expect(
      body.results.map(({ name, outcome, reason }: Record<string, unknown>) => [
        name,
        outcome,
        reason,
      ]),
    ).toEqual([
      ['Cart', 'no_match', null],
      ['Order', 'failed', 'there is no "total"'],
      ['Order', 'no_match', null],
      ['Order', 'match', null],
    ]);
    expect((await attempt({ filter: ORDERS, limit: 2 })).body).toMatchObject({ tried: 1 });
    expect((await attempt({ filter: ORDERS, sources: ['src_other'] })).body).toMatchObject({
      tried: 0,
    });
  });

  test('a filter trial returns a mistake with its place', async () => {
    const { body, status } = await attempt({ filter: 'event ==' });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      mistake: { line: 1, column: 9, offset: 8, message: expect.any(String) },
      tried: 0,
    });
  });

  test.each([[{}], [{ filter: 1 }], [{ filter: 'true', limit: 501 }]])(
    'a filter trial with %j is refused',
    async (body) => {
      expect((await attempt(body)).status).toBe(422);
    },
  );

  test('a destination shows the results of its filter', async () => {
    const { body } = await make({ filter: 'properties.total > 100' });
    expect(await control.get(`/destinations/${body.id}/filter`)).toMatchObject({
      tried: 4,
      matched: 1,
      failed: 2,
      failures: [{ reason: 'there is no "total"', count: 2 }],
    });
    expect((await control.call('get', '/destinations/dst_none/filter')).status).toBe(404);
  });
});

test('the debugger shows where a call goes, and why it does not', async () => {
  const yes = (await make({ name: 'Yes', filter: 'event == "Order"' })).body.id as string;
  await make({ name: 'No', filter: 'event == "Other"' });
  await make({ name: 'Broken', filter: 'properties.total > 1' });
  await make({ name: 'Off', enabled: false });
  await make({ name: 'Pages', types: ['page'] });
  await make({ name: 'Unconnected', sources: [] });
  accept({ event: 'Order' }, { event: 'Noise' });
  await control.call('patch', `/sources/${source}`).send({ blockedEvents: ['Noise'] });
  const { body } = await control.call('get', '/events');
  expect(() => RESPONSES.Events.parse(body)).not.toThrow();
  const [noise, order] = body.data as {
    destinations: { destination: string; name: string; outcome: string }[];
  }[];
  const said = Object.fromEntries(
    order!.destinations.map(({ name, destination: _, ...rest }) => [name, rest]),
  );
  expect(said).toEqual({
    Yes: { outcome: 'routed' },
    No: { outcome: 'filtered' },
    Broken: { outcome: 'filter_failed', reason: 'there is no "total"' },
    Off: { outcome: 'off' },
    Pages: { outcome: 'type' },
  });
  expect(order!.destinations[0]!.destination).toBe(yes);
  expect(new Set(noise!.destinations.map(({ outcome }) => outcome))).toEqual(new Set(['blocked']));
});

describe('events of a source', () => {
  let database: Database;
  beforeAll(async () => (database = await memoryDatabase()));
  afterAll(() => database.close());
  beforeEach(async () => {
    await database.query('delete from waypost.seen_events');
    await database.query('delete from waypost.positions');
    control = await controlUnderTest({ database });
    source = (await control.call('post', '/sources').send({ name: 'Shop' })).body.id;
  });
  const events = () => control.get(`/sources/${source}/events`);

  test('event names of a source are counted and blocked', async () => {
    accept(
      { event: 'Order' },
      { event: 'Order' },
      { type: 'page', name: 'Cart', event: 'x' },
      { event: 'Noise' },
      {},
    );
    const body = await events();
    expect(() => RESPONSES.SourceEvents.parse(body)).not.toThrow();
    const seen = { lastSeenAt: expect.any(String), blocked: false };
    expect(body.data).toHaveLength(2);
    expect(body.data).toEqual(
      expect.arrayContaining([
        { name: 'Order', count: 2, ...seen },
        { name: 'Noise', count: 1, ...seen },
      ]),
    );
    const path = `/sources/${source}`;
    const blocked = await control
      .call('patch', path)
      .set('If-Match', '"1"')
      .send({ blockedEvents: ['Noise', 'Later', 'Noise'] });
    expect(blocked.body).toMatchObject({ blockedEvents: ['Noise', 'Later'], version: 2 });
    expect(
      (await control.call('patch', path).set('If-Match', '"1"').send({ blockedEvents: [] })).status,
    ).toBe(412);
    accept({ event: 'Noise' });
    expect((await events()).data).toEqual(
      expect.arrayContaining([
        { name: 'Noise', count: 2, lastSeenAt: expect.any(String), blocked: true },
        { name: 'Later', count: 0, lastSeenAt: null, blocked: true },
      ]),
    );
    const unblocked = await control.call('patch', path).send({ blockedEvents: null });
    expect(unblocked.body.blockedEvents).toEqual([]);
  });

  test.each([
    [['']],
    [['x'.repeat(501)]],
    ['Noise'],
    [Array.from({ length: 201 }, (_, i) => String(i))],
  ])('blocking %j is refused', async (blockedEvents) => {
    expect((await control.call('patch', `/sources/${source}`).send({ blockedEvents })).status).toBe(
      422,
    );
  });

  test('event names of an unknown source are not found', async () => {
    expect((await control.call('get', '/sources/src_none/events')).status).toBe(404);
  });

  const track = (event: string, headers: object = {}): OutRecord => ({
    topic: 'messages',
    key: 'k',
    value: JSON.stringify({ type: 'track', messageId: 'm', timestamp: AT, event }),
    headers: { source, ...headers },
  });
  const counting = () => {
    const history = { ask: <T>(work: (of: Database) => Promise<T>) => work(database) };
    return readerOf(
      eventNamesHandler(() => 0),
      { kafka: control.memory.kafka, history },
    );
  };
  const counts = async () =>
    Object.fromEntries(
      ((await events()).data as { name: string; count: number }[]).map(({ name, count }) => [
        name,
        count,
      ]),
    );

  test('records are not counted again after a restart', async () => {
    control.memory.append(Array.from({ length: 10 }, () => track('a')));
    await counting().poll();
    control.memory.append([track('a'), track('a')]);
    await counting().poll();
    expect(await counts()).toEqual({ a: 12 });
  });

  test('a name in the header counts, and without one the name is read from the call', async () => {
    control.memory.append([
      { ...track('in the call', { event: 'in the header' }), value: null },
      track('in the call'),
      track('x'.repeat(201)),
    ]);
    expect(await counts()).toEqual({ 'in the header': 1, 'in the call': 1, ['x'.repeat(201)]: 1 });
  });

  test('two processes that alternate count each record once, and each new name', async () => {
    const both = [counting(), counting()];
    for (let i = 0; i < 10; i++) {
      control.memory.append([track('a'), track(`new ${i}`)]);
      await both[i % 2]!.poll();
      // It has not seen that the other one read, and counts at its next turn.
      await both[(i + 1) % 2]!.poll();
    }
    for (const each of both) await each.poll();
    const names = Array.from({ length: 10 }, (_, i) => [`new ${i}`, 1] as const);
    expect(await counts()).toEqual({ a: 10, ...Object.fromEntries(names) });
  });

  test('the least recent names above the limit are dropped', async () => {
    const seen = Array.from({ length: MAX_NAMES + 10 }, (_, i) => ({
      source,
      name: `e${i}`,
      count: 1,
      lastAt: i,
    }));
    await database.transaction((transaction) => addEventNames(transaction, seen));
    const kept = await counts();
    expect(Object.keys(kept)).toHaveLength(MAX_NAMES);
    expect(kept).toHaveProperty(`e${MAX_NAMES + 9}`);
    expect(kept).not.toHaveProperty('e9');
  });
});
