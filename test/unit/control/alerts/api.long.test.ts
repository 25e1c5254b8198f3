import { type Database } from '../../../../services/control/history/database';
import { storeEvents } from '../../../support/store-events';
import { parseNotes } from '../../../../services/control/history/audit';
import { type DeliveryEvent, filterDigest } from '../../../../shared/model/attempt-events';
import { decodeDelivery, type Delivery } from '../../../../shared/model/delivery';
import { AppError } from '../../../../shared/runtime/errors';
import { type OpenRecord } from '../../../../shared/kafka/port';
import { type ControlUnderTest, controlUnderTest } from '../../../support/control';
import { memoryLog } from '../../../support/memory-log';
import { memoryDatabase } from '../../../support/database';
import { type Json } from '../../../../tools/harness/api';
import { makeCertificate } from '../../../support/certificate';
import { aDeath, aFailure, anEvent, at, aUrl, START } from '../../../support/events';

/** Tests settings, notices and alerts on a real database. */

let database: Database;
let control: ControlUnderTest;
/** whether the deliveries in the database are complete */
let isHistoryRead = false;
const historyHasRead = () => isHistoryRead;
beforeAll(async () => {
  database = await memoryDatabase();
});
afterAll(() => database.close());
beforeEach(async () => {
  for (const table of ['health', 'notices', 'positions', 'leases', 'facts']) {
    await database.query(`delete from waypost.${table}`);
  }
  isHistoryRead = false;
  control = await controlUnderTest({ database, historyHasRead });
  control.clock.now = new Date(START);
});

const URL = 'https://ops.example/alerts?token=planted';
const set = (body: object) => control.call('patch', '/alerts').send(body);
const get = (path: string) => control.get(path);
const makeDestination = async (over: object = {}) =>
  (await control.destination({ enabled: true, ...over })).id as string;
let deliveries = 0;
const record = (...events: DeliveryEvent[]) =>
  control.memory.append(
    events.map((event) => ({ topic: 'attempts', key: 'k', value: JSON.stringify(event) })),
  );
/** A receiver wants nothing more at a URL. */
const disabled = (destination: string, webhook: string, seconds: number, over: object = {}) =>
  control.memory.append([
    {
      topic: 'attempts',
      key: destination,
      value: JSON.stringify({
        kind: 'url_disabled',
        destination,
        webhook,
        enables: 0,
        reason: 'gone',
        at: at(seconds),
        ...over,
      }),
    },
  ]);
const webhookOf = async (id: string, i = 0) => (await get(`/destinations/${id}`)).webhooks[i];
/** The first failure of a delivery. */
const fails = (destination: string, seconds: number): DeliveryEvent =>
  aFailure({
    delivery: `dlv_${++deliveries}`,
    destination,
    at: at(seconds),
    nextAttemptAt: at(seconds),
  });
const succeeds = (destination: string, seconds: number): DeliveryEvent =>
  anEvent({ delivery: `dlv_${++deliveries}`, destination, at: at(seconds) });
interface Sent {
  key: string;
  delivery: Delivery | undefined;
  body: Json;
}
const look = async (seconds: number) => {
  control.clock.now = new Date(at(seconds));
  await control.alerts.poll();
};
const sent = (): Sent[] =>
  control.memory.records('webhooks').map(({ key, value, headers }) => {
    const decoded = decodeDelivery(headers);
    const delivery = decoded.kind === 'delivery' ? decoded.delivery : undefined;
    return { key: key!.toString(), delivery, body: JSON.parse(value!.toString()) };
  });
const types = () => sent().map(({ body }) => body.type);

