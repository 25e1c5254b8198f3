import { type Database } from '../../../../services/control/history/database';
import { recordAudit } from '../../../../services/control/history/audit';
import { storeEvents } from '../../../support/store-events';
import { MOST_COUNTED } from '../../../../shared/api/operation';
import { ALERTS_ID } from '../../../../shared/model/config';
import { type ControlUnderTest, controlUnderTest } from '../../../support/control';
import { memoryDatabase } from '../../../support/database';
import { aDeath, aFailure, anEvent, at, aWait } from '../../../support/events';

/** The number of all items beside a page of a list. */

let database: Database;
let control: ControlUnderTest;
beforeAll(async () => {
  database = await memoryDatabase();
  control = await controlUnderTest({ database });
  const events = [
    anEvent({ delivery: 'dlv_1' }),
    aFailure({ delivery: 'dlv_2', acceptedAt: at(1) }),
    aWait({ delivery: 'dlv_3', acceptedAt: at(2), destination: 'dst_2' }),
    aWait({
      delivery: 'dlv_3',
      reason: 'retry_requested',
      job: 'rpl_1',
      hop: 2,
      destination: 'dst_2',
    }),
    aDeath({ delivery: 'dlv_4', acceptedAt: at(3), at: at(60) }),
    aDeath({ delivery: 'dlv_5', acceptedAt: at(4), at: at(120) }),
  ];
  await storeEvents(database, events);
});
afterAll(() => database.close());

const get = (path: string) => control.get(path);

test.each([
  ['', 5],
  ['status=dead', 2],
  ['destination=dst_2', 1],
  ['destination=dst_1&status=dead', 2],
  ['user=user-1&destination=dst_1', 4],
  [`since=${at(2)}`, 3],
  [`status=dead&endedSince=${at(60)}&endedUntil=${at(120)}`, 1],
  // Delivered a second after its acceptance.
  [`status=delivered&endedSince=${at(1)}&endedUntil=${at(2)}`, 1],
  [`endedSince=${at(2)}`, 2],
  [`status=waiting&endedSince=${at(0)}`, 0],
  ['replay=rpl_1', 1],
  ['replay=rpl_2', 0],
  ['user=nobody', 0],
])('deliveries with the filter "%s" are counted: %d', async (filter, count) => {
  const { data, total } = await get(`/deliveries?${filter}&total=true`);
  expect(total).toEqual({ count, exact: true });
  expect(data).toHaveLength(count);
});

test('a list is counted only when requested, and a wrong value is refused', async () => {
  expect(await get('/deliveries')).not.toHaveProperty('total');
  expect((await control.call('get', '/deliveries?total=yes')).status).toBe(422);
});

test('counting stops at a limit, also of deliveries examined with combined filters', async () => {
  await database.query(
    `insert into waypost.deliveries (accepted_at, id, message, source, destination, type, user_id,
       status, expires_at, replay, hop, made, test, record, tries)
     select accepted_at + 10000 + n, 'many_' || n, message, source, 'dst_many', type,
       'user-' || n % 100, status, expires_at, replay, hop, made, test, record, tries
     from waypost.deliveries cross join generate_series(1, ${MOST_COUNTED + 50}) n
     where id = 'dlv_1'`,
  );
  const totalOf = async (filter: string) =>
    (await get(`/deliveries?${filter}&total=true&limit=1`)).total;
  const more = { count: MOST_COUNTED, exact: false };
  expect(await totalOf('destination=dst_many')).toEqual(more);
  expect(await totalOf('')).toEqual(more);
  // The user has fewer deliveries than the destination, so these are looked at.
  expect(await totalOf('destination=dst_many&user=user-7')).toEqual({ count: 101, exact: true });
  expect(await totalOf('destination=dst_many&type=page')).toEqual({ count: 0, exact: false });
  // Newer ones of another destination have the same status.
  expect(await totalOf('destination=dst_1&status=delivered')).toEqual({ count: 1, exact: true });
  // Of the conditions of one index, each may come first.
  const user = 'destination=dst_many&status=delivered&user=user-7';
  expect(await totalOf(user)).toEqual({ count: 101, exact: true });
  // The index still chooses them, and they have no response.
  expect(await totalOf(`${user}&code=2xx`)).toEqual({ count: 0, exact: true });
  expect(await totalOf('destination=dst_1&status=delivered&code=2xx')).toEqual({
    count: 1,
    exact: true,
  });
  // No index finds these: the newest deliveries are looked at, and not all of the history.
  for (const filter of ['attempted=false', 'counted=false', 'code=204', 'code=1xx']) {
    expect([filter, await totalOf(filter)]).toEqual([filter, { count: 0, exact: false }]);
  }
});

