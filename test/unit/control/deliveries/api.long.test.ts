import { type Total } from '../../../../shared/api/fields';
import { evidenceOf } from '../../../../services/control/health/attempt-evidence';
import { storeEvidence } from '../../../../services/control/health/store';
import { type Database } from '../../../../services/control/history/database';
import { parseNotes, recordAudit } from '../../../../services/control/history/audit';
import {
  parseVersion,
  recordVersions,
} from '../../../../services/control/history/destination-versions';
import { storeEvents } from '../../../support/store-events';
import { defined } from '../../../../shared/collections/defined';
import { type OpenRecord } from '../../../../shared/kafka/port';
import { type DeliveryEvent, type UrlAttempt } from '../../../../shared/model/attempt-events';
import { type Delivery, encodeDelivery } from '../../../../shared/model/delivery';
import { type ControlUnderTest, controlUnderTest } from '../../../support/control';
import { dropDeliveries, memoryDatabase } from '../../../support/database';
import { aDeath, aFailure, anEvent, at, aUrl, aWait } from '../../../support/events';
import { aDelivery } from '../../../support/factories';
import { FORMAT_HEADER } from '../../../../shared/model/record-format';

let database: Database;
let control: ControlUnderTest;
beforeAll(async () => {
  database = await memoryDatabase();
});
afterAll(() => database.close());
beforeEach(async () => {
  control = await controlUnderTest({ database });
  await dropDeliveries(database);
  for (const table of ['counts', 'circuits', 'audit', 'destination_versions']) {
    await database.query(`delete from waypost.${table}`);
  }
});
const record = (...events: DeliveryEvent[]) => storeEvents(database, events);
const get = (path: string) => control.get(path);