describe('/alerts', () => {
  test('the alert settings have defaults until somebody changes them', async () => {
    const answer = await control.call('get', '/alerts');
    expect(answer.headers.etag).toBe('"0"');
    expect(answer.body).toMatchObject({
      enabled: true,
      webhooks: [],
      hasSharedSecret: false,
      version: 0,
      failingFor: '30m',
      deadLettersEvery: '1h',
      switchOffAfter: null,
    });
  });

  test('webhooks of alerts have formats, which stay until a request names others', async () => {
    const webhooks = [{ url: URL, format: 'slack' }, { url: 'https://ops.example/raw' }];
    const first = await set({ webhooks });
    expect(first.body.webhooks.map(({ format }: Json) => format)).toEqual(['slack', 'default']);
    await set({ webhooks: [{ url: 'https://ops.example/raw', format: 'teams' }, { url: URL }] });
    expect((await get('/alerts')).webhooks.map(({ format }: Json) => format)).toEqual([
      'teams',
      'slack',
    ]);
    expect((await set({ webhooks: [{ url: URL, format: 'fax' }] })).body.errors[0].pointer).toBe(
      '#/webhooks/0/format',
    );
  });

  test('the format pagerduty needs a routing key, which may be a stored one', async () => {
    const webhook = { url: 'https://events.pagerduty.example/v2/enqueue', format: 'pagerduty' };
    const bearer = { type: 'bearer', token: 'planted-token' };
    for (const fields of [{}, { auth: bearer }]) {
      const refused = await set({ webhooks: [{ url: URL }, { ...webhook, ...fields }] });
      expect([refused.status, refused.body.errors]).toEqual([
        422,
        [{ pointer: '#/webhooks/1/auth', detail: expect.stringContaining('routingKey') as string }],
      ]);
    }
    expect((await get('/alerts')).version).toBe(0);
    const auth = { type: 'pagerduty', routingKey: 'planted-key' };
    const stored = await set({ webhooks: [{ ...webhook, auth }] });
    expect(stored.status).toBe(200);
    const [{ id }] = stored.body.webhooks as [{ id: string }];
    const kept = { ...auth, routingKey: { keep: true } };
    expect((await set({ webhooks: [{ id, url: webhook.url, auth: kept }] })).status).toBe(200);
    expect((await set({ webhooks: [{ id, url: webhook.url }] })).status).toBe(422);
  });

  test('e-mail addresses are validated, and refused without a mail server', async () => {
    expect((await set({ email: ['ops@example.com', 'ops@example.com'] })).body.email).toEqual([
      'ops@example.com',
    ]);
    expect((await set({ email: ['nobody'] })).body.errors[0].pointer).toBe('#/email/0');
    expect((await set({ email: null })).body.email).toEqual([]);
    control = await controlUnderTest({ database, sendsMail: false });
    const refused = await set({ email: ['ops@example.com'] });
    expect([refused.status, refused.body.errors[0].detail]).toEqual([
      422,
      expect.stringContaining('WAYPOST_SMTP_URL'),
    ]);
  });

  test('PATCH /alerts changes single fields and checks versions', async () => {
    const webhooks = [{ url: URL, headers: { 'X-Key': 'planted-header' } }];
    const first = await set({ webhooks, sharedSecret: 'planted-secret', switchOffAfter: '5d' });
    expect([first.status, first.headers.etag]).toEqual([200, '"1"']);
    expect(first.body).toMatchObject({
      webhooks: [{ url: URL, headers: { 'X-Key': { keep: true } } }],
      hasSharedSecret: true,
      failingFor: '30m',
      switchOffAfter: '5d',
    });
    expect((await set({ failingFor: '10m' }).set('If-Match', '"0"')).status).toBe(412);
    const second = await set({
      failingFor: '10m',
      switchOffAfter: null,
      webhooks: first.body.webhooks,
    });
    expect(second.body).toEqual({
      ...first.body,
      failingFor: '10m',
      switchOffAfter: null,
      version: 2,
    });
    expect((await set({ webhooks: null, sharedSecret: null })).body).toMatchObject({
      webhooks: [],
      hasSharedSecret: false,
      failingFor: '10m',
    });
    expect((await control.call('patch', '/alerts').set('If-Match', '"9"').send({})).status).toBe(
      412,
    );
  });

  test('PATCH /alerts names every bad field and changes nothing', async () => {
    const answer = await set({
      webhooks: [
        { url: 'ftp://a.example/', headers: { Host: 'x' } },
        { id: 'whk_x', url: 'https://b.example/' },
      ],
      sharedSecret: '',
      failingFor: '10',
      deadLettersEvery: '0s',
      switchOffAfter: '1y',
      sources: [],
    });
    expect(answer.status).toBe(422);
    const pointers = (answer.body.errors as { pointer: string }[])
      .map(({ pointer }) => pointer)
      .sort();
    expect(pointers).toEqual(
      [
        ...['deadLettersEvery', 'failingFor', 'sharedSecret', 'sources', 'switchOffAfter'].map(
          (field) => `#/${field}`,
        ),
        '#/webhooks/0/headers/Host',
        '#/webhooks/0/url',
        '#/webhooks/1/id',
      ].sort(),
    );
    expect((await get('/alerts')).version).toBe(0);
  });

  test('/alerts never shows secrets', async () => {
    await set({
      webhooks: [{ url: URL, headers: { 'X-Key': 'planted-header' } }],
      sharedSecret: 'planted-secret',
    });
    const operator = await control.as('operator');
    const seen = (await operator('get', '/alerts')).body;
    expect(seen.webhooks[0].url).toBe('https://ops.example');
    const records = control.memory
      .records('config')
      .map(({ value, headers }) => `${String(value)} ${headers.note}`);
    expect([JSON.stringify(seen), control.logged(), ...records].join()).not.toMatch(
      /planted-(header|secret)|token=/,
    );
    expect((await operator('patch', '/alerts').send({ failingFor: '1h' })).status).toBe(403);
  });

  test('the destination of alerts is neither listed nor found by its id', async () => {
    await set({ webhooks: [{ url: URL }] });
    const id = await makeDestination();
    expect((await get('/destinations')).data.map((each: { id: string }) => each.id)).toEqual([id]);
    expect((await get('/overview')).data).toHaveLength(1);
    const calls = [
      control.call('get', '/destinations/alerts'),
      control.call('patch', '/destinations/alerts').send({ enabled: false }),
      control.call('delete', '/destinations/alerts'),
      control.call('post', '/destinations/alerts/test').send({}),
    ];
    for (const call of calls) expect((await call).status).toBe(404);
  });

  test('the alert secret rotates like the secret of a destination', async () => {
    await set({ sharedSecret: 'planted-secret' });
    const { body, status } = await control
      .call('post', '/alerts/rotate-secret')
      .send({ overlap: '1h' });
    expect([status, body.sharedSecret]).toEqual([200, expect.stringMatching(/^whsec_/)]);
    expect(body.secretRotation).toMatchObject({ overlapUntil: at(3_600) });
    expect(await get('/alerts')).not.toHaveProperty('sharedSecret');
    const operator = await control.as('operator');
    expect((await operator('post', '/alerts/rotate-secret')).status).toBe(403);
  });

  test('an alert test sends a sample alert if alerts have a URL', async () => {
    const hasty = await controlUnderTest({ database, historyHasRead, timeoutMs: -9_990 });
    expect((await hasty.call('post', '/alerts/test')).status).toBe(409);
    await hasty.call('patch', '/alerts').send({ webhooks: [{ url: URL }] });
    // Nothing delivers here, so the test is sent and times out.
    expect((await hasty.call('post', '/alerts/test')).status).toBe(504);
    const [record] = hasty.memory.records('webhooks');
    expect(record!.headers).toMatchObject({ destination: 'alerts', test: '1' });
    expect(JSON.parse(record!.value!.toString())).toMatchObject({ type: 'destination.failing' });
  });

  test('a change of the alert settings is in the audit trail', async () => {
    await set({ failingFor: '5m' });
    await set({ failingFor: '10m' });
    const notes = control.memory
      .records('config')
      .flatMap((each) => parseNotes(each as OpenRecord));
    expect(notes.at(-1)).toMatchObject({
      kind: 'destination',
      entry: 'alerts',
      action: 'changed',
      by: { id: 'admin' },
      changes: [{ field: 'failingFor', from: '5m', to: '10m' }],
    });
  });
});

