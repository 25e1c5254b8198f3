import { type Database } from '../../../../services/control/history/database';
import { readReplay } from '../../../../services/control/replays/job';
import { storeEvents } from '../../../support/store-events';
import { type DeliveryEvent } from '../../../../shared/model/attempt-events';
import { decodeDelivery, deliveryId, encodeDelivery } from '../../../../shared/model/delivery';
import { messageHeaders, messageKey } from '../../../../shared/model/message';
import { AppError } from '../../../../shared/runtime/errors';
import { newTraceparent } from '../../../../shared/telemetry/trace';
import { type ControlUnderTest, controlUnderTest } from '../../../support/control';
import { memoryDatabase } from '../../../support/database';
import { eventually } from '../../../support/eventually';
import { aDeath, anEvent, aWait, at, START } from '../../../support/events';
import { aDelivery, aDestination } from '../../../support/factories';

let database: Database;
let control: ControlUnderTest;
let destination: string;
beforeAll(async () => {
  database = await memoryDatabase();
});
afterAll(() => database.close());
beforeEach(async () => {
  control = await controlUnderTest({ database });
  control.clock.now = new Date(at(3_600));
  await database.query('truncate waypost.deliveries, waypost.responses');
  await database.query('delete from waypost.replays');
  await database.query('delete from waypost.deletions');
  destination = (await control.destination({ enabled: true })).id;
});
const record = (...events: DeliveryEvent[]) => storeEvents(database, events);

/** Creates dead letters and their rows in the history. */
async function bury(count: number, prefix = 'dlv', userId?: string) {
  const letters = Array.from({ length: count }, (_, i) => ({ id: `${prefix}_${i}`, offset: 0 }));
  for (const letter of letters) {
    letter.offset = control.memory.records('webhooks.dead').length;
    const delivery = aDelivery({
      id: letter.id,
      destinationId: destination,
      expiresAt: START,
      attempt: 1,
    });
    if (userId !== undefined) delivery.userId = userId;
    const headers = encodeDelivery(delivery);
    control.memory.append([
      { topic: 'webhooks.dead', key: `${destination}:0`, value: `{"id":"${letter.id}"}`, headers },
    ]);
  }
  await record(
    ...letters.map(({ id, offset }) =>
      aDeath({
        delivery: id,
        destination,
        record: { topic: 'webhooks.dead', partition: 0, offset },
      }),
    ),
  );
}

/** Creates messages that the destination has taken, and their rows in the history. */
async function deliver(count: number) {
  const made = await control.call('post', '/sources').send({ name: 'Shop' });
  const source = (made.body as { id: string }).id;
  await control.call('patch', `/destinations/${destination}`).send({ sources: [source] });
  const messages = Array.from({ length: count }, (_, i) => ({
    type: 'track' as const,
    messageId: `m${i}`,
    userId: 'kim',
    event: 'Order',
    timestamp: at(0),
  }));
  const clock = jest.spyOn(Date, 'now').mockReturnValue(START);
  control.memory.append(
    messages.map((message) => ({
      topic: 'messages',
      key: messageKey(source, message),
      value: JSON.stringify(message),
      headers: messageHeaders(source, message, {
        acceptedAtMs: START,
        traceparent: newTraceparent(),
      }),
    })),
  );
  clock.mockRestore();
  await record(
    ...messages.map(({ messageId }) =>
      anEvent({
        delivery: deliveryId(source, messageId, destination),
        message: messageId,
        source,
        destination,
      }),
    ),
  );
}
const due = () =>
  control.memory.records('webhooks.due').map(({ headers }) => {
    const decoded = decodeDelivery(headers);
    if (decoded.kind !== 'delivery') throw new Error('unreadable');
    return `${decoded.delivery.id}/${decoded.delivery.replay}`;
  });
const start = async (body: object = {}) =>
  control.call('post', '/replays').send({ destination, maxPerSecond: 10_000, ...body });
const ended = (id: string) =>
  eventually(async () => {
    const { body } = await control.call('get', `/replays/${id}`);
    expect(body.status).toMatch(/done|failed|cancelled/);
    return body;
  });

test('a replay sends no dead letter of a user who was deleted after it', async () => {
  await bury(2, 'kim', 'kim');
  await bury(1, 'lee', 'lee');
  await control.call('post', '/deletions').send({ userIds: ['kim'] });
  // Another process, or this one after 37 days.
  const later = await controlUnderTest({ database, memory: control.memory });
  later.clock.now = new Date(control.clock.now.getTime() + 37 * 86_400_000);
  const { body } = await later.call('post', '/replays').send({ destination, maxPerSecond: 10_000 });
  await eventually(async () => {
    const job = await later.get(`/replays/${body.id}`);
    expect(job).toMatchObject({ status: 'done', asked: 1 });
  });
  expect(due()).toEqual(['lee_0/1']);
});