describe('GET /deliveries', () => {
  beforeEach(() =>
    record(
      ...[1, 2, 3].map((i) =>
        anEvent({ delivery: `dlv_${i}`, acceptedAt: at(i), userId: `user-${i}` }),
      ),
      aWait({
        delivery: 'dlv_4',
        acceptedAt: at(4),
        destination: 'dst_2',
        type: 'page',
        source: 'src_2',
      }),
      ...[1, 2].map((i) =>
        anEvent({
          delivery: `old_${i}`,
          acceptedAt: at(-i),
          at: at(-i),
          event: 'Order',
          userId: 'user-9',
          urls: urls(i),
        }),
      ),
    ),
  );
  const timeout = { code: 'timeout' as const, message: 'no complete answer within 5000 ms' };
  const urls = (i: number) => [
    aUrl(),
    aUrl({ url: 'whk_2', outcome: 'retry', status: 500 + i, error: timeout }),
  ];
  const ids = async (query: string) =>
    ((await get(`/deliveries?${query}`)).data as { id: string }[]).map(({ id }) => id);

  test.each([
    ['', ['dlv_4', 'dlv_3', 'dlv_2', 'dlv_1', 'old_1', 'old_2']],
    ['destination=dst_2', ['dlv_4']],
    ['source=src_1', ['dlv_3', 'dlv_2', 'dlv_1', 'old_1', 'old_2']],
    ['status=held', ['dlv_4']],
    ['status=waiting', []],
    ['status=pending', ['dlv_4']],
    ['attempted=true', ['dlv_3', 'dlv_2', 'dlv_1', 'old_1', 'old_2']],
    ['attempted=false', ['dlv_4']],
    ['attempted=true&destination=dst_2', []],
    ['status=delivered', ['dlv_3', 'dlv_2', 'dlv_1', 'old_1', 'old_2']],
    ['status=partly_delivered', ['old_1', 'old_2']],
    ['event=Order', ['old_1', 'old_2']],
    ['event=Order&user=user-1', []],
    ['code=501', ['old_1']],
    ['code=5xx&status=partly_delivered', ['old_1', 'old_2']],
    ['code=2XX', ['dlv_3', 'dlv_2', 'dlv_1']],
    ['code=4xx', []],
    ['error=timeout', ['old_1', 'old_2']],
    ['error=dns', []],
    ['message=msg-1&user=user-2', ['dlv_2']],
    ['type=page', ['dlv_4']],
    [`since=${at(2)}&until=${at(4)}`, ['dlv_3', 'dlv_2']],
    [`since=${Date.parse(at(4))}`, ['dlv_4']],
    // 08:00 in UTC, without seconds.
    ['until=2026-11-21T13:30%2B05:30', ['old_1', 'old_2']],
    ['since=2026-11-21T03:00-05:00', ['dlv_4', 'dlv_3', 'dlv_2', 'dlv_1']],
    ['user=nobody', []],
  ])('deliveries are filtered by %j', async (query, expected) => {
    expect(await ids(query)).toEqual(expected);
  });

  test('a page of deliveries continues after the previous one', async () => {
    const first = await get('/deliveries?limit=3');
    expect(first.data).toHaveLength(3);
    const rest = await get(`/deliveries?limit=3&after=${first.next}`);
    expect(rest).toMatchObject({
      data: [{ id: 'dlv_1' }, { id: 'old_1' }, { id: 'old_2' }],
      next: null,
    });
    expect(await get('/deliveries?limit=6')).toMatchObject({ next: null });
  });

  test('the list shows the event, the last response and the URLs that failed', async () => {
    expect((await get('/deliveries?event=Order&limit=1')).data).toMatchObject([
      {
        event: 'Order',
        status: 'partly_delivered',
        lastStatusCode: 501,
        lastError: timeout,
        reason: null,
      },
    ]);
    expect((await get('/deliveries?status=held')).data).toMatchObject([
      { event: null, lastStatusCode: null, lastError: null, reason: 'circuit_open' },
    ]);
  });

  test.each<[string, string, string?]>([
    ['status=lost', 'status'],
    ['type=other', 'type'],
    ['code=600', 'code'],
    ['code=50', 'code'],
    ['error=Time out', 'error'],
    ['q=ab', 'q', 'must have at least 3 characters'],
    ['user=', 'user', 'must not be empty'],
    ['since=yesterday', 'since'],
    ['until=0.5', 'until'],
    ['since=2026', 'since'],
    ['since=0', 'since'],
    ['since=Thu%20Nov%2026', 'since'],
    ['since=2026-01-31T12:00:00', 'since'],
    ['since=2026-02-30T12:00:00Z', 'since'],
    ['since=1969-12-31T23:59:59Z', 'since'],
    ['since=-271821-04-20T00:00:00Z', 'since'],
    ['until=99999999999999', 'until'],
    ['limit=0', 'limit'],
    ['after=nonsense', 'after'],
    ['user=a&user=b', 'user'],
    ['usr=a', 'usr'],
  ])('the filter %s is refused', async (query, parameter, detail = expect.any(String)) => {
    const answer = await control.call('get', `/deliveries?${query}`);
    expect(answer.status).toBe(422);
    expect(answer.body.errors).toEqual([{ parameter, detail }]);
  });

  test.each([
    '/deliveries',
    '/overview',
    '/overview/calls',
    '/destinations/dst_1/health',
    '/audit',
  ])('GET %s refuses a year that no time may have', async (path) => {
    for (const parameter of ['since', 'until']) {
      const answer = await control.call('get', `${path}?${parameter}=9999999-01-01T00:00:00Z`);
      expect([answer.status, answer.body.errors]).toEqual([
        422,
        [{ parameter, detail: expect.any(String) }],
      ]);
    }
  });

  test('the list omits responses, which may be megabytes', async () => {
    const response = { headers: { server: 'x' }, body: 'planted', truncated: false };
    await record(anEvent({ delivery: 'dlv_5', acceptedAt: at(5), urls: [aUrl({ response })] }));
    expect(JSON.stringify(await get('/deliveries'))).not.toContain('planted');
    expect(JSON.stringify(await get('/deliveries/dlv_5'))).toContain('planted');
  });

  test('the list reads rows without responses, whatever an endpoint answers', async () => {
    const body = '\u0001'.repeat(16 * 1024);
    const response = { headers: {}, body, truncated: false };
    const urls = [1, 2, 3, 4, 5].map((i) => aUrl({ url: `whk_${String(i)}`, response }));
    await record(anEvent({ delivery: 'dlv_5', acceptedAt: at(5), urls }));
    const [row] = await database.query<{ bytes: number }>(
      `select octet_length(tries) as bytes from waypost.deliveries where id = 'dlv_5'`,
    );
    expect(row!.bytes).toBeLessThan(2_000);
  });
});

