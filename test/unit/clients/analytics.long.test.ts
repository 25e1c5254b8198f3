import { Analytics } from '../../../clients/node/src/analytics';
import { VERSION } from '../../../clients/node/src/message';
import { type Options } from '../../../clients/node/src/options';
import { detectPlatform } from '../../../clients/node/src/platform';
import { type Answer } from '../../../tools/harness/respond';
import { eventually } from '../../support/eventually';
import { aTrack, bodyOf, type Rig, startRig } from './start';

let rig: Rig;
afterEach(() => rig.close());

const refusal = (status: number, headers: Record<string, string> = {}): Answer => ({
  status,
  headers,
  body: '{"success":false,"code":"some_code","message":"Some words."}',
});
const HOUR = 3_600_000;

test('each type arrives with authorisation and its timestamp', async () => {
  rig = await startRig();
  const { analytics, sink } = rig;
  analytics.identify({ userId: 'u', traits: { plan: 'pro' } });
  analytics.track({ userId: 'u', event: 'E', integrations: { All: false, Webhooks: true } });
  analytics.page({ anonymousId: 'a', name: 'N' });
  analytics.screen({ userId: 'u', name: 'N' });
  analytics.group({ userId: 'u', groupId: 'g' });
  analytics.alias({ userId: 'u', previousId: 'p', timestamp: '2012-12-02T00:30:08.276Z' });
  expect(await analytics.close()).toBe(0);
  const [request] = sink.received('/v1/batch');
  expect(request!.headers).toMatchObject({
    authorization: `Basic ${Buffer.from('key:').toString('base64')}`,
    'content-type': 'application/json',
  });
  const body = bodyOf(request!);
  expect(body.context).toEqual({ library: { name: '@waypost/node', version: VERSION } });
  expect(body.batch.map(({ type }) => type)).toEqual([
    'identify',
    'track',
    'page',
    'screen',
    'group',
    'alias',
  ]);
  expect(new Set(rig.ids()).size).toBe(6);
  for (const call of body.batch.slice(0, 5)) {
    expect(call).toMatchObject({
      originalTimestamp: expect.any(String),
      sentAt: expect.any(String),
    });
  }
  // No clock changes an explicit timestamp.
  expect(body.batch[5]).not.toHaveProperty('sentAt');
  expect(body.batch[5]).not.toHaveProperty('originalTimestamp');
  expect(body.sentAt).toBeUndefined();
});

describe('when batches are sent', () => {
  test.each<[string, Partial<Options>, number, number[]]>([
    ['flushAt by default', { flushAfterMs: HOUR }, 20, [20]],
    ['calls of one moment go together', { flushAfterMs: HOUR }, 45, [45]],
    ['each by itself', { flushAfterMs: HOUR, flushAt: 1, maxInFlight: 1 }, 3, [1, 1, 1]],
    ['flushAfter', { flushAfterMs: 10, flushAt: 100 }, 3, [3]],
  ])('%s', async (_, options, calls, sizes) => {
    rig = await startRig(options);
    for (let i = 0; i < calls; i++) rig.analytics.track(aTrack(String(i)));
    await eventually(() => expect(rig.delivered).toHaveLength(calls));
    expect(rig.batches().map(({ length }) => length)).toEqual(sizes);
  });

  test('batches stay below 500 KB and 2,500 calls', async () => {
    rig = await startRig({ gzip: false });
    for (let i = 0; i < 40; i++) {
      rig.analytics.track({ ...aTrack(`large-${i}`), properties: { text: 'é'.repeat(15_000) } });
    }
    for (let i = 0; i < 6_000; i++) rig.analytics.track(aTrack(String(i)));
    await rig.analytics.flush();
    expect(new Set(rig.ids()).size).toBe(6_040);
    for (const { body } of rig.sink.received()) expect(body.length).toBeLessThanOrEqual(500_000);
    for (const batch of rig.batches()) expect(batch.length).toBeLessThanOrEqual(2_500);
  });

  test.each([true, false])('gzip %s', async (gzip) => {
    rig = await startRig({ gzip });
    for (let i = 0; i < 20; i++) rig.analytics.track(aTrack(String(i)));
    await rig.analytics.flush();
    expect(rig.sink.received()[0]!.headers['content-encoding']).toBe(gzip ? 'gzip' : undefined);
  });
});

describe('a call that may succeed later is sent again with its id', () => {
  test.each<[string, Answer]>([
    ['reset', { misbehave: 'reset' }],
    ...[408, 425, 429, 500, 502, 503, 504].map((status): [string, Answer] => [
      String(status),
      refusal(status),
    ]),
  ])('%s', async (_, fault) => {
    rig = await startRig({ answer: [fault, fault, {}] });
    rig.analytics.track(aTrack('one'));
    await rig.analytics.flush();
    expect(rig.ids()).toEqual(['one', 'one', 'one']);
    expect(rig.delivered).toEqual(['one']);
    expect(rig.failed).toEqual([]);
  });

  test('until retryFor has passed', async () => {
    rig = await startRig({ answer: refusal(503), retryForMs: 500 });
    rig.analytics.track(aTrack('one'));
    await rig.analytics.flush();
    expect(rig.ids().length).toBeGreaterThan(1);
    expect(rig.failed).toEqual([
      { id: 'one', failure: { code: 'status', status: 503, message: 'status 503: Some words.' } },
    ]);
  });

  test('Retry-After holds every batch', async () => {
    const heeded: string[] = [];
    rig = await startRig({
      answer: [refusal(429, { 'retry-after': '1' }), {}],
      flushAt: 1,
      platform: { ...detectPlatform(), debug: (text) => heeded.push(text) },
    });
    rig.analytics.track(aTrack('one'));
    const [first] = await rig.sink.waitFor(1);
    await eventually(() => expect(heeded).toContainEqual(expect.stringContaining('wait 1000 ms')), {
      everyMs: 1,
    });
    rig.analytics.track(aTrack('two'));
    await rig.analytics.flush();
    // Not a measure of speed: the server asked for at least this.
    for (const request of rig.sink.received().slice(1)) {
      expect(request.at - first!.at).toBeGreaterThanOrEqual(990);
    }
    expect(rig.delivered.sort()).toEqual(['one', 'two']);
  });
});