test('of the replays that are asked for at once, no more begin than may run', async () => {
  control = await controlUnderTest({ database, historyHasRead: () => false });
  destination = (await control.destination({ enabled: true })).id;
  const config = { destination: () => ({ version: 1, data: aDestination() }) };
  const wanted = readReplay({ destination }, config, control.clock.now);
  const asked = Array.from({ length: 12 }, (_, i) => control.replays.start(wanted, `rpl_${i}`));
  const answers = await Promise.allSettled(asked);
  expect(answers.map(({ status }) => status)).toEqual([
    ...Array.from({ length: 5 }, () => 'fulfilled'),
    ...Array.from({ length: 7 }, () => 'rejected'),
  ]);
  await control.replays.stop();
});

describe('replaying one delivery', () => {
  test('a delivery is sent again with its body and a new window', async () => {
    await bury(1);
    const answer = await control.call('post', '/deliveries/dlv_0/replay');
    expect([answer.status, answer.body]).toEqual([
      202,
      { id: 'dlv_0', replay: 1, status: 'waiting' },
    ]);
    expect(due()).toEqual(['dlv_0/1']);
    expect(String(control.memory.records('webhooks.due')[0]!.value)).toBe('{"id":"dlv_0"}');
    expect(control.memory.records('attempts')).toHaveLength(1);
  });

  test('a replay of which Kafka takes only a part does not look like one under way', async () => {
    await bury(1);
    control.memory.onAppend(() => {
      throw new AppError('kafka_unavailable', 'away', true);
    });
    expect((await control.call('post', '/deliveries/dlv_0/replay')).status).toBe(503);
    expect([due(), control.memory.records('attempts')]).toEqual([['dlv_0/1'], []]);
  });

  test('no delivery is replayed in progress, with its destination off or body gone', async () => {
    await record(
      aWait({ delivery: 'dlv_w', destination }),
      anEvent({ delivery: 'dlv_gone', destination }),
    );
    const statuses = async () =>
      Promise.all(
        ['dlv_w', 'dlv_gone', 'dlv_none'].map(
          async (id) => (await control.call('post', `/deliveries/${id}/replay`)).status,
        ),
      );
    expect(await statuses()).toEqual([409, 409, 404]);
    await bury(1);
    await control.call('patch', `/destinations/${destination}`).send({ enabled: false });
    expect((await control.call('post', '/deliveries/dlv_0/replay')).status).toBe(409);
    expect(due()).toEqual([]);
  });
});