describe('GET /deliveries/{id}', () => {
  const BODY = '{"version":1,"type":"track","userId":"user-1","event":"Order"}';
  const DELIVERY = aDelivery({ acceptedAt: 1, expiresAt: 1 });
  const held = (value: string, delivery: Pick<Delivery, 'id'> = { id: 'dlv_1' }) => {
    const headers = encodeDelivery({ ...DELIVERY, ...delivery });
    control.memory.append([{ topic: 'webhooks', key: 'k', value, headers }]);
    return {
      topic: 'webhooks',
      partition: 0,
      offset: control.memory.records('webhooks').length - 1,
    };
  };

  test('a delivery of a batch has the response that is stored with the first one', async () => {
    const response = { headers: {}, body: 'no room', truncated: false };
    const sent = (id: string, index: number) =>
      aUrl({ outcome: 'retry', status: 503, batch: { id, size: 2, index, first: 'dlv_1' } });
    await record(
      aFailure({ urls: [{ ...sent('bat_1', 0), response: { ...response, body: 'other' } }] }),
      aFailure({ n: 2, hop: 1, at: at(2), urls: [{ ...sent('bat_2', 0), response }] }),
      aFailure({ delivery: 'dlv_2', urls: [sent('bat_2', 1)] }),
      aFailure({ delivery: 'dlv_3', urls: [{ ...sent('bat_3', 1), url: 'whk_9' }] }),
    );
    const [url] = (await get('/deliveries/dlv_2')).attempts[0].urls;
    expect(url).toMatchObject({ batch: { id: 'bat_2', first: 'dlv_1' }, response });
    expect((await get('/deliveries/dlv_3')).attempts[0].urls[0]).not.toHaveProperty('response');
    await database.query(`delete from waypost.deliveries where id = 'dlv_1'`);
    const [alone] = (await get('/deliveries/dlv_2')).attempts[0].urls;
    expect(alone).not.toHaveProperty('response');
  });

  test('an attempt with a response beyond the budget says so, alone and in a batch', async () => {
    const response = { headers: {}, body: '', truncated: true };
    const sent = (index: number) =>
      aUrl({ outcome: 'retry', batch: { id: 'bat_1', size: 2, index, first: 'dlv_1' } });
    await record(
      aFailure({ urls: [{ ...sent(0), response }] }),
      aFailure({ delivery: 'dlv_2', urls: [sent(1)] }),
    );
    for (const id of ['dlv_1', 'dlv_2']) {
      expect((await get(`/deliveries/${id}`)).attempts[0].urls[0]).toMatchObject({ response });
    }
    expect(JSON.stringify(await get('/deliveries'))).not.toContain('truncated');
  });

  test('a refused attempt shows the signature sent, with a response or an empty one', async () => {
    const signature = { 'webhook-timestamp': '1', 'webhook-signature': 'v1,planted' };
    const refused = (n: number, body: string) =>
      aFailure({
        n,
        hop: n - 1,
        at: at(n),
        urls: [aUrl({ response: { headers: {}, body, truncated: false, signature } })],
      });
    await record(refused(1, ''), refused(2, 'who are you?'));
    for (const { urls } of (await get('/deliveries/dlv_1')).attempts) {
      expect(urls[0].response.signature).toEqual(signature);
    }
    const rows = await database.query<{ tries: string }>(
      'select tries::text from waypost.deliveries',
    );
    expect(JSON.stringify(rows)).not.toContain('planted');
  });

  test('a delivery shows no more than 256 KiB of responses, the newest', async () => {
    const response = { headers: {}, body: '\u0001'.repeat(16 * 1024), truncated: false };
    for (let n = 1; n <= 30; n++) {
      const first = { id: `bat_${String(n)}`, size: 2, index: 0, first: `first_${String(n)}` };
      const urls = (batch: typeof first) => [aUrl({ outcome: 'retry', status: 425, batch })];
      await record(
        aFailure({
          delivery: first.first,
          urls: urls(first).map((url) => ({ ...url, response })),
        }),
        aFailure({ n, hop: n, at: at(n), urls: urls({ ...first, index: 1 }) }),
      );
    }
    const answer = await control.call('get', '/deliveries/dlv_1');
    const attempts = answer.body.attempts as { n: number; urls: { response?: object }[] }[];
    const shown = attempts.filter(({ urls }) => urls[0]!.response).map(({ n }) => n);
    expect(shown).toEqual([29, 30]);
  });

  test('a delivery contains its body, its attempts and its remaining time', async () => {
    const record1 = held(BODY);
    await record(
      aFailure({ record: record1, urls: [aUrl({ outcome: 'retry', status: 503 })] }),
      aWait({ n: 1, hop: 1, reason: 'circuit_open', nextAttemptAt: at(60), record: record1 }),
    );
    control.clock.now = new Date(at(2));
    const delivery = await get('/deliveries/dlv_1');
    expect(delivery).toMatchObject({
      id: 'dlv_1',
      messageId: 'msg-1',
      status: 'held',
      reason: 'circuit_open',
      acceptedAt: at(0),
      nextAttemptAt: null,
      attempts: [
        {
          n: 1,
          outcome: 'retry',
          urls: [{ url: 'whk_1', origin: 'https://a.example', status: 503 }],
        },
      ],
      budget: { attemptsMade: 1, nextAttemptAt: null, waitsFor: 'circuit_open' },
    });
    expect(JSON.stringify(delivery.body)).toBe(BODY);
  });

  test('a delivery has no body if its record is gone or belongs to another', async () => {
    await record(anEvent({ record: { topic: 'webhooks', partition: 0, offset: 99 } }));
    expect(await get('/deliveries/dlv_1')).toMatchObject({ status: 'delivered', body: null });
    const record2 = held(BODY, { id: 'dlv_other' });
    await record(anEvent({ delivery: 'dlv_2', record: record2 }));
    expect((await get('/deliveries/dlv_2')).body).toBeNull();
  });

  test.each([1 / 4, 8])(
    'after %d days a delivery has the body of its dead letter if only that is left',
    async (days) => {
      await record(
        aDeath({
          record: { topic: 'webhooks', partition: 0, offset: 99 },
          at: new Date().toISOString(),
        }),
      );
      control.memory.append([
        { topic: 'webhooks.dead', key: 'k', value: BODY, headers: { delivery: 'dlv_1' } },
      ]);
      control.clock.now = new Date(Date.now() + days * 86_400_000);
      expect((await get('/deliveries/dlv_1')).body).toMatchObject({ event: 'Order' });
    },
  );

  test('a delivery shows the current request headers without secrets', async () => {
    const webhooks = [
      { url: 'https://a.example/hook?token=planted-token', headers: { 'X-Key': 'planted-value' } },
    ];
    const made = await control.destination({ webhooks, sharedSecret: 'planted-secret' });
    const url = aUrl({ url: made.webhooks[0].id, destinationVersion: made.version });
    await record(anEvent({ destination: made.id, urls: [url] }));
    const answer = await control.call('get', '/deliveries/dlv_1');
    const [shown] = answer.body.attempts[0].urls;
    const headers = { 'x-key': '***', 'x-signature': '***', 'webhook-id': 'dlv_1' };
    expect(shown.request.headers).toMatchObject(headers);
    expect(shown.address).toBe('https://a.example/hook?token=planted-token');
    expect(shown.request).toEqual({
      url: shown.address,
      method: 'POST',
      headers: expect.any(Object),
    });
    expect(answer.text).not.toMatch(/planted-(secret|value)/);
  });

  const JSON_TYPE = 'application/json';
  test.each<[string, object, Partial<Delivery>, object, object?, Partial<UrlAttempt>?]>([
    ['the default body', {}, {}, { 'content-type': JSON_TYPE }],
    [
      'a CloudEvent',
      { format: 'cloudevents' },
      {},
      { 'content-type': 'application/cloudevents+json; charset=utf-8' },
      { 'content-type': 'application/cloudevents-batch+json; charset=utf-8' },
    ],
    ['a text', { body: '"user " + userId' }, {}, { 'content-type': 'text/plain; charset=utf-8' }],
    ['a map', { body: '{"a": 1}' }, {}, { 'content-type': JSON_TYPE }],
    ['a body of unknown kind', { body: 'properties.body' }, {}, { 'content-type': 'unknown' }],
    [
      'a rendered content type',
      { headers: { 'Content-Type': 'properties.type' } },
      {},
      { 'content-type': 'unknown' },
    ],
    [
      'a form, by its record',
      {
        body: '"a=1"',
        headers: { 'Content-Type': '"application/x-www-form-urlencoded"', 'X-User': 'userId' },
      },
      {
        contentType: 'application/x-www-form-urlencoded',
        headers: ['X-User', 'u-1'],
        method: 'PUT',
      },
      { 'content-type': 'application/x-www-form-urlencoded', 'x-user': 'u-1' },
    ],
    [
      'a compressed body',
      {},
      {},
      { 'content-encoding': 'gzip' },
      { 'content-encoding': 'gzip' },
      { gzip: true },
    ],
  ])(
    'an attempt shows the headers of %s',
    async (_, request, recorded, headers, inBatch = {}, of = {}) => {
      const made = await control.destination({ request });
      const url = aUrl({ url: made.webhooks[0].id, destinationVersion: made.version, ...of });
      const isRecorded = Object.keys(recorded).length > 0;
      const stored = { ...DELIVERY, ...recorded, destinationId: made.id };
      await record(
        anEvent({
          destination: made.id,
          urls: [url],
          ...defined({ record: isRecorded ? held('a=1', stored) : undefined }),
        }),
        anEvent({
          delivery: 'dlv_2',
          destination: made.id,
          urls: [{ ...url, batch: { id: 'bat_1', size: 2, index: 0, first: 'dlv_2' } }],
        }),
      );
      const sentBy = async (id: string) =>
        (await get(`/deliveries/${id}`)).attempts[0].urls[0].request;
      const shown = await sentBy('dlv_1');
      expect({ 'content-type': 'unknown', ...shown.headers }).toMatchObject(headers);
      expect(shown.method).toBe(recorded.method ?? 'POST');
      expect((await sentBy('dlv_2')).headers).toMatchObject(inBatch);
    },
  );

  describe('after the destination changed', () => {
    const destination = (path: string, key: string, sharedSecret: string) => ({
      sharedSecret,
      webhooks: [
        { url: `https://a.example${path}`, headers: { 'X-Key': key, 'X-Same': 'planted-same' } },
      ],
    });
    const seeVersions = () =>
      recordVersions(
        database,
        control.memory.records('config').flatMap((each) => parseVersion(each as OpenRecord)),
      );
    const change = async () => {
      const before = destination('/old', 'planted-1', 'planted-a');
      const { id, version, webhooks } = await control.destination(before);
      const { sharedSecret, webhooks: changed } = destination('/new', 'planted-2', 'planted-b');
      const body = { sharedSecret, webhooks: [{ ...changed[0], id: webhooks[0].id }] };
      await control.call('patch', `/destinations/${id}`).send(body);
      const url = aUrl({ url: webhooks[0].id, destinationVersion: version });
      await record(anEvent({ destination: id, urls: [url] }));
      return { id: id as string, url };
    };
    const shown = async () => (await get('/deliveries/dlv_1')).attempts[0].urls[0];

    test('an attempt shows the URL that it called, and secret headers changed since', async () => {
      await change();
      await seeVersions();
      const { address, request } = await shown();
      expect([address, request.url]).toEqual(['https://a.example/old', 'https://a.example/old']);
      expect(request).toMatchObject({
        changed: true,
        headers: { 'x-key': '***', 'x-same': '***' },
      });
      expect(request.changedHeaders).toEqual(['x-key', 'x-signature', 'webhook-signature']);
      expect(JSON.stringify([address, request])).not.toContain('planted');
    });

    test('an attempt of an unknown version shows no URL', async () => {
      await change();
      expect(await shown()).toMatchObject({ address: null, request: null });
    });

    test('others than administrators see the origin', async () => {
      await change();
      await seeVersions();
      const answer = await (await control.as('operator'))('get', '/deliveries/dlv_1');
      expect(answer.body.attempts[0].urls[0]).toMatchObject({
        address: null,
        request: { url: 'https://a.example' },
      });
      expect(answer.text).not.toContain('/old');
    });

    test('the audit trail shows the URL before and after', async () => {
      const { id } = await change();
      await seeVersions();
      await recordAudit(
        database,
        control.memory.records('config').flatMap((each) => parseNotes(each as OpenRecord)),
      );
      const [changed, created] = (await get(`/audit?entry=${id}`)).data;
      const webhooks = (row: { changes: { field: string }[] }) =>
        row.changes.find(({ field }) => field === 'webhooks');
      expect(webhooks(changed)).toMatchObject({
        from: [{ address: 'https://a.example/old' }],
        to: [{ address: 'https://a.example/new', headers: { 'X-Key': '***' } }],
      });
      expect(webhooks(created)).toMatchObject({
        from: null,
        to: [{ address: 'https://a.example/old' }],
      });
    });

    test('a circuit of the old URL is not shown as open', async () => {
      const { id, url } = await change();
      await seeVersions();
      const circuit = {
        kind: 'circuit' as const,
        destination: id,
        url: url.url,
        origin: url.origin,
        why: 'failed',
      };
      const opened = (destinationVersion: number, seconds: number) =>
        storeEvents(
          database,
          [{ ...circuit, destinationVersion, state: 'open', at: at(seconds) }],
          [],
        );
      const circuits = async () => (await get('/overview')).data[0].circuits as object[];
      await opened(1, 10);
      expect(await circuits()).toEqual([]);
      await opened(2, 20);
      expect(await circuits()).toMatchObject([{ state: 'open', at: at(20) }]);
      expect(await get(`/destinations/${id}/health`)).toMatchObject({ state: 'off' });
      // A request that began before the circuit opened says nothing.
      await record(
        anEvent({
          delivery: 'dlv_2',
          destination: id,
          at: at(21),
          urls: [{ ...url, durationMs: 5_000 }],
        }),
      );
      expect(await circuits()).toHaveLength(1);
      await record(anEvent({ delivery: 'dlv_3', destination: id, at: at(22), urls: [url] }));
      expect(await circuits()).toEqual([]);
    });
  });

  test('a failing token endpoint fails a destination at once, until the next success', async () => {
    const { id } = await control.destination({ enabled: true });
    control.clock.now = new Date(at(3_600));
    const happens = async (event: DeliveryEvent) => {
      await record(event);
      await storeEvidence(database, evidenceOf(Buffer.from(JSON.stringify(event))));
    };
    const message = 'the token endpoint gave no token: it answered 500';
    const error = { code: 'token' as const, phase: 'token' as const, message };
    const { status: _, ...url } = aUrl({ outcome: 'retry', error });
    await happens(aWait({ destination: id, reason: 'token', at: at(3_590), urls: [url] }));
    const lastError = {
      code: 'token',
      status: null,
      message: `https://a.example: ${message}`,
    };
    const failing = { state: 'failing', waiting: 1, lastError };
    expect(await get(`/destinations/${id}/health`)).toMatchObject(failing);
    expect((await get('/overview')).data).toMatchObject([{ state: 'failing', held: 1, lastError }]);
    await happens(anEvent({ destination: id, hop: 1, at: at(3_595) }));
    expect(await get(`/destinations/${id}/health`)).toMatchObject({ state: 'healthy', waiting: 0 });
  });

  test('a destination is healthy in the overview too if its last attempt succeeded', async () => {
    const { id } = await control.destination({ enabled: true });
    const tries = [
      ...[1, 2, 3].map((n) => aFailure({ destination: id, n, at: at(n) })),
      anEvent({ destination: id, n: 4, at: at(4) }),
    ];
    control.clock.now = new Date(at(3_600));
    await record(...tries);
    const stateOf = async () =>
      ((await get('/overview')).data as { state: string }[]).map(({ state }) => state);
    expect(await stateOf()).toEqual(['failing']);
    await storeEvidence(
      database,
      tries.flatMap((each) => evidenceOf(Buffer.from(JSON.stringify(each)))),
    );
    expect(await stateOf()).toEqual(['healthy']);
    expect(await get(`/destinations/${id}/health`)).toMatchObject({ state: 'healthy' });
  });

  test.each([
    ['NUL', 'A\0B'],
    ['half a character', 'A\ud83dB'],
  ])('a destination whose name had %s in it shows its health', async (_, name) => {
    const { id } = await control.destination();
    for (const each of [name, 'Hooks']) {
      await control.call('patch', `/destinations/${id}`).send({ name: each }).expect(200);
    }
    await recordAudit(
      database,
      control.memory.records('config').flatMap((each) => parseNotes(each as OpenRecord)),
    );
    expect(await get(`/destinations/${id}/health`)).toMatchObject({ state: 'off' });
    const [renamed] = (await get(`/audit?entry=${id}`)).data;
    expect(renamed.changes).toEqual([
      { field: 'name', from: name.replace(/\0|\ud83d/, '\ufffd'), to: 'Hooks' },
    ]);
  });

  test('the reason of a wait is not a pause that has ended', async () => {
    const { id } = await control.destination({ paused: true });
    await record(aWait({ destination: id, reason: 'paused' }));
    expect(await get('/deliveries/dlv_1')).toMatchObject({ status: 'held', reason: 'paused' });
    const found = async () => {
      const by = async (status: string) =>
        ((await get(`/deliveries?status=${status}&destination=${id}&total=true`)).total as Total)
          .count;
      return [await by('held'), await by('waiting'), await by('retrying')];
    };
    expect(await found()).toEqual([1, 0, 0]);
    await control.call('patch', `/destinations/${id}`).send({ paused: false });
    expect(await get('/deliveries/dlv_1')).toMatchObject({ status: 'waiting', reason: null });
    expect(await found()).toEqual([0, 1, 0]);
  });

  test('an unknown delivery is not found', async () => {
    expect((await control.call('get', '/deliveries/dlv_none')).status).toBe(404);
  });
});

