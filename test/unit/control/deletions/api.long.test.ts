import { type Socket } from 'node:net';
import { createControlServer } from '../../../../services/control/app/http-server';
import { type Database } from '../../../../services/control/history/database';
import { type DeliveryEvent } from '../../../../shared/model/attempt-events';
import { Forgotten } from '../../../../services/control/history/deletions';
import { accessTo } from '../../../../shared/api/access';
import { storeEvents } from '../../../support/store-events';
import { AppError } from '../../../../shared/runtime/errors';
import { listen } from '../../../../shared/runtime/health';
import { ADMIN_TOKEN, type ControlUnderTest, controlUnderTest } from '../../../support/control';
import { memoryDatabase } from '../../../support/database';
import { eventually } from '../../../support/eventually';
import { anEvent, at } from '../../../support/events';
import { FORMAT_HEADER } from '../../../../shared/model/record-format';

let database: Database;
let control: ControlUnderTest;
beforeAll(async () => {
  database = await memoryDatabase();
});
afterAll(() => database.close());
beforeEach(async () => {
  control = await controlUnderTest({ database });
  control.clock.now = new Date(at(100));
  await database.query('truncate waypost.deliveries, waypost.responses');
  await database.query('delete from waypost.deletions');
});

const post = (body: object) => control.call('post', '/deletions').send(body);
const makeSource = async (over: object = {}) =>
  (await control.call('post', '/sources').send({ name: 'Site', ...over })).body.id as string;
const connect = (source: string, enabled: boolean) =>
  control.destination({ sources: [source], enabled });
const messages = () =>
  control.memory.records('messages').map(({ key, value, headers }) => ({
    key: key!.toString(),
    value: JSON.parse(value!.toString()) as Record<string, unknown>,
    source: headers.source!,
    headers: Object.fromEntries(
      Object.entries(headers).map(([name, each]) => [name, String(each)]),
    ),
  }));

test('a deletion sends one message to each source that is on with a destination on', async () => {
  const [on, two, off, alone, asleep] = [
    await makeSource(),
    await makeSource(),
    await makeSource({ enabled: false }),
    await makeSource(),
    await makeSource(),
  ];
  for (const source of [on, on, two, off]) await connect(source, true);
  await connect(asleep, false);
  const answer = await post({ userIds: ['kim', 'lee', 'kim'] });
  expect(answer.status).toBe(202);
  expect(answer.body).toMatchObject({
    users: 2,
    userIds: ['kim', 'lee'],
    sources: null,
    messages: 4,
  });
  expect(answer.body.affected.sort()).toEqual([on, two].sort());
  expect(answer.body.affected).not.toContain(alone);
  expect(
    messages()
      .map(({ source, value }) => `${source} ${String(value.userId)}`)
      .sort(),
  ).toEqual([`${on} kim`, `${on} lee`, `${two} kim`, `${two} lee`].sort());
});

test('the message of a deletion is accepted by the router like any other', async () => {
  const source = await makeSource();
  await connect(source, true);
  const { id, at: deletedAt } = (await post({ userIds: ['kim'] })).body;
  expect(messages()).toEqual([
    {
      key: `${source}:kim`,
      source,
      value: {
        type: 'delete',
        messageId: `${id}-0`,
        userId: 'kim',
        timestamp: deletedAt,
        receivedAt: deletedAt,
      },
      headers: {
        format: FORMAT_HEADER,
        source,
        message: `${id}-0`,
        'accepted-at': String(Date.parse(deletedAt as string)),
        traceparent: expect.stringMatching(/^00-/),
      },
    },
  ]);
});

test('a deletion is told to delivery and to the profiles, whatever sources exist', async () => {
  const { at: deletedAt, affected } = (
    await post({ userIds: ['kim', 'lee'], anonymousIds: ['visitor'] })
  ).body;
  const deletedAtMs = Date.parse(deletedAt as string);
  expect(affected).toEqual([]);
  const told = (topic: string) =>
    control.memory
      .records(topic)
      .map(({ key, value, headers }) => [
        key!.toString(),
        JSON.parse(value!.toString()) as object,
        headers.format,
      ]);
  const since = { at: deletedAtMs, sources: null };
  expect(told('deletions')).toEqual([
    ['kim', { userId: 'kim', ...since }, FORMAT_HEADER],
    ['lee', { userId: 'lee', ...since }, FORMAT_HEADER],
    ['visitor', { anonymousId: 'visitor', ...since }, FORMAT_HEADER],
  ]);
  expect(told('profiles.events')).toEqual([
    ['kim', { kind: 'delete', ...since }, FORMAT_HEADER],
    ['lee', { kind: 'delete', ...since }, FORMAT_HEADER],
  ]);
});

