import { gzipSync } from 'node:zlib';
import { createClientAddress } from '../../../shared/runtime/client-address';
import { type LimitedRecord } from '../../../shared/model/rejected-calls';
import { type SourceLimits } from '../../../shared/model/config';
import { eventually } from '../../support/eventually';
import { aSource } from '../../support/fakes';
import { budgetsOf } from '../../../services/ingest/admission';
import { type IngestOptions } from '../../../services/ingest/assemble';
import { basic, gzipped, rawSocket, startTestIngest, type TestIngest } from './start';
import { aWriteKey } from '../../support/write-key';

let ingest: TestIngest;
afterEach(() => ingest.stop());

const track = { type: 'track', userId: 'u', event: 'e' };
const none = { authorization: '' };

/**
 * Starts ingest with a clock that stands still, so that no limit regains anything while a loaded
 * machine works.
 */
const start = (options: Partial<IngestOptions> = {}) =>
  startTestIngest({ now: () => 1_800_000_000_000, ...options });

/** A request's head, with as much of its body as is given. */
function head(key: string | undefined, contentLength: number, body = ''): string {
  const authorization = key === undefined ? '' : `Authorization: ${basic(key).authorization!}\r\n`;
  return (
    `POST /v1/batch HTTP/1.1\r\nHost: x\r\n${authorization}Content-Length: ` +
    `${contentLength}\r\n\r\n${body}`
  );
}

/** A second source, with limits. */
async function startLimited(limits: SourceLimits): Promise<void> {
  ingest = await start();
  ingest.config.add(aSource({ id: 'src_limited', writeKeys: [aWriteKey('key-limited')], limits }));
}

describe('the write key before the body', () => {
  test('an unknown key is refused before the body, and the connection stays usable', async () => {
    ingest = await start();
    const { socket, received } = rawSocket(ingest.port);
    socket.write(head('nobody', 100_000));
    await eventually(() => expect(received()).toMatch(/^HTTP\/1.1 401 .*unknown_write_key/s));
    const body = JSON.stringify({ batch: [track] });
    socket.write(`${'x'.repeat(100_000)}${head('key-1', body.length, body)}`);
    await eventually(() => expect(received()).toMatch(/HTTP\/1.1 200 .*"success":true/s));
    socket.destroy();
  });

  test('a key that is created while the request waits is accepted', async () => {
    ingest = await start();
    ingest.config.addUnseen(aSource({ id: 'src_new', writeKeys: [aWriteKey('key-made')] }));
    expect(await ingest.post('/v1/t', track, basic('key-made'))).toMatchObject({ status: 200 });
  });
});

describe('the limits of a source', () => {
  const limited = basic('key-limited');

  test('only calls beyond the rate are answered 429, with whole seconds to wait', async () => {
    await startLimited({ maxPerSecond: 0.5, burstMs: 10_000 });
    const answers = [];
    for (let i = 0; i < 7; i++) answers.push(await ingest.post('/v1/t', track, limited));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 429, 429]);
    expect(answers[6]!.body).toMatchObject({ success: false, code: 'rate_limited' });
    expect(answers[6]!.headers.get('retry-after')).toMatch(/^[12]$/);
    expect(await ingest.post('/v1/t', track)).toMatchObject({ status: 200 });
    expect(ingest.producer.values('messages')).toHaveLength(6);
  });

  test('a batch above the burst passes, and the next gets 429 until it is paid', async () => {
    await startLimited({ maxPerSecond: 1, burstMs: 1_000 });
    const batch = Array.from({ length: 100 }, () => track);
    expect(await ingest.post('/v1/batch', { batch }, limited)).toMatchObject({ status: 200 });
    const answer = await ingest.post('/v1/t', track, limited);
    expect(answer.status).toBe(429);
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(90);
  });

  test('bytes are limited after decompression, also of bodies that are wrong', async () => {
    await startLimited({ maxBytesPerSecond: 1_000, burstMs: 1_000 });
    const bomb = gzipSync(`{"batch":[[${'[],'.repeat(150_000)}[]]]}`);
    const gzip = { 'content-encoding': 'gzip' };
    expect(await ingest.post('/v1/batch', bomb, { ...limited, ...gzip })).toMatchObject({
      status: 400,
    });
    expect(await ingest.post('/v1/t', track, limited)).toMatchObject({ status: 429 });
  });

  test('a batch counts as many calls as it holds, also those that are rejected', async () => {
    await startLimited({ maxPerSecond: 1, maxBytesPerSecond: 10_000_000, burstMs: 1_000 });
    const batch = Array.from({ length: 1_000 }, () => track);
    const merged = { context: { pad: 'x'.repeat(20_000) }, batch };
    const answer = await ingest.post('/v1/batch', merged, limited);
    expect(answer).toMatchObject({ status: 200, body: { rejected: expect.any(Array) } });
    const next = await ingest.post('/v1/t', track, limited);
    expect(next.status).toBe(429);
    expect(Number(next.headers.get('retry-after'))).toBeGreaterThan(900);
  });

  test('a key in the body has the same limits as one in the header', async () => {
    await startLimited({ maxPerSecond: 0.1, burstMs: 10_000 });
    const body = { writeKey: 'key-limited', batch: [track] };
    expect(await ingest.post('/v1/batch', body, none)).toMatchObject({ status: 200 });
    expect(await ingest.post('/v1/batch', body, none)).toMatchObject({ status: 429 });
  });

  test('several processes share the limit of a source', async () => {
    ingest = await start({ limits: { maxPerSecond: 1, processes: 5 } });
    const statuses = [];
    for (let i = 0; i < 3; i++) statuses.push((await ingest.post('/v1/t', track)).status);
    expect(statuses).toEqual([200, 200, 429]);
  });

  test('limited requests are counted in one record a second at most', async () => {
    await startLimited({ maxPerSecond: 0.1, burstMs: 10_000 });
    for (let i = 0; i < 21; i++) await ingest.post('/v1/t', track, limited);
    await eventually(() => {
      const records = ingest.producer.values('messages.limited') as unknown as LimitedRecord[];
      expect(records.reduce((sum, { sources }) => sum + (sources.src_limited ?? 0), 0)).toBe(20);
      expect(records.length).toBeLessThan(10);
    });
  });
});