test('the overview shows the state of each destination', async () => {
  const { id } = await control.destination();
  await record(
    ...[1, 2, 3].map((i) => anEvent({ delivery: `dlv_${i}`, destination: id })),
    aFailure({ delivery: 'dlv_4', destination: id }),
    aDeath({ delivery: 'dlv_5', destination: id }),
    anEvent({ delivery: 'dlv_6', destination: id, test: true }),
  );
  control.clock.now = new Date(at(60));
  const overview = await get('/overview');
  expect(overview.data).toEqual([
    {
      destination: id,
      name: 'Hooks',
      enabled: false,
      paused: false,
      delivered: 3,
      partlyDelivered: 0,
      dead: 1,
      cancelled: 0,
      attempts: 4,
      failedAttempts: 1,
      state: 'off',
      successRate: 0.75,
      lastError: null,
      lastDead: {
        at: at(1),
        reason: 'rejected',
        code: null,
        status: null,
        message: null,
      },
      oldestWaitingAt: at(0),
      waiting: 0,
      retrying: 1,
      held: 0,
      circuits: [],
      latencyMs: { p50: expect.any(Number), p95: expect.any(Number) },
    },
  ]);
  expect(overview.series).toMatchObject([{ delivered: 3, dead: 1 }]);
  // The heading of the latency chart is about the whole time, not about its last step.
  expect(overview.totals).toMatchObject({
    delivered: 3,
    attempts: 4,
    latencyMs: overview.data[0].latencyMs,
  });
  expect((await get(`/overview?until=${at(-60)}`)).totals).toMatchObject({
    delivered: 0,
    latencyMs: { p50: null },
  });
  const { trend } = (await get('/overview?trend=true')).data[0];
  expect(trend.stepSeconds).toBe(3_600);
  expect(trend.delivered.reduce((sum: number, n: number) => sum + n)).toBe(3);
  expect((await get(`/overview?since=${at(30)}`)).data).toMatchObject([{ delivered: 3 }]);
  expect((await get('/overview?destination=dst_other')).series).toEqual([]);
  control.clock.now = new Date(at(3 * 86_400));
  expect((await get('/overview')).data).toMatchObject([{ delivered: 0, retrying: 1 }]);
});