describe('a failing destination', () => {
  beforeEach(() => set({ webhooks: [{ url: URL }], failingFor: '1m', deadLettersEvery: '1h' }));

  test.each<[string, (id: string) => PromiseLike<unknown>]>([
    [
      'switches a failing destination off',
      (id) => control.call('patch', `/destinations/${id}`).send({ enabled: false }),
    ],
    ['deletes a failing destination', (id) => control.call('delete', `/destinations/${id}`)],
  ])(
    'somebody who %s resolves its incident at PagerDuty, and no other alert is sent',
    async (_, end) => {
      const auth = { type: 'pagerduty', routingKey: 'planted-key' };
      const pager = {
        url: 'https://events.pagerduty.example/v2/enqueue',
        format: 'pagerduty',
        auth,
      };
      await set({ webhooks: [{ url: URL }, pager] });
      const id = await makeDestination();
      record(fails(id, 0), fails(id, 61));
      await look(61);
      expect(sent()).toHaveLength(2);
      await end(id);
      await look(70);
      await look(71);
      const later = sent().slice(2);
      expect(later.map(({ body }) => [body.event_action, body.dedup_key])).toEqual([
        ['resolve', `waypost/${id}`],
      ]);
      expect((await get('/notices')).data).toMatchObject([
        { kind: 'failing', endedAt: at(70), alert: 'sent' },
      ]);
    },
  );

  test('a failure and its recovery raise one alert each, also with several processes', async () => {
    const id = await makeDestination();
    const events = [fails(id, 0), fails(id, 30)];
    record(...events);
    await look(30);
    expect(sent()).toEqual([]);
    const last = fails(id, 61);
    record(last);
    await look(61);
    const second = await controlUnderTest({ database, historyHasRead, memory: control.memory });
    second.clock.now = new Date(at(70));
    record(...events, last);
    await second.alerts.poll();
    expect(types()).toEqual(['destination.failing']);
    record(succeeds(id, 90));
    await second.alerts.poll();
    await look(91);
    expect(types()).toEqual(['destination.failing', 'destination.recovered']);
    expect(sent()[0]).toMatchObject({
      key: 'alerts:0',
      delivery: {
        destinationId: 'alerts',
        sourceId: 'waypost',
        acceptedAt: START + 61_000,
        attempt: 0,
      },
      body: {
        timestamp: at(61),
        data: {
          destination: id,
          name: 'Hooks',
          since: at(0),
          failures: 3,
          error: 'https://a.example: HTTP 503',
        },
      },
    });
    expect(sent()[1]!.body.data).toMatchObject({ since: at(0), recoveredAt: at(90) });
    const { data } = await get('/notices');
    expect(data).toMatchObject([
      {
        kind: 'recovered',
        destination: id,
        endedAt: at(90),
        alert: 'sent',
        delivery: sent()[1]!.delivery!.id,
      },
      { kind: 'failing', since: at(0), endedAt: at(90), failures: 3 },
    ]);
  });

  test("a destination raises no alert before the topic's end, as success may follow", async () => {
    const id = await makeDestination();
    record(fails(id, 0), fails(id, 61));
    const { read } = control.memory.kafka;
    control.memory.kafka.read = () =>
      Promise.reject(new AppError('kafka_unavailable', 'throttled', true));
    await expect(look(61)).rejects.toMatchObject({ code: 'kafka_unavailable' });
    await expect(look(600)).rejects.toMatchObject({ code: 'kafka_unavailable' });
    expect(await get('/notices')).toMatchObject({ data: [] });
    control.memory.kafka.read = read;
    record(succeeds(id, 50));
    await look(601);
    expect(await get('/notices')).toMatchObject({ data: [] });
  });

  test('the process with the lease sends the alerts, and the next one after its stop', async () => {
    const id = await makeDestination();
    const lease = (owner: string) =>
      database.query(
        `insert into waypost.leases values ('alerts', $1, 9e15)
         on conflict (name) do update set owner = excluded.owner, until = excluded.until`,
        [owner],
      );
    record(fails(id, 0), fails(id, 61));
    await look(61);
    expect(types()).toEqual(['destination.failing']);
    await lease('another');
    await control.alerts.stop();
    expect(await database.query('select owner from waypost.leases')).toEqual([
      { owner: 'another' },
    ]);
  });

  test('an alert is sent with the same id when Kafka is back', async () => {
    const id = await makeDestination();
    record(fails(id, 0), fails(id, 61));
    control.memory.failWith(new AppError('kafka_unavailable', 'away', true));
    await expect(look(61)).rejects.toThrow('away');
    const due = await get('/notices');
    expect(due.data).toMatchObject([{ kind: 'failing', alert: 'due', delivery: null }]);
    const later = await controlUnderTest({ database, historyHasRead, memory: control.memory });
    control.memory.failWith(undefined);
    later.clock.now = new Date(at(100));
    await later.alerts.poll();
    await later.alerts.poll();
    expect(sent().map(({ delivery }) => delivery!.messageId)).toEqual([due.data[0].id]);
  });

  test("a destination switched off before its alert only gets PagerDuty's resolve", async () => {
    const auth = { type: 'pagerduty', routingKey: 'planted-key' };
    const pager = { url: 'https://events.pagerduty.example/v2/enqueue', format: 'pagerduty', auth };
    await set({ webhooks: [{ url: URL }, pager] });
    const id = await makeDestination();
    record(fails(id, 0), fails(id, 61));
    control.memory.failWith(new AppError('kafka_unavailable', 'away', true));
    await expect(look(61)).rejects.toThrow('away');
    control.memory.failWith(undefined);
    await control.call('patch', `/destinations/${id}`).send({ enabled: false });
    await look(70);
    expect(sent().map(({ body }) => [body.event_action, body.dedup_key])).toEqual([
      ['resolve', `waypost/${id}`],
    ]);
  });

  test('a failing destination raises a notice without an alert if alerts have no URL', async () => {
    await set({ enabled: false });
    const id = await makeDestination();
    record(fails(id, 0), fails(id, 61));
    await look(61);
    await set({ enabled: true });
    await look(62);
    expect(sent()).toEqual([]);
    expect((await get('/notices')).data).toMatchObject([
      { kind: 'failing', alert: 'none', delivery: null },
    ]);
  });
});