test('a deletion for some sources names them to delivery and to the profiles', async () => {
  const source = await makeSource();
  await post({ userIds: ['kim'], sources: [source] });
  for (const topic of ['deletions', 'profiles.events']) {
    const [record] = control.memory.records(topic);
    expect(JSON.parse(record!.value!.toString())).toMatchObject({ sources: [source] });
  }
});

test('the sources of audiences get no message, and a deletion may not name them', async () => {
  const source = await makeSource();
  const { id: destination } = await connect(source, true);
  const { source: own } = (
    await control.call('post', '/audiences').send({
      name: 'Pro',
      condition: 'user.traits.plan == "pro"',
      destinations: [destination],
    })
  ).body;
  expect(typeof own).toBe('string');
  expect((await post({ userIds: ['kim'] })).body).toMatchObject({
    affected: [source],
    messages: 1,
  });
  expect((await post({ userIds: ['kim'], sources: [own] })).status).toBe(422);
});

test('a deletion that takes longer than planned begins again with a later time', async () => {
  const source = await makeSource();
  await connect(source, true);
  // The clock passes the first planned time before the first write has ended.
  let isLate = false;
  Object.defineProperty(control.clock, 'now', {
    get: () => new Date(Date.parse(at(100)) + (isLate ? 300 : 0)),
  });
  control.memory.onAppend(() => (isLate = true));
  const { body } = await post({ userIds: ['kim'] });
  const times = control.memory
    .records('deletions')
    .map(({ value }) => (JSON.parse(value!.toString()) as { at: number }).at);
  expect(times.length).toBeGreaterThan(1);
  expect(Date.parse(body.at as string)).toBe(times.at(-1));
  expect(messages()).toHaveLength(1);
  expect((await control.get('/deletions')).data).toEqual([body]);
});