test.each([
  [60, 1, 0],
  [120, 1, 0],
  [122, 2, 1],
])('each figure until %i s counts to the end of that minute', async (seconds, delivered, dead) => {
  const { id } = await control.destination();
  await record(
    anEvent({ delivery: 'dlv_1', destination: id }),
    anEvent({ delivery: 'dlv_2', destination: id, at: at(121) }),
    aDeath({ delivery: 'dlv_3', destination: id, at: at(121) }),
  );
  control.clock.now = new Date(at(600));
  const span = `since=${at(0)}&until=${at(seconds)}`;
  const overview = await get(`/overview?trend=true&${span}`);
  const health = await get(`/destinations/${String(id)}/health?${span}`);
  const [row] = overview.data;
  const sumOf = (counts: number[]) => counts.reduce((sum, count) => sum + count, 0);
  const inSteps = ({ series }: { series: { delivered: number; dead: number }[] }) => ({
    delivered: sumOf(series.map((step) => step.delivered)),
    dead: sumOf(series.map((step) => step.dead)),
  });
  for (const counted of [overview.totals, row, inSteps(overview), inSteps(health)]) {
    expect(counted).toMatchObject({ delivered, dead });
  }
  expect(sumOf(row.trend.delivered)).toBe(delivered);
  expect(row.lastDead === null).toBe(dead === 0);
});