test('dead letters that were replayed in the meantime raise no alert', async () => {
  await set({ webhooks: [{ url: URL }], deadLettersEvery: '10m' });
  const id = await makeDestination();
  const died = [1, 2, 3].map((i) =>
    aDeath({ delivery: `dead_${i}`, destination: id, acceptedAt: at(0), at: at(i) }),
  );
  const delivered = (event: DeliveryEvent) =>
    anEvent({
      delivery: event.delivery,
      destination: id,
      acceptedAt: at(0),
      replay: 1,
      at: at(60),
    });
  record(died[0]!);
  await look(1);
  record(...died.slice(1));
  await look(5);
  isHistoryRead = true;
  await storeEvents(database, [...died, delivered(died[1]!)]);
  await look(601);
  expect(sent().map(({ body }) => body.data.deadLetters as number)).toEqual([1, 1]);
  record(aDeath({ delivery: 'dead_4', destination: id, acceptedAt: at(0), at: at(602) }));
  await look(1_201);
  expect(sent()).toHaveLength(2);
});

describe('a notice about dead letters', () => {
  const died = (id: string, ...seconds: number[]) =>
    seconds.map((second) =>
      aDeath({
        delivery: `dead_${id}_${String(second)}`,
        destination: id,
        acceptedAt: at(0),
        at: at(second),
      }),
    );
  const replayed = (events: readonly DeliveryEvent[], seconds: number) =>
    events.map(({ delivery, destination }) =>
      anEvent({ delivery, destination, acceptedAt: at(0), replay: 1, at: at(seconds) }),
    );
  const store = (...events: DeliveryEvent[]) => storeEvents(database, events);
  const open = async () => (await get('/notices?open=true')).data as Json[];
  beforeEach(async () => {
    await database.query('delete from waypost.deliveries');
    isHistoryRead = true;
    await set({ webhooks: [{ url: URL }], deadLettersEvery: '10m' });
  });

  test('counts what is dead now, leads to it, and ends once nothing is', async () => {
    const id = await makeDestination();
    const [first, ...more] = died(id, 1, 2, 3, 4);
    record(first!);
    await store(first!);
    await look(1);
    record(...more);
    await store(...more);
    await look(12);
    expect(await open()).toMatchObject([
      {
        kind: 'dead_letters',
        origin: 'https://a.example',
        count: 4,
        deliveries: { destination: id, status: 'dead', counted: true },
        endedAt: null,
      },
    ]);
    const { deliveries: named } = (await open())[0]!;
    const query = new URLSearchParams(named).toString();
    expect((await get(`/deliveries?${query}&limit=9`)).data).toHaveLength(4);
    await store(...replayed(more, 20));
    await look(23);
    expect(await open()).toMatchObject([{ count: 1, endedAt: null }]);
    isHistoryRead = false;
    await store(...replayed([first!], 24));
    await look(35);
    expect(await open()).toHaveLength(1);
    isHistoryRead = true;
    await look(46);
    expect(await open()).toEqual([]);
    expect((await get('/notices')).data).toMatchObject([
      { count: 0, deliveries: null, endedAt: at(46), followedBy: null },
    ]);
  });

  test('is followed by the next one, which counts all', async () => {
    const id = await makeDestination();
    const [first, ...more] = died(id, 1, 2, 3);
    record(first!);
    await store(first!);
    await look(1);
    record(...more);
    await store(...more);
    await look(602);
    const [later] = await open();
    expect(later).toMatchObject({ kind: 'dead_letters', deadLetters: 2, count: 3 });
    expect((await get('/notices?open=false')).data).toMatchObject([
      { followedBy: later!.id, acknowledged: { by: { name: 'Waypost' } }, count: 0 },
    ]);
    expect((await get('/notices?acknowledged=false')).data).toHaveLength(1);
  });

  test('ends with its destination', async () => {
    const id = await makeDestination();
    const [first] = died(id, 1);
    record(first!);
    await store(first!);
    await look(1);
    expect(await open()).toMatchObject([{ destinationDeleted: false }]);
    await control.call('delete', `/destinations/${id}`);
    await look(20);
    expect(await open()).toEqual([]);
    expect((await get('/notices')).data).toMatchObject([{ destinationDeleted: true }]);
  });
});

test('a failing notice counts the waiting deliveries, and is shown before its alert', async () => {
  await set({ webhooks: [{ url: URL }], failingFor: '30m' });
  isHistoryRead = true;
  const id = await makeDestination();
  const events = [fails(id, 0), fails(id, 301)];
  record(...events);
  await storeEvents(database, events);
  await look(301);
  expect((await get('/notices')).data).toMatchObject([
    {
      kind: 'failing',
      alert: 'later',
      count: 2,
      failures: 2,
      deliveries: { destination: id, status: 'pending', counted: true },
    },
  ]);
  expect((await get(`/deliveries?destination=${id}&status=pending`)).data).toHaveLength(2);
  expect(sent()).toEqual([]);
  record(fails(id, 1_801));
  await look(1_801);
  expect(types()).toEqual(['destination.failing']);
  expect(sent()).toMatchObject([{ body: { data: { failures: 3 } } }]);
  expect((await get('/notices')).data).toMatchObject([{ alert: 'sent', failures: 3 }]);
});

test('a recovery or a switch-off before the alert leaves no alert to send', async () => {
  await set({ webhooks: [{ url: URL }], failingFor: '30m' });
  const [a, b] = [await makeDestination(), await makeDestination()];
  record(fails(a, 0), fails(a, 301), fails(b, 0), fails(b, 301));
  await look(301);
  record(succeeds(a, 310));
  await control.call('patch', `/destinations/${b}`).send({ enabled: false });
  await look(320);
  expect(sent()).toEqual([]);
  expect(((await get('/notices')).data as Json[]).map(({ alert }) => alert)).toEqual([
    'none',
    'none',
    'none',
  ]);
});