describe('the limit of an address', () => {
  test('an address with many refusals gets 429, and a valid key from it does not', async () => {
    ingest = await start();
    const statuses = new Set<number>();
    const wrongKeys = async (count: number) => {
      for (let i = 0; i < count; i++) {
        statuses.add((await ingest.post('/v1/t', track, basic(`nobody-${i}`))).status);
      }
    };
    await wrongKeys(20);
    for (let i = 0; i < 150; i++) await ingest.post('/v1/t', '{"broken', none);
    await wrongKeys(5);
    expect([...statuses]).toEqual([401, 429]);
    expect(await ingest.post('/v1/t', track)).toMatchObject({ status: 200 });
    expect(await ingest.post('/v1/t', { ...track, writeKey: 'key-1' }, none)).toMatchObject({
      status: 200,
    });
    expect(await ingest.post('/v1/t', '{"broken', none)).toMatchObject({ status: 429 });
    expect(await ingest.post('/v1/t', '{"broken')).toMatchObject({ status: 400 });
  });

  test("of a body's thousands of keys few are looked up, and its address must wait", async () => {
    ingest = await start();
    for (let i = 0; i < 110; i++) await ingest.post('/v1/t', '{"broken', none);
    const lookUp = jest.spyOn(ingest.config, 'sourceByWriteKey');
    const keys = gzipped(
      `{${Array.from({ length: 20_000 }, (_, i) => `"writeKey":"${i}"`).join()}}`,
    );
    const waits: number[] = [];
    for (let i = 0; i < 50; i++) {
      lookUp.mockClear();
      const { status, headers } = await ingest.post('/v1/batch', keys, {
        ...none,
        'content-encoding': 'gzip',
      });
      expect([status, lookUp.mock.calls.length]).toEqual([429, 8]);
      waits.push(Number(headers.get('retry-after')));
    }
    expect(waits.at(-1)).toBeGreaterThan(waits[0]!);
    const other = JSON.stringify({
      batch: [{ ...track, properties: { writeKey: 'nobody' } }],
      writeKey: 'key-1',
    });
    expect(await ingest.post('/v1/batch', other, none)).toMatchObject({ status: 200 });
  });

  test("a limited address's body that names a key in the wrong place counts for it", async () => {
    await startLimited({ maxPerSecond: 0.1, burstMs: 10_000 });
    for (let i = 0; i < 110; i++) await ingest.post('/v1/t', '{"broken', none);
    const planted = { batch: [{ ...track, properties: { writeKey: 'key-limited' } }] };
    for (const status of [401, 429]) {
      expect(await ingest.post('/v1/batch', planted, none)).toMatchObject({ status });
    }
    expect(await ingest.post('/v1/t', track, basic('key-limited'))).toMatchObject({ status: 429 });
  });

  test('wrong keys of a limited address share a config read, and a new key works', async () => {
    ingest = await start();
    for (let i = 0; i < 110; i++) await ingest.post('/v1/t', '{"broken', none);
    const wrong = Array.from({ length: 40 }, () => ingest.post('/v1/t', track, basic('nobody')));
    for (const answer of await Promise.all(wrong)) expect(answer.status).toBe(429);
    expect(ingest.config.refreshes).toBeLessThan(20);
    ingest.config.addUnseen(aSource({ id: 'src_new', writeKeys: [aWriteKey('key-made')] }));
    expect(await ingest.post('/v1/t', track, basic('key-made'))).toMatchObject({ status: 200 });
  });

  test('3,000 settings requests with wrong keys are paced, and a valid key gets them', async () => {
    const budgets = {
      ...budgetsOf({ limit: 1e9, heap: 5e8, openFiles: Infinity }),
      requests: 10_000,
    };
    ingest = await start({ budgets });
    /** Sends requests, ten on a connection, and counts the statuses of the responses. */
    const statusesOf = async (count: number) => {
      const client = async (connection: number) => {
        const { socket, closed } = rawSocket(ingest.port);
        for (let i = 1; i <= 10; i++) {
          const end = i === 10 ? 'Connection: close\r\n' : '';
          const path = `/v1/projects/nobody-${connection}-${i}/settings`;
          socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n${end}\r\n`);
        }
        return (await closed).match(/HTTP\/1.1 \d+/g) ?? [];
      };
      const statuses = await Promise.all(Array.from({ length: count / 10 }, (_, i) => client(i)));
      return [statuses.flat().length, new Set(statuses.flat())];
    };
    expect(await statusesOf(100)).toEqual([100, new Set(['HTTP/1.1 401'])]);
    expect(await statusesOf(2_900)).toEqual([2_900, new Set(['HTTP/1.1 429'])]);
    // The requests of a limited address share reads of `config`.
    expect(ingest.config.refreshes).toBeLessThan(1_000);
    expect((await fetch(`${ingest.url}/v1/projects/key-1/settings`)).status).toBe(200);
  });

  test('settings requests hold no more than the share of their address', async () => {
    const budgets = { ...budgetsOf({ limit: 1e9, heap: 5e8, openFiles: Infinity }), requests: 30 };
    ingest = await start({ budgets });
    let release = () => {};
    const held = new Promise<void>((resolve) => (release = resolve));
    jest.spyOn(ingest.config, 'refresh').mockReturnValue(held);
    const statuses: number[] = [];
    const answers = Array.from({ length: 60 }, async (_, i) => {
      const { status } = await fetch(`${ingest.url}/v1/projects/nobody-${i}/settings`);
      statuses.push(status);
    });
    await eventually(() => expect(statuses).toHaveLength(40));
    expect(new Set(statuses)).toEqual(new Set([503]));
    release();
    await Promise.all(answers);
    expect(statuses.filter((status) => status === 401)).toHaveLength(20);
  });

  test('each client behind a trusted proxy has its own limit of refusals', async () => {
    ingest = await start({ clientAddress: createClientAddress(['127.0.0.0/8']) });
    const from = (address: string) => ({
      ...basic('nobody'),
      'x-forwarded-for': `6.6.6.6, ${address}`,
    });
    for (let i = 0; i < 150; i++) {
      await ingest.post('/v1/t', '{"broken', { ...from('198.51.100.1'), ...none });
    }
    expect(await ingest.post('/v1/t', track, from('198.51.100.1'))).toMatchObject({ status: 429 });
    expect(await ingest.post('/v1/t', track, from('198.51.100.2'))).toMatchObject({ status: 401 });
  });
});

describe('the shares of memory', () => {
  const budgets = {
    pendingBytes: 1e6,
    bodyBytes: 400_000,
    unknownBodyBytes: 100_000,
    requests: 300,
    connections: 1_000,
  };
  const other = basic('key-2');
  beforeEach(async () => {
    ingest = await start({ budgets });
    ingest.config.add(aSource({ id: 'src_2', writeKeys: [aWriteKey('key-2')] }));
  });

  test.each([
    ['a valid key', 'key-1', 50],
    ['no key', undefined, 50],
  ])('stalled bodies with %s do not hold up other sources', async (_, key, count) => {
    const stalled = Array.from({ length: count }, () => rawSocket(ingest.port));
    for (const { socket } of stalled) socket.write(head(key, 60_000, 'x'.repeat(50_000)));
    const refused = () => stalled.filter(({ received }) => received().includes('503')).length;
    await eventually(() => expect(refused()).toBeGreaterThan(count / 2));
    const batch = Array.from({ length: 300 }, () => track);
    expect(await ingest.post('/v1/batch', { batch }, other)).toMatchObject({ status: 200 });
    for (const { socket } of stalled) socket.destroy();
  });

  test('stalled requests do not hold up other sources', async () => {
    const stalled = Array.from({ length: 290 }, () => rawSocket(ingest.port));
    for (const { socket } of stalled) socket.write(head('key-1', 60_000, 'x'));
    await eventually(() =>
      expect(stalled.filter(({ received }) => received().includes('503')).length).toBe(90),
    );
    expect(await ingest.post('/v1/t', track, other)).toMatchObject({ status: 200 });
    expect(await ingest.post('/v1/t', track)).toMatchObject({
      status: 503,
      body: { code: 'overloaded' },
    });
    for (const { socket } of stalled) socket.destroy();
    await eventually(async () =>
      expect(await ingest.post('/v1/t', track)).toMatchObject({ status: 200 }),
    );
  });

  test('a body that comes byte by byte is charged for the memory of its pieces', async () => {
    const { socket, received } = rawSocket(ingest.port);
    const authorization = basic('key-1').authorization!;
    socket.write(
      `POST /v1/t HTTP/1.1\r\nHost: x\r\nAuthorization: ` +
        `${authorization}\r\nTransfer-Encoding: chunked\r\n\r\n`,
    );
    socket.write('1\r\nx\r\n'.repeat(5_000));
    await eventually(() => expect(received()).toMatch(/^HTTP\/1.1 503 .*overloaded/s));
    socket.destroy();
  });
});