test('the configuration still works while the history cannot be read', async () => {
  control = await controlUnderTest();
  for (const path of ['/deliveries', '/deliveries/dlv_1', '/overview']) {
    const answer = await control.call('get', path);
    expect([answer.status, answer.body.type]).toEqual([503, 'urn:waypost:problem:unavailable']);
  }
  expect((await control.call('post', '/sources').send({ name: 'Site' })).status).toBe(201);
});

describe('a delivery that was never rendered', () => {
  const place = { topic: 'messages', partition: 0, offset: 0 };
  const fields = { destination: '', acceptedAt: at(1), source: 'src_1', message: 'msg-9' };
  const called = async (request: object) => {
    const { id } = (await control.destination({ enabled: true, request })) as { id: string };
    const message = {
      type: 'track',
      messageId: 'msg-9',
      timestamp: at(1),
      receivedAt: at(1),
      userId: 'u',
      properties: {},
    };
    control.memory.append([
      {
        topic: 'messages',
        key: 'src_1:u',
        value: JSON.stringify(message),
        headers: {
          format: FORMAT_HEADER,
          source: 'src_1',
          message: 'msg-9',
          'accepted-at': String(Date.parse(at(1))),
          traceparent: '',
        },
      },
    ]);
    const death = aDeath({
      ...fields,
      delivery: 'dlv_9',
      destination: id,
      reason: 'render_failed',
    });
    await record({ ...death, record: place, n: 0, error: 'request/body: there is no "coupon"' });
    return id;
  };

  test('lists show field and cause as last error, and filters find it until delivery', async () => {
    await called({ body: '{"user": userId}' });
    const lastError = { code: 'render_failed', message: 'request/body: there is no "coupon"' };
    const listed = async (query: string) => (await get(`/deliveries?${query}`)).data;
    expect(await listed('error=render_failed')).toMatchObject([
      { id: 'dlv_9', lastStatusCode: null, lastError },
    ]);
    expect(await listed('error=timeout')).toEqual([]);
    expect(await get('/deliveries/dlv_9')).toMatchObject({ lastError });
    await record(
      anEvent({ delivery: 'dlv_9', acceptedAt: at(1), replay: 1, destination: 'dst_1' }),
    );
    expect(await listed('error=render_failed')).toEqual([]);
    expect(await get('/deliveries/dlv_9')).toMatchObject({ lastError: null });
  });

  test('it is shown without a body, and a replay renders it by the present template', async () => {
    await called({ body: '{"user": userId}' });
    expect(await get('/deliveries/dlv_9')).toMatchObject({
      status: 'dead',
      reason: 'render_failed',
      body: null,
    });
    const replayed = await control.call('post', '/deliveries/dlv_9/replay').send();
    expect(replayed.body).toMatchObject({ replay: 1, status: 'waiting' });
    const due = control.memory.records('webhooks.due').at(-1)!;
    expect(due.value?.toString()).toBe('{"user":"u"}');
    // The event of the replay names the message, and the record is the one beside it.
    const { value } = control.memory.records('attempts').at(-1)!;
    const event = JSON.parse(value!.toString()) as DeliveryEvent;
    await record(event);
    expect(await get(`/deliveries/${event.delivery}`)).toMatchObject({
      reason: 'replayed',
      body: { user: 'u' },
    });
  });

  test('a replay whose template still fails names the field and sends nothing', async () => {
    await called({ headers: { 'X-Coupon': 'properties.coupon' } });
    const replayed = await control
      .call('post', '/deliveries/dlv_9/replay')
      .send({ render: 'again' });
    expect([replayed.status, replayed.body.errors]).toEqual([
      422,
      [{ pointer: '#/request/headers/X-Coupon', detail: 'there is no "coupon"' }],
    ]);
    expect(control.memory.records('webhooks.due')).toEqual([]);
  });
});