describe('a delivery that reaches only some URLs', () => {
  const partly = (destination: string, seconds: number, over: object = {}): DeliveryEvent => {
    const urls = [aUrl({ url: 'whk_1' }), aUrl({ url: 'whk_2', outcome: 'rejected', status: 404 })];
    const delivery = `dlv_${++deliveries}`;
    return anEvent({ delivery, destination, acceptedAt: at(0), at: at(seconds), urls, ...over });
  };
  beforeEach(() => set({ webhooks: [{ url: URL }], deadLettersEvery: '10m' }));

  test('raises an alert immediately, and later one with the number of all since', async () => {
    const id = await makeDestination();
    record(partly(id, 1));
    await look(1);
    record(
      partly(id, 2, { urls: [aUrl()], notCalled: ['whk_2'] }),
      partly(id, 3, { urls: [aUrl({ url: 'whk_2', outcome: 'retry', status: 503 })], late: true }),
      succeeds(id, 4),
    );
    await look(5);
    expect(types()).toEqual(['destination.partly_delivered']);
    await look(601);
    expect(sent().map(({ body }) => body.data.partlyDelivered as number)).toEqual([1, 2]);
    expect((await get('/notices?kind=partly_delivered')).data[0]).toMatchObject({
      destination: id,
      partlyDelivered: 2,
      deadLetters: 0,
      endedAt: null,
      alert: 'sent',
      error: 'https://a.example: HTTP 503',
    });
  });

  test('raises no alert if history shows that the other URL accepted it meanwhile', async () => {
    const id = await makeDestination();
    record(partly(id, 1));
    isHistoryRead = true;
    await storeEvents(database, [succeeds(id, 1)]);
    await look(10);
    expect(sent()).toEqual([]);
  });
});

describe('a URL whose receiver wants nothing more', () => {
  const enable = (id: string, webhook: string) =>
    control.call('post', `/destinations/${id}/enable-webhook`).send({ webhook });
  const died = (destination: string, seconds: number) =>
    aDeath({
      delivery: `dlv_${++deliveries}`,
      destination,
      reason: 'url_disabled',
      acceptedAt: at(seconds - 5),
      at: at(seconds),
    });
  beforeEach(() => set({ webhooks: [{ url: URL }] }));

  test('is switched off with one notice and one alert, which end once it is on', async () => {
    const id = await makeDestination();
    const { id: webhook } = await webhookOf(id);
    disabled(id, webhook, 10);
    // Of another delivery process.
    disabled(id, webhook, 12);
    await look(15);
    await look(30);
    expect(await webhookOf(id)).toMatchObject({ disabled: { at: at(10), reason: 'gone' } });
    expect((await get(`/destinations/${id}`)).version).toBe(2);
    const error =
      'https://a.example: its receiver answered 410 (Gone), so nothing is sent to it any more';
    expect((await get('/notices')).data).toMatchObject([
      { kind: 'webhook_disabled', destination: id, webhook, since: at(10), endedAt: null, error },
    ]);
    expect(sent().map(({ body }) => body)).toMatchObject([
      {
        type: 'destination.webhook_disabled',
        data: { destination: id, webhook, since: at(10), error },
      },
    ]);
    await storeEvents(database, [died(id, 11), died(id, 20)]);
    const operator = await control.as('operator');
    const enabled = await operator('post', `/destinations/${id}/enable-webhook`).send({ webhook });
    expect([enabled.status, enabled.body]).toEqual([200, { lostSince: at(6), count: 2 }]);
    expect(await webhookOf(id)).toMatchObject({ disabled: null });
    await look(60);
    expect((await get('/notices')).data).toMatchObject([
      { kind: 'webhook_disabled', endedAt: at(60) },
    ]);
    expect(sent()).toHaveLength(2);
  });

  test('stays on if it was switched on since, has another address, or does not exist', async () => {
    const id = await makeDestination();
    const { id: webhook } = await webhookOf(id);
    // Delivery has stopped, and control has not read so yet.
    expect((await enable(id, webhook)).body).toEqual({ lostSince: null, count: 0 });
    await storeEvents(database, [died(id, 9)]);
    expect((await enable(id, webhook)).body).toEqual({ lostSince: at(4), count: 1 });
    disabled(id, webhook, 10);
    disabled(id, 'whk_none', 10);
    disabled('dst_none', webhook, 10);
    disabled(id, webhook, 10, { reason: 'planted' });
    disabled(id, webhook, 10, { enables: 'many' });
    await look(20);
    expect(await webhookOf(id)).toMatchObject({ disabled: null });
    disabled(id, webhook, 25, { enables: 2, reason: 'asked' });
    await look(30);
    expect(await webhookOf(id)).toMatchObject({ disabled: { reason: 'asked' } });
    const moved = { webhooks: [{ id: webhook, url: 'https://a.example/moved' }] };
    expect(
      (await control.call('patch', `/destinations/${id}`).send(moved)).body.webhooks,
    ).toMatchObject([{ id: webhook, disabled: null }]);
    disabled(id, webhook, 31, { enables: 1 });
    await look(40);
    expect(await webhookOf(id)).toMatchObject({ disabled: null });
    expect(await database.query('select about from waypost.facts')).toEqual([]);
  });

  test('is one of two with notices of their own', async () => {
    const id = await makeDestination({
      webhooks: [{ url: 'https://a.example/1' }, { url: 'https://a.example/2' }],
    });
    for (const i of [0, 1]) disabled(id, (await webhookOf(id, i)).id, 10);
    await look(20);
    expect((await get('/notices')).data).toHaveLength(2);
    await enable(id, (await webhookOf(id, 1)).id);
    await look(30);
    expect((await get('/notices?open=true')).data).toMatchObject([
      { webhook: (await webhookOf(id)).id },
    ]);
  });

  test('may be one of the alerts, and can be switched on again', async () => {
    const [{ id: webhook }] = (await get('/alerts')).webhooks as [Json];
    disabled('alerts', webhook, 10);
    await look(20);
    expect((await get('/alerts')).webhooks).toMatchObject([{ disabled: { reason: 'gone' } }]);
    expect((await enable('alerts', webhook)).status).toBe(200);
    expect((await get('/alerts')).webhooks).toMatchObject([{ disabled: null }]);
  });
});

