import { type Database } from '../../../../services/control/history/database';
import { storeEvents } from '../../../support/store-events';
import { type DeliveryEvent } from '../../../../shared/model/attempt-events';
import { decodeDelivery, encodeDelivery, urlHash } from '../../../../shared/model/delivery';
import { type RecallRecord, takenNote } from '../../../../shared/model/recall';
import { RETRY_REQUESTED } from '../../../../shared/model/reasons';
import { AppError } from '../../../../shared/runtime/errors';
import { type ControlUnderTest, controlUnderTest } from '../../../support/control';
import { memoryDatabase } from '../../../support/database';
import { eventually } from '../../../support/eventually';
import {
  aCancellation,
  aDeath,
  aFailure,
  anEvent,
  at,
  aUrl,
  aWait,
  START,
} from '../../../support/events';
import { aDelivery } from '../../../support/factories';

/** Retries, cancellations and partial replays through the API, on an in-memory log. */

let database: Database;
let control: ControlUnderTest;
let historyHasRead: boolean | Promise<boolean>;
let destination: string;
let webhooks: { id: string }[];
beforeAll(async () => {
  database = await memoryDatabase();
});
afterAll(() => database.close());
beforeEach(() => begin());

async function begin(): Promise<void> {
  historyHasRead = true;
  control = await controlUnderTest({ database, historyHasRead: () => historyHasRead });
  control.clock.now = new Date(at(3_600));
  await database.query('truncate waypost.deliveries, waypost.responses');
  await database.query('delete from waypost.replays');
  const urls = [{ url: 'https://a.example/' }, { url: 'https://b.example/' }];
  ({ id: destination, webhooks } = await control.destination({ webhooks: urls, enabled: true }));
}

const record = (...events: DeliveryEvent[]) => storeEvents(database, events);
const post = (path: string, body: object = {}) => control.call('post', path).send(body);
const asked = () =>
  control.memory
    .records('webhooks.recalls')
    .map(({ value }) => JSON.parse(String(value)) as RecallRecord);
const change = (body: object) => control.call('patch', `/destinations/${destination}`).send(body);
const note = (value: RecallRecord) =>
  control.memory.append([
    { topic: 'webhooks.recalls', key: destination, value: JSON.stringify(value) },
  ]);

describe('one waiting delivery', () => {
  test.each(['retry', 'cancel'] as const)(
    'a %s names the delivery and its replay, and a retry its attempts',
    async (action) => {
      await record(aFailure({ destination }), aFailure({ destination, n: 2, hop: 1, at: at(20) }));
      const { status, body } = await post(`/deliveries/dlv_1/${action}`);
      expect([status, body]).toEqual([
        202,
        { id: 'dlv_1', action, status: 'retrying', reason: 'backoff' },
      ]);
      // A cancellation also takes the wait after an attempt that is under way.
      const delivery =
        action === 'retry' ? { id: 'dlv_1', replay: 0, attempt: 2 } : { id: 'dlv_1', replay: 0 };
      expect(asked()).toMatchObject([{ kind: 'recall', action, keys: expect.any(Array) }]);
      expect(asked()[0]).toHaveProperty('where', { destination, delivery });
    },
  );

  test.each<[string, () => Promise<unknown>, RegExp]>([
    ['has ended', () => record(anEvent({ destination })), /has ended \(delivered\)/],
    ['is dead', () => record(aDeath({ destination })), /has ended \(dead\)/],
    [
      'is paused',
      () => Promise.all([record(aFailure({ destination })), change({ paused: true })]),
      /paused/,
    ],
  ])('neither a retry nor a cancellation is possible if it %s', async (_, arrange, detail) => {
    await arrange();
    for (const action of ['retry', 'cancel']) {
      const { status, body } = await post(`/deliveries/dlv_1/${action}`);
      expect([status, body.detail]).toEqual([409, expect.stringMatching(detail)]);
    }
    expect(asked()).toEqual([]);
  });

  test('a delivery of a destination that is off can only be cancelled', async () => {
    await record(aFailure({ destination }));
    await change({ enabled: false });
    expect((await post('/deliveries/dlv_1/retry')).status).toBe(409);
    expect((await post('/deliveries/dlv_1/cancel')).status).toBe(202);
  });
});