test('test sends and alerts are no traffic, and lists of what is counted omit them', async () => {
  const events = [
    anEvent({ delivery: 'dlv_real', destination: 'dst_tested' }),
    anEvent({ delivery: 'dlv_test', destination: 'dst_tested', test: true }),
    anEvent({ delivery: 'dlv_alert', destination: ALERTS_ID }),
  ];
  await storeEvents(database, events);
  const found = async (query: string) => {
    const { data } = await get(`/deliveries?limit=5&${query}`);
    return (data as { id: string }[]).map(({ id }) => id).toSorted();
  };
  expect(await found('destination=dst_tested')).toEqual(['dlv_real', 'dlv_test']);
  expect(await found('destination=dst_tested&counted=true')).toEqual(['dlv_real']);
  expect(await found('destination=dst_tested&status=delivered&counted=false')).toEqual([
    'dlv_test',
  ]);
  expect(await found(`destination=${ALERTS_ID}&counted=true`)).toEqual([]);
  expect(await found(`destination=${ALERTS_ID}&counted=false`)).toEqual(['dlv_alert']);
});

test('the overview counts what waits as lists find it, also after a pause', async () => {
  const { id } = await control.destination({ name: 'Paused', paused: true });
  const made = { destination: id as string, reason: 'paused' as const };
  const events = [
    aWait({ ...made, delivery: 'dlv_new' }),
    aFailure({ delivery: 'dlv_tried', destination: made.destination }),
    aWait({ ...made, delivery: 'dlv_tried', n: 1, hop: 1 }),
    aWait({ ...made, delivery: 'dlv_token', reason: 'token' }),
  ];
  await storeEvents(database, events);
  const counted = async () => {
    const { data } = await get('/overview');
    const row = (data as { destination: string }[]).find(({ destination }) => destination === id);
    const lists = ['waiting', 'retrying', 'held'].map(async (status) => {
      const { total } = await get(
        `/deliveries?destination=${made.destination}&status=${status}&total=true`,
      );
      return [status, total.count] as const;
    });
    expect(row).toMatchObject(Object.fromEntries(await Promise.all(lists)));
    return row;
  };
  expect(await counted()).toMatchObject({ waiting: 0, retrying: 0, held: 3 });
  await control.call('patch', `/destinations/${made.destination}`).send({ paused: false });
  expect(await counted()).toMatchObject({ waiting: 1, retrying: 1, held: 1 });
});

test('a delivery by a clock behind that of ingest is listed where it is counted', async () => {
  const early = anEvent({
    delivery: 'dlv_early',
    destination: 'dst_early',
    acceptedAt: at(200),
    at: at(199),
  });
  await storeEvents(database, [early]);
  const { data } = await get(
    `/deliveries?destination=dst_early&endedSince=${at(199)}&endedUntil=${at(200)}`,
  );
  expect(data).toMatchObject([{ id: 'dlv_early' }]);
});

test('the audit trail is found by time, and without sessions', async () => {
  const change = {
    kind: 'source' as const,
    entry: 'src_1',
    version: 1,
    at: Date.parse(at(10)),
    action: 'created' as const,
    name: 'Site',
    changes: [],
    by: { id: 'admin', name: 'Admin', role: 'admin' as const },
  };
  await recordAudit(database, [
    change,
    { ...change, kind: 'session', entry: 'ses_1', at: Date.parse(at(5)) },
  ]);
  const found = async (query: string) => (await get(`/audit?total=true&${query}`)).total.count;
  expect([await found(`since=${at(10)}&until=${at(11)}`), await found(`since=${at(11)}`)]).toEqual([
    1, 0,
  ]);
  expect(await found(`until=${at(5)}`)).toBe(0);
  expect([await found(''), await found('sessions=true'), await found('sessions=false')]).toEqual([
    2, 2, 1,
  ]);
  expect(await found('kind=session&sessions=false')).toBe(1);
  await database.query('delete from waypost.audit');
});

test('entries, the audit trail and notices are counted too', async () => {
  for (const name of ['One', 'Two']) await control.call('post', '/sources').send({ name });
  expect(await get('/sources?total=true&limit=1')).toMatchObject({
    total: { count: 2, exact: true },
  });
  for (const path of ['/audit', '/notices']) {
    expect(await get(`${path}?total=true`)).toMatchObject({ total: { count: 0, exact: true } });
  }
});