describe('a certificate near its end', () => {
  const DAYS = 86_400;
  const seen = (origin: string, notAfter: number, seconds: number) =>
    control.memory.append([
      {
        topic: 'attempts',
        key: origin,
        value: JSON.stringify({
          kind: 'certificate',
          origin,
          notAfter: at(notAfter),
          at: at(seconds),
        }),
      },
    ]);
  beforeEach(() => set({ webhooks: [{ url: URL }] }));

  test('raises one alert for the certificate of a server, one when it is replaced', async () => {
    const id = await makeDestination();
    await makeDestination({ webhooks: [{ url: 'https://b.example/' }] });
    await makeDestination({ enabled: false });
    seen('https://a.example', 15 * DAYS, 0);
    seen('https://b.example', 90 * DAYS, 0);
    await look(1);
    expect(sent()).toEqual([]);
    await look(2 * DAYS);
    await look(2 * DAYS + 60);
    expect(sent().map(({ body }) => body)).toMatchObject([
      {
        type: 'destination.certificate_expiring',
        data: {
          destination: id,
          name: 'Hooks',
          expiresAt: at(15 * DAYS),
          error: 'https://a.example: the certificate of the server',
        },
      },
    ]);
    expect((await get('/notices?open=true')).data).toMatchObject([
      { kind: 'certificate_expiring', destination: id, expiresAt: at(15 * DAYS), endedAt: null },
    ]);
    seen('https://a.example', 100 * DAYS, 3 * DAYS);
    await look(3 * DAYS);
    expect(sent()[1]!.body).toMatchObject({
      type: 'destination.certificate_expiring',
      timestamp: at(3 * DAYS),
      data: { notice: sent()[0]!.body.data.notice, endedAt: at(3 * DAYS) },
    });
    expect(sent()[1]!.delivery!.id).not.toBe(sent()[0]!.delivery!.id);
    expect((await get('/notices')).data).toMatchObject([{ endedAt: at(3 * DAYS), alert: 'sent' }]);
  });

  test('ends without an alert if the destination is off, deleted or calls elsewhere', async () => {
    const [off, deleted, moved] = [
      await makeDestination(),
      await makeDestination({ name: 'Deleted' }),
      await makeDestination({ name: 'Moved' }),
    ];
    seen('https://a.example', DAYS, 0);
    await look(1);
    expect(sent()).toHaveLength(3);
    await control.call('patch', `/destinations/${off}`).send({ enabled: false });
    await control.call('delete', `/destinations/${deleted}`);
    await control
      .call('patch', `/destinations/${moved}`)
      .send({ webhooks: [{ url: 'https://b.example/' }] });
    await look(60);
    expect(sent()).toHaveLength(3);
    const { data } = await get('/notices');
    expect(data.map(({ endedAt, alert }: Json) => [endedAt, alert])).toEqual(
      Array(3).fill([at(60), 'sent']),
    );
  });

  test('stays open while another certificate of the destination ends even earlier', async () => {
    await makeDestination({
      webhooks: [{ url: 'https://a.example/' }, { url: 'https://b.example/' }],
    });
    seen('https://b.example', 10 * DAYS, 0);
    await look(1);
    seen('https://a.example', 5 * DAYS, 60);
    await look(60);
    seen('https://a.example', 90 * DAYS, 120);
    await look(120);
    const told = sent().map(({ body }) => [body.data.expiresAt, body.data.endedAt]);
    expect(told).toEqual([
      [at(10 * DAYS), undefined],
      [at(5 * DAYS), undefined],
      [at(5 * DAYS), at(120)],
    ]);
  });

  test('is reported for each server, but not for a URL that is off', async () => {
    const urls = ['https://a.example/', 'https://b.example/', 'https://c.example/'];
    const id = await makeDestination({ webhooks: urls.map((url) => ({ url })) });
    disabled(id, (await webhookOf(id)).id, 0);
    await look(1);
    for (const name of ['a', 'b', 'c']) seen(`https://${name}.example`, 10 * DAYS, 2);
    await look(2);
    const told = sent().filter(({ body }) => body.type.endsWith('certificate_expiring'));
    expect(told.map(({ body }) => body.data.error.split(': ')[0]).sort()).toEqual([
      'https://b.example',
      'https://c.example',
    ]);
  });

  test('does not begin repeatedly if servers of one URL have different certificates', async () => {
    await makeDestination();
    const HOUR = 3_600;
    // The servers take turns, long before the first certificate ends soon.
    for (const [i, notAfter] of [20, 90, 20, 90].entries()) {
      seen('https://a.example', notAfter * DAYS, i * HOUR);
      await look(i * HOUR);
    }
    for (const [i, notAfter] of [20, 90, 20, 90, 90].entries()) {
      seen('https://a.example', notAfter * DAYS, 8 * DAYS + i * HOUR);
      await look(8 * DAYS + i * HOUR);
    }
    expect(sent().map(({ body }) => body.data.expiresAt)).toEqual([at(20 * DAYS)]);
    seen('https://a.example', 90 * DAYS, 10 * DAYS);
    await look(10 * DAYS);
    expect(sent().map(({ body }) => body.data.endedAt)).toEqual([undefined, at(10 * DAYS)]);
  });

  test('raises an alert for a client certificate or an authority, until a change', async () => {
    const notBefore = new Date(START - 1_000);
    const dates = (days: number) => ({
      notBefore,
      notAfter: new Date(START + days * DAYS * 1_000),
    });
    const [own, lasting] = [makeCertificate(dates(10)), makeCertificate(dates(100))];
    const authorities = [dates(5), dates(200)].map(
      (each) => makeCertificate({ ...each, authority: true }).cert,
    );
    const tls = { certificate: own.cert, key: own.key };
    const id = await makeDestination({ webhooks: [{ url: 'https://a.example/', tls }] });
    const other = await makeDestination({
      webhooks: [{ url: 'https://b.example/', tls: { ca: authorities.join('') } }],
    });
    await look(1);
    const open = async () =>
      ((await get('/notices?open=true')).data as Json[])
        .map(({ destination, error, expiresAt }) => [destination, error, expiresAt])
        .sort();
    expect(await open()).toEqual(
      [
        [id, 'https://a.example: the client certificate (tls.certificate)', at(10 * DAYS)],
        [other, 'https://b.example: an authority (tls.ca)', at(5 * DAYS)],
      ].sort(),
    );
    const renewed = { certificate: lasting.cert, key: lasting.key };
    await control
      .call('patch', `/destinations/${id}`)
      .send({ webhooks: [{ url: 'https://a.example/', tls: renewed }] });
    await control.call('delete', `/destinations/${other}`);
    await look(60);
    expect(await open()).toEqual([]);
  });

  test('ends without an alert if the alert of its begin was not sent', async () => {
    const id = await makeDestination();
    seen('https://a.example', DAYS, 0);
    control.memory.failWith(new AppError('kafka_unavailable', 'away', true));
    await expect(look(1)).rejects.toThrow('away');
    control.memory.failWith(undefined);
    await control.call('delete', `/destinations/${id}`);
    control.memory.failWith(new AppError('kafka_unavailable', 'away', true));
    await look(60);
    control.memory.failWith(undefined);
    await look(120);
    expect(sent()).toEqual([]);
    expect((await get('/notices')).data).toMatchObject([{ endedAt: at(60), alert: 'none' }]);
  });
});