describe('all that waits at a destination', () => {
  const waiting = (...ids: string[]) =>
    record(...ids.map((delivery) => aFailure({ delivery, destination })));
  const job = (id: string) => control.get(`/replays/${id}`);
  const requested = () =>
    eventually(() => {
      const [request] = asked();
      expect(request).toBeDefined();
      return request;
    });

  test('a retry is a job that counts what retry takes, and what becomes of it', async () => {
    historyHasRead = false;
    await waiting('dlv_1', 'dlv_2', 'dlv_3');
    const started = await post(`/destinations/${destination}/retry`, { maxPerSecond: 50 });
    expect(started).toMatchObject({
      status: 202,
      body: { action: 'retry', origin: 'waiting', maxPerSecond: 50 },
    });
    const { id } = started.body as { id: string };
    expect(started.headers.location).toContain(`/replays/${id}`);
    expect(await requested()).toMatchObject({
      kind: 'recall',
      id,
      action: 'retry_all',
      where: { destination },
      job: id,
    });
    note(takenNote(id, ['00000000000000aa', '00000000000000bb', '00000000000000cc']));
    note({ kind: 'searched', recall: id, partitions: [0, 1], of: 3 });
    await eventually(async () =>
      expect(await job(id)).toMatchObject({ asked: 3, cancelled: null, progress: 0.667 }),
    );
    note({ kind: 'searched', recall: id, partitions: [2], of: 3 });
    await eventually(async () =>
      expect(await job(id)).toMatchObject({ status: 'done', progress: 1 }),
    );
    const retried = (delivery: string) =>
      aWait({ delivery, destination, n: 1, hop: 1, reason: RETRY_REQUESTED, job: id, at: at(30) });
    await record(...['dlv_1', 'dlv_2', 'dlv_3'].map(retried));
    historyHasRead = true;
    expect(await job(id)).toMatchObject({ asked: 3, attempted: 0, delivered: 0, failedAgain: 0 });
    await record(
      anEvent({ delivery: 'dlv_1', destination, n: 2, hop: 1, at: at(31) }),
      aFailure({ delivery: 'dlv_2', destination, n: 2, hop: 1, at: at(31) }),
    );
    expect(await job(id)).toMatchObject({ attempted: 2, delivered: 1, failedAgain: 1, held: 0 });
    await record(
      aDeath({ delivery: 'dlv_2', destination, n: 2, hop: 2, at: at(32) }),
      anEvent({ delivery: 'dlv_3', destination, n: 2, hop: 1, at: at(32) }),
    );
    expect((await control.get('/replays')).data).toMatchObject([
      { id, delivered: 2, failedAgain: 1 },
    ]);
    // The results are final, and are not counted again.
    await database.query('truncate waypost.deliveries, waypost.responses');
    expect((await control.get('/replays')).data).toMatchObject([
      { id, delivered: 2, failedAgain: 1 },
    ]);
    expect(await job(id)).toMatchObject({ delivered: 2, failedAgain: 1 });
  });

  test('a retry counts what a later request resent or cancelled, and is final then', async () => {
    historyHasRead = false;
    const ids = ['dlv_1', 'dlv_2', 'dlv_3', 'dlv_4'];
    await waiting(...ids);
    const { id } = (await post(`/destinations/${destination}/retry`)).body as { id: string };
    await requested();
    note(
      takenNote(id, [
        '00000000000000aa',
        '00000000000000bb',
        '00000000000000cc',
        '00000000000000dd',
      ]),
    );
    note({ kind: 'searched', recall: id, partitions: [0, 1, 2], of: 3 });
    await eventually(async () => expect(await job(id)).toMatchObject({ status: 'done', asked: 4 }));
    expect(await job(id)).toMatchObject({ delivered: 0, superseded: null });
    const retried = (delivery: string, n: number, by: string) =>
      aWait({ delivery, destination, n, hop: n, reason: RETRY_REQUESTED, job: by, at: at(30 + n) });
    await record(...ids.map((delivery) => retried(delivery, 1, id)));
    historyHasRead = true;
    expect(await job(id)).toMatchObject({ delivered: 0, failedAgain: 0, superseded: 0 });
    const later = ['dlv_1', 'dlv_2'];
    await record(
      ...later.map((delivery) => retried(delivery, 2, 'rpl_later')),
      ...later.map((delivery) => anEvent({ delivery, destination, n: 3, hop: 2, at: at(33) })),
      aCancellation({ delivery: 'dlv_3', destination, n: 2, hop: 1, at: at(33) }),
    );
    expect(await job(id)).toMatchObject({ delivered: 0, failedAgain: 0, superseded: 3 });
    await record(anEvent({ delivery: 'dlv_4', destination, n: 2, hop: 1, at: at(34) }));
    const results = { delivered: 1, failedAgain: 0, superseded: 3 };
    expect(await job(id)).toMatchObject(results);
    await database.query('truncate waypost.deliveries, waypost.responses');
    expect(await job(id)).toMatchObject(results);
  });

  test('a retry is shown though Kafka is silent, and old results leave nothing open', async () => {
    historyHasRead = new Promise(() => undefined);
    await waiting('dlv_1', 'dlv_2', 'dlv_3');
    const { id } = (await post(`/destinations/${destination}/retry`)).body as { id: string };
    await requested();
    note(takenNote(id, ['00000000000000aa', '00000000000000bb', '00000000000000cc']));
    note({ kind: 'searched', recall: id, partitions: [0, 1, 2], of: 3 });
    await eventually(async () => expect(await job(id)).toMatchObject({ status: 'done', asked: 3 }));
    expect(await job(id)).toMatchObject({ delivered: 0, superseded: null });
    await database.query(
      "update waypost.replays set job = jsonb_set(job::jsonb, '{results}', " +
        `'{"delivered":1,"failedAgain":0}')::text`,
    );
    expect(await job(id)).toMatchObject({ delivered: 1, failedAgain: 0, superseded: 2 });
    // Each look at the job waits three seconds for the silent Kafka.
  }, 30_000);

  test('a cancellation also covers what is being attempted, and counts no results', async () => {
    await waiting('dlv_1');
    const { body } = await post(`/destinations/${destination}/cancel`);
    expect(body).toMatchObject({ action: 'cancel', delivered: null, failedAgain: null });
    const request = (await requested()) as { expiresBy?: number };
    expect(request.expiresBy).toBeGreaterThan(control.clock.now.getTime());
  });

  test('a cancellation is done with all that waited, and counts what returns later', async () => {
    await waiting('dlv_1');
    const { id } = (await post(`/destinations/${destination}/cancel`)).body as { id: string };
    await requested();
    note(takenNote(id, ['00000000000000aa']));
    note({ kind: 'searched', recall: id, partitions: [0, 1, 2], of: 3 });
    await eventually(async () =>
      expect(await job(id)).toMatchObject({ status: 'done', asked: 1, cancelled: 1, progress: 1 }),
    );
    expect((await post(`/replays/${id}/cancel`)).status).toBe(409);
    note(takenNote(id, ['00000000000000bb']));
    await eventually(async () =>
      expect(await job(id)).toMatchObject({ status: 'done', asked: 2, cancelled: 2 }),
    );
    control.clock.now = new Date(at(3_600 + 90));
    const stored = async () =>
      (await database.query<{ status: string }>('select status from waypost.replays'))[0];
    await eventually(async () => expect(await stored()).toEqual({ status: 'done' }));
  });

  test('the oldest cancellation counts no longer once more than twenty others do', async () => {
    const ids: string[] = [];
    const stored = async () => {
      const rows = await database.query<{ id: string }>(
        `select id from waypost.replays where status = 'done'`,
      );
      return rows.map(({ id }) => id);
    };
    while (ids.length < 22) {
      const { id } = (await post(`/destinations/${destination}/cancel`)).body as { id: string };
      ids.push(id);
      note({ kind: 'searched', recall: id, partitions: [0], of: 1 });
      await eventually(async () => expect(await job(id)).toMatchObject({ status: 'done' }));
    }
    await eventually(async () => expect(await stored()).toEqual([ids[0]]));
    const again = await post(`/replays/${ids[21]}/resume`);
    expect([again.status, again.body.detail]).toEqual([
      409,
      expect.stringContaining('The replay is done'),
    ]);
    await control.replays.stop();
  });

  test('a cancellation is not done while a delivery may come back from its attempt', async () => {
    await waiting('dlv_1', 'dlv_2');
    const { id } = (await post(`/destinations/${destination}/cancel`)).body as { id: string };
    await requested();
    note(takenNote(id, ['00000000000000aa']));
    note({ kind: 'searched', recall: id, partitions: [0, 1, 2], of: 3 });
    await eventually(async () =>
      expect(await job(id)).toMatchObject({
        status: 'running',
        asked: 2,
        cancelled: 1,
        progress: 1,
      }),
    );
    // The other one was delivered meanwhile.
    control.clock.now = new Date(at(3_600 + 90));
    await eventually(async () =>
      expect(await job(id)).toMatchObject({ status: 'done', asked: 1, cancelled: 1 }),
    );
  });

  test('an abandoned job fails after a day with what it did, and retry must stop', async () => {
    await waiting('dlv_1', 'dlv_2');
    const { id } = (await post(`/destinations/${destination}/retry`)).body as { id: string };
    await requested();
    const day = 86_400;
    // At a low rate it may last longer than a day.
    control.clock.now = new Date(at(3_600 + day + 1));
    note(takenNote(id, ['00000000000000aa']));
    await eventually(async () => {
      const [row] = await database.query<{ job: string }>('select job from waypost.replays');
      expect(JSON.parse(row!.job)).toMatchObject({ status: 'running', sent: 1 });
    });
    control.clock.now = new Date(at(3_600 + day + 3_700));
    const error = expect.stringContaining('did not finish it within a day');
    await eventually(async () =>
      expect(await job(id)).toMatchObject({ status: 'failed', asked: 1, error }),
    );
    await eventually(() => expect(asked().at(-1)).toEqual({ kind: 'stop', recall: id }));
  });

  test('a job that is cancelled stops retry, and cannot be resumed', async () => {
    await waiting('dlv_1');
    const { id } = (await post(`/destinations/${destination}/retry`)).body as { id: string };
    await requested();
    expect((await post(`/replays/${id}/cancel`)).body).toMatchObject({ status: 'cancelled' });
    expect(asked().at(-1)).toEqual({ kind: 'stop', recall: id });
    expect((await post(`/replays/${id}/resume`)).status).toBe(409);
  });

  test('a job whose stop is in Kafka is cancelled, even if the database missed that', async () => {
    await waiting('dlv_1');
    const { id } = (await post(`/destinations/${destination}/retry`)).body as { id: string };
    await requested();
    note({ kind: 'stop', recall: id });
    await eventually(async () => expect(await job(id)).toMatchObject({ status: 'cancelled' }));
  });

  test('no job is cancelled while Kafka cannot take its stop: the user tries again', async () => {
    await waiting('dlv_1');
    const { id } = (await post(`/destinations/${destination}/retry`)).body as { id: string };
    await requested();
    control.memory.failWith(new AppError('kafka_unavailable', 'Kafka is away', true));
    expect((await post(`/replays/${id}/cancel`)).status).toBe(503);
    control.memory.failWith(undefined);
    expect(await job(id)).toMatchObject({ status: 'running' });
    expect((await post(`/replays/${id}/cancel`)).body).toMatchObject({ status: 'cancelled' });
  });

  test.each([
    ['paused', { paused: true }],
    ['off', { enabled: false }],
  ])(
    'a destination that is %s sends nothing, and its deliveries can be cancelled',
    async (_, fields) => {
      await waiting('dlv_1');
      await change(fields);
      expect((await post(`/destinations/${destination}/retry`)).status).toBe(409);
      expect((await post(`/destinations/${destination}/cancel`)).status).toBe(202);
    },
  );
});