describe('replaying a scope', () => {
  test('a replay counts deliveries, then sends each once, without delivered ones', async () => {
    await bury(40);
    await bury(2, 'delivered');
    await record(
      anEvent({ delivery: 'delivered_0', destination, replay: 1 }),
      anEvent({ delivery: 'delivered_1', destination }),
    );
    const { status, body } = await start();
    expect([status, body.status, body.origin]).toEqual([202, 'counting', 'dead_letters']);
    expect(await ended(body.id)).toMatchObject({
      status: 'done',
      asked: 40,
      progress: 1,
    });
    expect(due().sort()).toEqual(Array.from({ length: 40 }, (_, i) => `dlv_${i}/1`).sort());
  });

  test('a preview only counts', async () => {
    await bury(7);
    const { body } = await start({ preview: true });
    expect(await ended(body.id)).toMatchObject({
      status: 'done',
      asked: 7,
      cancelled: null,
      preview: true,
    });
    expect(due()).toEqual([]);
  });

  test('a replay sends deliveries of the given span', async () => {
    await bury(3);
    for (const [times, asked] of [
      [{ from: at(0), to: at(1) }, 3],
      [{ from: at(1) }, 0],
      [{ to: at(0) }, 0],
    ] as const) {
      const { body } = await start({ ...times, preview: true });
      expect(await ended(body.id)).toMatchObject({ asked });
    }
  });

  test('a cancelled replay stops, and continues there when resumed', async () => {
    await bury(50);
    // The clock of the test stands still: the first chunk is sent, and the next one waits forever.
    const { body } = await start({ maxPerSecond: 50 });
    await eventually(() => expect(due()).toHaveLength(10));
    const cancelled = (await control.call('post', `/replays/${body.id}/cancel`)).body;
    expect(cancelled).toMatchObject({ status: 'cancelled', asked: 10 });
    expect((await control.call('post', `/replays/${body.id}/cancel`)).status).toBe(409);
    const advance = setInterval(
      () => (control.clock.now = new Date(control.clock.now.getTime() + 1_000)),
      5,
    );
    expect((await control.call('post', `/replays/${body.id}/resume`)).body).toMatchObject({
      status: 'running',
    });
    expect(await ended(body.id)).toMatchObject({ status: 'done', asked: 50 });
    clearInterval(advance);
    expect(new Set(due()).size).toBe(50);
    expect(due()).toHaveLength(50);
    expect((await control.call('post', `/replays/${body.id}/resume`)).status).toBe(409);
  });

  /** Starts another process that takes over. @returns the timer that advances its clock */
  async function nextProcess(): Promise<NodeJS.Timeout> {
    const next = await controlUnderTest({ database, memory: control.memory });
    next.clock.now = new Date(at(3_600));
    const passing = setInterval(
      () => (next.clock.now = new Date(next.clock.now.getTime() + 1_000)),
      5,
    );
    control = next;
    await next.replays.poll();
    return passing;
  }

  test('a replay continues in the next process', async () => {
    await bury(50);
    const { body } = await start({ maxPerSecond: 50 });
    await eventually(() => expect(due()).toHaveLength(10));
    await control.replays.stop();
    const passing = await nextProcess();
    expect(await ended(body.id)).toMatchObject({ status: 'done', asked: 50 });
    clearInterval(passing);
    expect(due()).toHaveLength(50);
  });

  test.each<[string, () => Promise<void> | void]>([
    ['whose clock was an hour ahead of the brokers', () => undefined],
    [
      'that had written more events than records',
      async () => {
        control.memory.cut('webhooks.due', 7);
        const only = ['dlv_7', 'dlv_8', 'dlv_9'].map((delivery) =>
          aWait({ delivery, destination, reason: 'replayed', n: 0, replay: 1 }),
        );
        await record(...only);
      },
    ],
    ['that had written more records than events', () => control.memory.cut('attempts', 7)],
  ])('a replay goes on behind the unsaved records of a killed process %s', async (_, wasKilled) => {
    await bury(50);
    control.clock.now = new Date(Date.now() + 3_600_000);
    const { body } = await start({ maxPerSecond: 50 });
    await eventually(() => expect(due()).toHaveLength(10));
    await control.replays.stop();
    await wasKilled();
    const [row] = await database.query<{ job: string }>('select job from waypost.replays');
    const job = JSON.parse(row!.job) as { places: { low: number }[] };
    const places = job.places.map((place) => ({ ...place, next: place.low }));
    const none = [{ partition: 0, low: 0, high: 0 }];
    await database.query('update waypost.replays set job = $1', [
      JSON.stringify({ ...job, places, sent: 0, sentUpTo: none, dueUpTo: none }),
    ]);
    const passing = await nextProcess();
    expect(await ended(body.id)).toMatchObject({ status: 'done', asked: 50 });
    clearInterval(passing);
    expect(new Set(due()).size).toBe(50);
    expect(due()).toHaveLength(50);
  });

  test("a replay moves at the lease's end, and its first process sends nothing more", async () => {
    await bury(50);
    const { body } = await start({ maxPerSecond: 50 });
    await eventually(() => expect(due()).toHaveLength(10));
    const first = control;
    const passing = await nextProcess();
    expect(await ended(body.id)).toMatchObject({ status: 'done', asked: 50 });
    clearInterval(passing);
    // The first process was stopped, and its clock continued.
    first.clock.now = new Date(at(7_200));
    await first.replays.poll();
    await first.replays.stop();
    expect(first.logged()).toContain('replay.lost');
    expect(due()).toHaveLength(50);
    expect(await control.get(`/replays/${body.id}`)).toMatchObject({
      status: 'done',
      asked: 50,
    });
  });

  test('a replay cancelled through another process stays cancelled', async () => {
    await bury(50);
    const { body } = await start({ maxPerSecond: 50 });
    await eventually(() => expect(due()).toHaveLength(10));
    const other = await controlUnderTest({ database, memory: control.memory });
    other.clock.now = new Date(at(3_600));
    const cancelling = other
      .call('post', `/replays/${body.id}/cancel`)
      .then((answer) => answer.body as unknown);
    const looking = setInterval(() => void control.replays.poll(), 20);
    expect(await cancelling).toMatchObject({ status: 'cancelled', asked: 10 });
    clearInterval(looking);
    control.clock.now = new Date(at(7_200));
    await control.replays.stop();
    expect(due()).toHaveLength(10);
    const passing = setInterval(
      () => (other.clock.now = new Date(other.clock.now.getTime() + 1_000)),
      5,
    );
    expect((await other.call('post', `/replays/${body.id}/resume`)).body).toMatchObject({
      status: 'running',
    });
    control = other;
    expect(await ended(body.id)).toMatchObject({ status: 'done', asked: 50 });
    clearInterval(passing);
    expect(new Set(due()).size).toBe(50);
    expect(due()).toHaveLength(50);
  });

  test('a replay waits for a history that lags and knows what was delivered since', async () => {
    let behind = true;
    control = await controlUnderTest({
      database,
      memory: control.memory,
      historyHasRead: () => !behind,
    });
    control.clock.now = new Date(at(3_600));
    destination = (
      await control.call('post', '/destinations').send({
        name: 'Hooks',
        type: 'webhooks',
        sources: [],
        enabled: true,
        webhooks: [{ url: 'https://a.example/' }],
      })
    ).body.id;
    await bury(2);
    const { body } = await start();
    expect(body).toMatchObject({ status: 'counting', waitingFor: 'history' });
    await record(anEvent({ delivery: 'dlv_0', destination, replay: 1 }));
    behind = false;
    expect(await ended(body.id)).toMatchObject({ status: 'done', asked: 1, waitingFor: null });
    expect(due()).toEqual(['dlv_1/1']);
  });

  test.each<[string, object, (count: number) => Promise<void>]>([
    ['dead letters', {}, bury],
    ['delivered messages', { origin: 'messages', includeDelivered: true }, deliver],
  ])('a replay of %s that failed after an append repeats nothing later', async (_, scope, make) => {
    await make(20);
    let isBroken = true;
    control.memory.onAppend(() => {
      if (isBroken && due().length > 0) throw new Error('planted');
    });
    const { body } = await start(scope);
    expect(await ended(body.id)).toMatchObject({ status: 'failed', asked: 0 });
    isBroken = false;
    // Its process lets it go a moment after its end.
    await eventually(async () => {
      expect((await control.call('post', `/replays/${body.id}/resume`)).status).toBe(200);
    });
    expect(await ended(body.id)).toMatchObject({ status: 'done', asked: 20 });
    expect(due()).toHaveLength(20);
    expect(new Set(due()).size).toBe(20);
  });

  test('a replay waits while Kafka accepts nothing', async () => {
    await bury(5);
    control.memory.failWith(new AppError('kafka_unavailable', 'away', true));
    const { body } = await start();
    await eventually(async () => {
      expect(await control.get(`/replays/${body.id}`)).toMatchObject({
        status: 'running',
        asked: 5,
      });
    });
    control.memory.failWith(undefined);
    const advance = setInterval(
      () => (control.clock.now = new Date(control.clock.now.getTime() + 1_000)),
      5,
    );
    expect(await ended(body.id)).toMatchObject({ status: 'done', asked: 5 });
    clearInterval(advance);
    expect(due()).toHaveLength(5);
  });

  test('a replay fails if its destination is switched off', async () => {
    await bury(50);
    const { body } = await start({ maxPerSecond: 50 });
    await eventually(() => expect(due()).toHaveLength(10));
    await control.call('patch', `/destinations/${destination}`).send({ enabled: false });
    expect(await ended(body.id)).toMatchObject({
      status: 'failed',
      asked: 10,
      error: expect.stringContaining('off'),
    });
    expect((await control.call('post', `/replays/${body.id}/resume`)).status).toBe(409);
  });

  test('replays are listed', async () => {
    const first = (await start()).body;
    await ended(first.id);
    control.clock.now = new Date(at(3_700));
    const second = (await start()).body;
    await ended(second.id);
    const list = await control.get('/replays?limit=1');
    expect(list.data.map(({ id }: { id: string }) => id)).toEqual([second.id]);
    expect(await control.get(`/replays?limit=1&after=${list.next}`)).toMatchObject({
      data: [{ id: first.id }],
      next: null,
    });
    expect((await control.call('get', '/replays/rpl_none')).status).toBe(404);
  });

  test.each([
    ['no destination', { destination: undefined }, 422, '#/destination'],
    ['an unknown destination', { destination: 'dst_none' }, 422, '#/destination'],
    ['a span that ends before its start', { from: at(10), to: at(5) }, 422, '#/to'],
    ['a status of deliveries in progress', { status: 'retrying' }, 422, '#/status'],
    ['a time that is not a time', { from: 'yesterday' }, 422, '#/from'],
    ['an unknown field', { since: at(1) }, 422, '#/since'],
  ])('a replay with %s is refused', async (_, body, status, pointer) => {
    const answer = await start(body);
    expect([answer.status, answer.body.errors[0].pointer]).toEqual([status, pointer]);
  });

  test('a replay is refused if its destination is off', async () => {
    await control.call('patch', `/destinations/${destination}`).send({ enabled: false });
    expect((await start()).status).toBe(409);
  });
});