test('a costly filter raises an alert until it is changed or none of its events come', async () => {
  await set({ webhooks: [{ url: URL }] });
  const filter = 'properties.items.exists(i, i.sku == "a")';
  const id = await makeDestination({ filter });
  const costs = (text: string, units: number, seconds: number) =>
    control.memory.append([
      {
        topic: 'attempts',
        key: id,
        value: JSON.stringify({
          kind: 'filter',
          destination: id,
          filter: filterDigest(text),
          units,
          limit: 2_000,
          at: at(seconds),
        }),
      },
    ]);
  costs('an earlier filter', 1_500, 1);
  await look(1);
  expect(sent()).toEqual([]);
  costs(filter, 1_500.4, 10);
  await look(10);
  expect(sent()[0]!.body).toMatchObject({
    type: 'destination.filter_costly',
    data: {
      destination: id,
      error: 'a message took 1500 of the 2000 units of work that one message may take',
    },
  });
  await look(1_700);
  expect(types()).toHaveLength(1);
  await control.call('patch', `/destinations/${id}`).send({ filter: 'event == "Order"' });
  await look(1_710);
  expect(sent()[1]!.body.data).toMatchObject({ endedAt: at(1_710) });
  costs('event == "Order"', 2_000, 1_720);
  await look(1_720);
  expect(sent()[2]!.body.data.error).toMatch(
    /needed more than the 2000 units .* and was not delivered/,
  );
  await look(1_720 + 20 * 3_600);
  expect((await get('/notices?open=true')).data).toHaveLength(1);
  await look(1_720 + 24 * 3_600 + 1);
  expect((await get('/notices?open=true')).data).toEqual([]);
  expect(types()).toHaveLength(4);
});

test('full profiles raise an alert, until none is full', async () => {
  await set({ webhooks: [{ url: URL }] });
  const condition = 'has(user.traits.plan)';
  const made = await control.call('post', '/audiences').send({ name: 'All', condition });
  const reports = (full: number, seconds: number) =>
    control.memory.append(
      [0, 1].map((partition) => ({
        topic: 'profiles.status',
        key: `${String(made.body.id)}/${String(partition)}`,
        value: JSON.stringify({
          definition: made.body.id,
          partition,
          revision: 1,
          phase: 'live',
          profiles: 5,
          full,
          at: at(seconds),
          counted: 5,
          members: 5,
          told: 5,
          waiting: 0,
          upload: 0,
          lastSync: null,
        }),
      })),
    );
  expect(made.status).toBe(201);
  reports(2, 1);
  await look(10);
  expect(sent()[0]!.body).toMatchObject({
    type: 'waypost.profile_full',
    data: { fullProfiles: 4 },
  });
  expect(sent()[0]!.body.data).not.toHaveProperty('destination');
  expect((await get('/notices?open=true')).data).toMatchObject([
    { kind: 'profile_full', destination: null, name: 'Profiles', fullProfiles: 4 },
  ]);
  reports(0, 20);
  await look(20);
  expect(types()).toEqual(['waypost.profile_full', 'waypost.profile_full']);
  expect((await get('/notices')).data).toMatchObject([{ endedAt: at(20) }]);
});

describe('switching off', () => {
  const failing = async (id: string) => {
    record(fails(id, 0), fails(id, 90_000));
    await look(90_000);
  };
  /** Stores the intention to switch the destination off. */
  const intend = () =>
    database.query(
      'update waypost.health set quiet = false, health = (health::jsonb || $1::jsonb)::text',
      [JSON.stringify({ switchingOff: { since: START + 1, failures: 2 } })],
    );

  test('Waypost switches a failing destination off, with an audit entry and a notice', async () => {
    await set({ webhooks: [{ url: URL }], switchOffAfter: '1d' });
    const id = await makeDestination();
    await failing(id);
    expect(await get(`/destinations/${id}`)).toMatchObject({ enabled: false, version: 2 });
    const notes = control.memory
      .records('config')
      .flatMap((each) => parseNotes(each as OpenRecord));
    expect(notes.at(-1)).toMatchObject({
      entry: id,
      action: 'changed',
      by: { id: 'waypost', name: 'Waypost' },
      changes: [{ field: 'enabled', from: true, to: false }],
    });
    // Both notices have the same time, and deliveries have no order.
    expect(types().toSorted()).toEqual(['destination.failing', 'destination.switched_off']);
    expect((await get('/notices?open=true')).data).toEqual([]);
    // Failures before a destination is switched on again do not count.
    await control.call('patch', `/destinations/${id}`).send({ enabled: true });
    record(fails(id, 90_001));
    await look(90_002);
    expect((await get(`/destinations/${id}`)).enabled).toBe(true);
    // A person who switches it off now is not Waypost.
    await control.call('patch', `/destinations/${id}`).send({ enabled: false });
    expect((await get(`/destinations/${id}`)).enabled).toBe(false);
    await intend();
    await look(90_003);
    expect((await get('/notices?kind=switched_off')).data).toHaveLength(1);
  });

  test('the next process raises the notice of a switch-off that a crash interrupted', async () => {
    await set({ webhooks: [{ url: URL }], switchOffAfter: '1d' });
    const id = await makeDestination();
    await failing(id);
    // The intention was stored and the destination switched off, but no notice was raised.
    await database.query('delete from waypost.notices');
    await intend();
    // Changed by somebody, but still off.
    await control.call('patch', `/destinations/${id}`).send({ name: 'Old' });
    const before = types().length;
    await look(90_001);
    await look(90_002);
    expect(types().slice(before)).toEqual(['destination.switched_off']);
  });
});