describe('a replay to some URLs', () => {
  const KNOWN = { topic: 'webhooks', partition: 0, offset: 0 };
  /** the first webhook, which is not wanted */
  const first = () => urlHash(webhooks[0]!.id, 'https://a.example/');
  const SAME = 'https://b.example/';
  /** Appends the record of a delivery that one URL took and the other rejected. */
  async function partly(topic = 'webhooks', others: ReturnType<typeof aUrl>[] = []): Promise<void> {
    const headers = encodeDelivery(aDelivery({ destinationId: destination, expiresAt: START }));
    control.memory.append([{ topic, key: `${destination}:0`, value: '{}', headers }]);
    const urls = [
      aUrl({ url: webhooks[0]!.id }),
      aUrl({ url: webhooks[1]!.id, outcome: 'rejected', status: 404 }),
    ];
    await record(anEvent({ destination, urls: [...urls, ...others], record: { ...KNOWN, topic } }));
  }
  const excluded = () =>
    control.memory.records('webhooks.due').map(({ headers }) => {
      const decoded = decodeDelivery(headers);
      return decoded.kind === 'delivery' ? decoded.delivery.excludedUrls : undefined;
    });

  test('one URL of several gets the delivery again', async () => {
    await partly();
    expect((await post('/deliveries/dlv_1/replay', { webhooks: [webhooks[1]!.id] })).status).toBe(
      202,
    );
    expect(excluded()).toEqual([[first()]]);
  });

  test('a webhook gets the delivery again although another one has the same URL', async () => {
    const [a, b] = webhooks.map(({ id }, i) => ({
      id,
      url: i === 0 ? 'https://a.example/' : SAME,
    }));
    await change({ webhooks: [a, b, { url: SAME, headers: { 'X-Copy': '1' } }] });
    await partly();
    expect((await post('/deliveries/dlv_1/replay', { webhooks: [webhooks[1]!.id] })).status).toBe(
      202,
    );
    expect(excluded()).toEqual([[first(), expect.any(String)]]);
  });

  test('an alert is not replayed, since each of its channels needs another body', async () => {
    await control.call('patch', '/alerts').send({ webhooks: [{ url: 'https://ops.example/' }] });
    await record(anEvent({ destination: 'alerts', record: KNOWN }));
    for (const answer of [
      await post('/deliveries/dlv_1/replay'),
      await post('/replays', { destination: 'alerts', includeDelivered: true }),
    ]) {
      expect([answer.status, answer.body.detail]).toEqual([
        409,
        expect.stringMatching(/each of its channels/),
      ]);
    }
    expect(excluded()).toEqual([]);
  });

  test('a replay of many sends each only to failed URLs, even if others share a URL', async () => {
    const [a, b] = webhooks.map(({ id }, i) => ({
      id,
      url: i === 0 ? 'https://a.example/' : SAME,
    }));
    const { body } = await change({
      webhooks: [a, b, { url: SAME, headers: { 'X-Copy': '1' } }],
    });
    webhooks = (body as { webhooks: { id: string }[] }).webhooks;
    await partly('webhooks.dead', [aUrl({ url: webhooks[2]!.id })]);
    const wanted = { destination, origin: 'dead_letters', onlyFailedUrls: true };
    expect((await post('/replays', wanted)).status).toBe(202);
    const taken = urlHash(webhooks[2]!.id, SAME);
    await eventually(() => expect(excluded()).toEqual([[first(), taken]]));
  });

  test('an unknown webhook is refused by its place', async () => {
    await partly();
    const { status, body } = await post('/deliveries/dlv_1/replay', {
      webhooks: [webhooks[0]!.id, 'whk_other'],
    });
    expect([status, body.errors[0].pointer]).toEqual([422, '#/webhooks/1']);
    expect(excluded()).toEqual([]);
  });
});