test('a connection stays open however long a deletion takes', async () => {
  let socket: Socket | undefined;
  const limits = new Set<unknown>();
  const { app } = await controlUnderTest({
    database: {
      ...database,
      transaction: (work) => {
        limits.add(socket?.timeout);
        return database.transaction(work);
      },
    },
  });
  const server = createControlServer(app, { maxConnections: 9 });
  server.on('connection', (opened) => (socket = opened));
  const port = await listen(server, 0, '127.0.0.1');
  limits.clear();
  const answer = await fetch(`http://127.0.0.1:${port}/api/v1/deletions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' },
    body: JSON.stringify({ userIds: ['kim'] }),
  });
  expect(answer.status).toBe(202);
  expect(limits).toEqual(new Set([0]));
  // The connection has a limit again once it was answered.
  await eventually(() => expect(socket?.timeout).toBeGreaterThan(0));
  server.closeAllConnections();
  server.close();
});

test("a deletion removes the users' rows of the named sources", async () => {
  const source = await makeSource();
  const about = [
    { delivery: 'd1', userId: 'kim', source },
    { delivery: 'd2', userId: 'kim', source: 'src_other' },
    { delivery: 'd3', userId: 'lee', source },
  ];
  await storeEvents(
    database,
    about.map((each) => anEvent(each)),
  );
  const left = async () =>
    ((await control.get('/deliveries')).data as { id: string }[]).map(({ id }) => id).sort();
  expect((await post({ userIds: ['kim'], sources: [source] })).body).toMatchObject({
    sources: [source],
    messages: 0,
  });
  expect(await left()).toEqual(['d2', 'd3']);
  await post({ userIds: ['kim'] });
  expect(await left()).toEqual(['d3']);
});

test('deletions are listed and shown', async () => {
  const userIds = Array.from({ length: 30 }, (_, i) => `user-${i}`);
  const first = (await post({ userIds })).body;
  control.clock.now = new Date(at(101));
  const second = (await post({ userIds: ['kim'] })).body;
  const list = await control.get('/deletions?limit=1');
  expect(list.data).toEqual([second]);
  const rest = await control.get(`/deletions?limit=1&after=${list.next}`);
  expect(rest).toMatchObject({ data: [{ id: first.id, users: 30 }], next: null });
  expect(rest.data[0].userIds).toHaveLength(20);
  expect((await control.get(`/deletions/${first.id}`)).userIds).toEqual(userIds);
  expect((await control.call('get', '/deletions/del_none')).status).toBe(404);
});

test('a deletion of visitors sends messages and removes their rows without a user id', async () => {
  const source = await makeSource();
  await connect(source, true);
  const { userId: _, ...anonymous } = anEvent({ delivery: 'd1', source, anonymousId: 'visitor' });
  const others = [
    anEvent({ delivery: 'd2', source, userId: 'visitor' }),
    { ...anonymous, delivery: 'd3', anonymousId: 'lee' },
  ];
  await storeEvents(database, [anonymous, ...others]);
  const answer = await post({ anonymousIds: ['visitor'] });
  expect(answer.body).toMatchObject({
    users: 0,
    visitors: 1,
    userIds: [],
    anonymousIds: ['visitor'],
    messages: 1,
  });
  expect(messages().map(({ key, value }) => [key, value.type, value.anonymousId])).toEqual([
    [`${source}:visitor`, 'delete', 'visitor'],
  ]);
  const { data } = (await control.get('/deliveries')) as { data: { id: string }[] };
  expect(data.map(({ id }) => id).sort()).toEqual(['d2', 'd3']);
});

test.each(['GET /deletions', 'GET /deletions/{id}'] as const)(
  '%s is for administrators, since it names users',
  (operation) => {
    expect(accessTo(operation).role).toBe('admin');
  },
);

test('a deletion accepts ids of 512 bytes', async () => {
  const [ascii, three] = ['x'.repeat(512), '重'.repeat(170)];
  expect((await post({ userIds: [ascii, three], anonymousIds: [ascii] })).status).toBe(202);
});

test.each([
  ['an id of 513 bytes', { userIds: ['x'.repeat(513)] }],
  ['a visitor of 513 bytes', { anonymousIds: [`${'重'.repeat(170)}xyz`] }],
  ['no users', {}],
  ['empty lists', { userIds: [] }],
  ['an empty id', { userIds: [''] }],
  ['too many users', { userIds: Array.from({ length: 5_001 }, (_, i) => `u${i}`) }],
  ['an unknown source', { userIds: ['kim'], sources: ['src_none'] }],
])('a deletion refuses %s', async (_, body) => {
  const answer = await post(body);
  expect(answer.status).toBe(422);
  expect(messages()).toEqual([]);
});

test('a deletion refuses more messages than one request may send', async () => {
  for (let i = 0; i < 11; i++) await connect(await makeSource(), true);
  const answer = await post({ userIds: Array.from({ length: 5_000 }, (_, i) => `u${i}`) });
  expect([answer.status, answer.body.errors[0].pointer]).toEqual([422, '#/userIds']);
});

test('a deletion sends nothing without history, and removes nothing without Kafka', async () => {
  const away = await controlUnderTest();
  expect((await away.call('post', '/deletions').send({ userIds: ['kim'] })).status).toBe(503);
  const source = await makeSource();
  await connect(source, true);
  control.memory.failWith(new AppError('kafka_unavailable', 'away', true));
  expect((await post({ userIds: ['kim'] })).status).toBe(503);
  expect((await control.get('/deletions')).data).toEqual([]);
});

test('later events of a deleted user are recognized by their time of acceptance', () => {
  const forgotten = new Forgotten();
  const deletion = {
    id: 'del_1',
    at: Date.parse(at(10)),
    users: ['kim'],
    anonymous: [],
    affected: [],
    messages: 0,
  };
  forgotten.add({ ...deletion, sources: null });
  forgotten.add({ ...deletion, users: ['lee'], anonymous: [], sources: ['src_1'] });
  const has = (event: DeliveryEvent) => forgotten.has(event, Date.parse(event.acceptedAt));
  const event = (userId: string, seconds: number, source = 'src_2') =>
    anEvent({ userId, acceptedAt: at(seconds), source });
  expect(has(event('kim', 9))).toBe(true);
  expect(has(event('kim', 10))).toBe(false);
  expect(has(event('lee', 9))).toBe(false);
  expect(has(event('lee', 9, 'src_1'))).toBe(true);
  expect(has(event('sam', 9))).toBe(false);
  const { userId: _, ...anonymous } = anEvent();
  expect(has(anonymous)).toBe(false);
  forgotten.add({ ...deletion, users: [], anonymous: ['visitor'], sources: null });
  expect(has({ ...anonymous, anonymousId: 'visitor' })).toBe(true);
  expect(has(anEvent({ userId: 'visitor' }))).toBe(false);
});

test('the debugger hides calls from before a deletion by another process', async () => {
  const source = await makeSource();
  control.memory.append([
    { topic: 'messages', key: null, value: '{"type":"track","userId":"kim"}', headers: { source } },
    { topic: 'messages', key: null, value: '{"type":"track","userId":"lee"}', headers: { source } },
  ]);
  const users = async () =>
    (
      (await control.get(`/events?source=${source}`)).data as {
        call: { userId: string };
      }[]
    )
      .map(({ call }) => call.userId)
      .sort();
  await eventually(async () => expect(await users()).toEqual(['kim', 'lee']));
  const other = await controlUnderTest({ database, memory: control.memory });
  other.clock.now = new Date(Date.now() + 60_000);
  await other.call('post', '/deletions').send({ userIds: ['kim'] });
  await eventually(async () => expect(await users()).toEqual(['lee']));
});

test('a clock that is set back meanwhile does not hold up the answer', async () => {
  const source = await makeSource();
  await connect(source, true);
  const isWritten = () => control.memory.records('deletions').length > 0;
  Object.defineProperty(control.clock, 'now', {
    get: () => new Date(isWritten() ? at(100 - 3_600) : at(100)),
  });
  expect((await post({ userIds: ['kim'] })).status).toBe(202);
});