describe('/notices', () => {
  const make = async () => {
    const [a, b] = [await makeDestination(), await makeDestination()];
    await set({ failingFor: '1m' });
    record(fails(a, 0), fails(a, 61));
    await look(61);
    record(fails(b, 0), fails(b, 61), succeeds(a, 70));
    await look(71);
    return { a, b };
  };

  test('notices are filtered by destination, kind and state, in pages', async () => {
    const { a, b } = await make();
    const ids = async (query: string) =>
      ((await get(`/notices?${query}`)).data as { destination: string; kind: string }[]).map(
        ({ destination, kind }) => `${kind} ${destination === a ? 'a' : 'b'}`,
      );
    expect((await ids('')).sort()).toEqual(['failing a', 'failing b', 'recovered a']);
    expect(await ids('open=true')).toEqual(['failing b']);
    expect((await ids('open=false')).sort()).toEqual(['failing a', 'recovered a']);
    expect(await ids(`destination=${b}`)).toEqual(['failing b']);
    expect(await ids('kind=recovered')).toEqual(['recovered a']);
    const first = await get('/notices?limit=2');
    const rest = await get(`/notices?limit=2&after=${first.next}`);
    expect([first.data.length, rest.data.length, rest.next]).toEqual([2, 1, null]);
    expect((await control.call('get', '/notices?open=maybe')).status).toBe(422);
  });

  test('operators acknowledge notices, and the first one stays', async () => {
    await make();
    const { id } = (await get('/notices?open=true')).data[0];
    const [reader, operator] = [await control.as('read_only'), await control.as('operator')];
    expect((await reader('get', `/notices/${id}`)).body).toMatchObject({ id, acknowledged: null });
    expect((await reader('post', `/notices/${id}/acknowledge`)).status).toBe(403);
    const { body } = await operator('post', `/notices/${id}/acknowledge`);
    expect(body.acknowledged).toMatchObject({ at: at(71), by: { name: 'operator' } });
    expect((await control.call('post', `/notices/${id}/acknowledge`)).body).toEqual(body);
    expect((await get('/notices?acknowledged=true')).data).toEqual([body]);
    expect((await control.call('post', '/notices/ntc_none/acknowledge')).status).toBe(404);
    expect((await control.call('get', '/notices/ntc_none')).status).toBe(404);
  });

  test('operators acknowledge all notices of one origin, or several', async () => {
    const { a, b } = await make();
    const other = await makeDestination({ webhooks: [{ url: 'https://other.example/' }] });
    record(fails(other, 0), fails(other, 100));
    await look(101);
    const unacknowledged = async () =>
      (
        (await get('/notices?acknowledged=false')).data as { id: string; destination: string }[]
      ).map(({ id, destination }) => ({ id, destination }));
    const before = await unacknowledged();
    const ask = (body: object) => control.call('post', '/notices/acknowledge').send(body);
    expect((await ask({})).status).toBe(422);
    expect((await ask({ origin: 'https://a.example', ids: ['ntc_1'] })).status).toBe(422);
    const { body } = await ask({ origin: 'https://a.example' });
    expect(body.ids.toSorted()).toEqual(
      before
        .flatMap(({ id, destination }) => ([a, b].includes(destination) ? [id] : []))
        .toSorted(),
    );
    const [left] = await unacknowledged();
    expect(left!.destination).toBe(other);
    expect((await ask({ ids: [left!.id, 'ntc_none'] })).body).toEqual({ ids: [left!.id] });
    expect(await unacknowledged()).toEqual([]);
    expect((await ask({ origin: 'https://a.example' })).body).toEqual({ ids: [] });
  });

  test('GET /notices answers 503 without the history, and GET /alerts still works', async () => {
    const away = await controlUnderTest();
    expect((await away.call('get', '/notices')).status).toBe(503);
    expect((await away.call('get', '/alerts')).status).toBe(200);
  });
});

test('while `attempts` is read too slowly, alerts lag, and a URL is switched off', async () => {
  let isSlow = false;
  const memory = memoryLog();
  const ranges: typeof memory.kafka.ranges = (...args) => {
    if (isSlow) control.clock.now = new Date(control.clock.now.getTime() + 11_000);
    return memory.kafka.ranges(...args);
  };
  control = await controlUnderTest({
    database,
    historyHasRead,
    memory: { ...memory, kafka: { ...memory.kafka, ranges } },
  });
  const id = await makeDestination();
  const { id: webhook } = await webhookOf(id);
  await look(1);
  isSlow = true;
  disabled(id, webhook, 1);
  await look(2);
  await look(3);
  expect(control.alerts.behindSeconds).toBeGreaterThan(11);
  expect(await webhookOf(id)).toMatchObject({ disabled: { at: at(1), reason: 'gone' } });
  isSlow = false;
  await look(4);
  expect(control.alerts.behindSeconds).toBe(0);
});