describe('a call that cannot succeed is not sent again', () => {
  test.each([301, 307, 400, 401, 403, 404, 413, 501, 505, 511])('after a %d', async (status) => {
    rig = await startRig({ answer: refusal(status, { location: '/elsewhere' }) });
    rig.analytics.track(aTrack('one'));
    await rig.analytics.flush();
    expect(rig.sink.received()).toHaveLength(1);
    expect(rig.failed).toEqual([
      { id: 'one', failure: { code: 'status', status, message: `status ${status}: Some words.` } },
    ]);
  });

  test('a call that the server rejects does not affect its batch', async () => {
    const rejected = [{ index: 1, code: 'no_user_anon_id', message: 'Who?' }];
    rig = await startRig({ answer: { body: JSON.stringify({ success: true, rejected }) } });
    for (const id of ['a', 'b', 'c']) rig.analytics.track(aTrack(id));
    await rig.analytics.flush();
    expect(rig.delivered).toEqual(['a', 'c']);
    expect(rig.failed).toEqual([
      { id: 'b', failure: { code: 'rejected', message: 'no_user_anon_id: Who?' } },
    ]);
  });
});

describe('the queue is bounded', () => {
  test('a call that does not fit is refused, and queued calls keep their places', async () => {
    rig = await startRig({ queueBytes: 1_000 });
    let n = 0;
    while (rig.analytics.track(aTrack(`call-${n}`))) n++;
    expect(rig.failed).toEqual([
      { id: `call-${n}`, failure: { code: 'queue_full', message: 'the queue is full' } },
    ]);
    await rig.analytics.flush();
    expect(rig.delivered).toEqual(Array.from({ length: n }, (_, i) => `call-${i}`));
  });

  test('room() waits until a call fits', async () => {
    rig = await startRig({ queueBytes: 40_000 });
    for (let i = 0; i < 1_000; i++) {
      await rig.analytics.room();
      expect(rig.analytics.track(aTrack(String(i)))).toBe(true);
    }
    await rig.analytics.flush();
    expect(new Set(rig.delivered).size).toBe(1_000);
    expect(rig.batches().length).toBeGreaterThan(3);
  });
});

describe('beforeSend', () => {
  test('changes or drops calls', async () => {
    rig = await startRig({
      beforeSend: (message) =>
        message.event === 'Secret' ? null : { ...message, context: { ip: '0.0.0.0' } },
    });
    expect(rig.analytics.track({ userId: 'u', event: 'Secret' })).toBe(false);
    expect(rig.analytics.track({ userId: 'u', event: 'Open' })).toBe(true);
    await rig.analytics.flush();
    expect(rig.batches()).toEqual([
      [expect.objectContaining({ event: 'Open', context: { ip: '0.0.0.0' } })],
    ]);
    expect(rig.failed).toEqual([]);
  });
});

describe('close', () => {
  test('gives up and reports calls that it cannot deliver in time', async () => {
    rig = await startRig({ answer: refusal(503), backoffMs: 60_000, flushAt: 1, maxInFlight: 1 });
    rig.analytics.track(aTrack('in flight'));
    rig.analytics.track(aTrack('waiting'));
    await rig.sink.waitFor(1);
    expect(await rig.analytics.close({ timeoutMs: 20 })).toBe(2);
    expect(rig.failed.map(({ id, failure }) => [id, failure.code])).toEqual([
      ['waiting', 'closed'],
      ['in flight', 'closed'],
    ]);
    expect(rig.analytics.track(aTrack('late'))).toBe(false);
    expect(rig.failed.at(-1)).toMatchObject({ id: 'late', failure: { code: 'closed' } });
  });

  test('ends a request that hangs', async () => {
    rig = await startRig({ answer: { misbehave: 'hang' } });
    rig.analytics.track(aTrack('one'));
    await rig.sink.waitFor(1);
    expect(await rig.analytics.close({ timeoutMs: 20 })).toBe(1);
    expect(rig.failed).toMatchObject([{ id: 'one', failure: { code: 'closed' } }]);
  });

  test('sends a call at once that waits for its next attempt', async () => {
    rig = await startRig({ answer: [refusal(503), {}], backoffMs: 60_000 });
    rig.analytics.track(aTrack('one'));
    await rig.sink.waitFor(1);
    expect(await rig.analytics.close()).toBe(0);
    expect(rig.delivered).toEqual(['one']);
  });
});

test('a listener that throws does not affect delivery', async () => {
  const warned: string[] = [];
  rig = await startRig({
    onDelivered: () => {
      throw new Error('mine');
    },
    platform: { ...detectPlatform(), warn: (text) => warned.push(text) },
  });
  rig.analytics.track(aTrack('one'));
  await rig.analytics.flush();
  expect(warned).toEqual([expect.stringContaining('mine')]);
});

test('without a listener the client warns of failures', async () => {
  const warned: string[] = [];
  rig = await startRig({ answer: refusal(401) });
  const quiet = new Analytics(
    { writeKey: 'key', endpoint: rig.sink.url('/') },
    { platform: { ...detectPlatform(), warn: (text) => warned.push(text) } },
  );
  quiet.track(aTrack('one'));
  await quiet.close();
  expect(warned).toEqual(['gave up 1 call: status 401: Some words.']);
});
