import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import { budgetsOf } from '../../../services/ingest/admission';
import { createBodyReader, inflatedChunk, isTrickle } from '../../../services/ingest/read-body';
import { FairShares } from '../../../shared/collections/fair-shares';

describe('a request whose body has not come', () => {
  const budget = () => {
    const shares = new FairShares(30_000);
    return { shares, share: shares.of('owner') };
  };
  /** Begins a POST without its body. @returns both ends of it */
  async function begin() {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
    client.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n');
    const [req] = (await once(server, 'request')) as [IncomingMessage];
    return { server, client, req };
  }

  test('a stalled body keeps the share of its owner, however many others come', async () => {
    const { server, client, req } = await begin();
    const owner = budget();
    const body = createBodyReader()(req, owner);
    for (let i = 0; i < 5_000; i++) owner.shares.of(`passer-by ${i}`);
    expect(owner.shares.of('owner')).toBe(owner.share);
    client.write('hello');
    expect(await body).toEqual(Buffer.from('hello'));
    expect(owner.share.held).toBe(0);
    client.destroy();
    server.close();
  });

  test('a body that comes too slowly is refused', async () => {
    const { server, client, req } = await begin();
    const owner = budget();
    const read = createBodyReader({ graceMs: 0, bytesPerSecond: 1_000_000, checkMs: 1 });
    expect(await read(req, owner)).toBe('request_timeout');
    expect(owner.share.held).toBe(0);
    client.destroy();
    server.close();
  });

  test('a body whose client has left is not awaited', async () => {
    const { server, client, req } = await begin();
    client.destroy();
    await new Promise((resolve) => req.on('close', resolve));
    expect(await createBodyReader()(req, budget())).toBe('gone');
    server.close();
  });
});

const MB = 1024 * 1024;

test.each([
  ["the chart's container", 512, 370],
  ['a small container', 256, 128],
  ['a heap as large as the container', 512, 512],
  ['a machine', 16_384, 4_144],
])('the budgets of %s fit into it', (_, limitMb, heapMb) => {
  const budgets = budgetsOf({ limit: limitMb * MB, heap: heapMb * MB, openFiles: Infinity });
  // What was measured: a pending record takes 2.7 times its text, a request 20 KB, a connection 10
  // KB.
  const heap = budgets.pendingBytes * 2.7 + budgets.requests * 20_000;
  expect(heap).toBeLessThan((heapMb * MB) / 1.5);
  const besideHeap = budgets.bodyBytes + budgets.connections * 2_000;
  expect(besideHeap).toBeLessThan(Math.max(limitMb - heapMb, limitMb / 8) * MB);
});

test("the budgets of a large machine are those of a process's whole throughput", () => {
  expect(budgetsOf({ limit: 64_000 * MB, heap: 4_144 * MB, openFiles: Infinity })).toEqual({
    pendingBytes: 96 * MB,
    bodyBytes: 256 * MB,
    unknownBodyBytes: 64 * MB,
    requests: 5_000,
    connections: 20_000,
  });
});

test.each([
  [1_048_576, 20_000],
  [4_096, 3_896],
  [256, 128],
])('of %i open files, clients take at most %i', (openFiles, connections) => {
  expect(budgetsOf({ limit: 64_000 * MB, heap: 4_144 * MB, openFiles })).toMatchObject({
    connections,
  });
});

test.each([
  ['nothing within the grace', 0, 10_000, false],
  ['nothing after the grace', 0, 10_001, true],
  ['4 KB a second after the grace', 81_920, 20_000, false],
  ['less than 4 KB a second after the grace', 81_919, 20_000, true],
])('with %s, a body of %i bytes after %i ms is too slow: %s', (_, bytes, ms, trickles) => {
  expect(isTrickle(bytes, ms, { graceMs: 10_000, bytesPerSecond: 4_096, checkMs: 1 })).toBe(
    trickles,
  );
});

describe('the memory to inflate a gzipped body', () => {
  const claiming = (bytes: number, length: number) => {
    const raw = Buffer.alloc(bytes);
    raw.writeUInt32LE(length, bytes - 4);
    return raw;
  };

  test.each([
    [
      'an honest length takes one chunk, and a byte to detect its end',
      gzipSync('x'.repeat(100_000)),
      100_001,
    ],
    ['the highest ratio of deflate takes one chunk', gzipSync(Buffer.alloc(512_000)), 512_001],
    ['a short text takes the least chunk', gzipSync('{}'), 4_096],
    ['a length of zero takes the least chunk', claiming(300, 0), 4_096],
    [
      'a claim of 4 GB by a body of 30 bytes reserves what 30 bytes can inflate to',
      claiming(30, 0xffff_ffff),
      30_961,
    ],
    [
      'a claim of 512,000 by a body of 30 bytes reserves what 30 bytes can inflate to',
      claiming(30, 512_000),
      30_961,
    ],
    [
      'a claim of 4 GB by a large body reserves the limit of a body',
      claiming(100_000, 0xffff_ffff),
      512_001,
    ],
    ['a body without a length takes the least chunk', Buffer.alloc(3), 4_096],
  ])('%s', (_, raw, expected) => {
    expect(inflatedChunk(raw)).toBe(expected);
  });
});
