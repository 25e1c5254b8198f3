import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent, request } from 'node:http';
import { type Broker } from '../../dev/kafka/broker';
import { findKafka, type Launch } from '../../dev/kafka/kafka-source';
import { eventually } from '../support/eventually';
import { aSource } from '../support/fakes';
import { type IngestProcess, startIngestProcess } from '../support/ingest-process';
import { limitMemory } from '../support/memory-limit';
import { aWriteKey } from '../support/write-key';

/**
 * Ingest under a flood and during outages of Kafka, with the limits of the Helm chart's container:
 * 512 MiB, and 320 MB of heap. The kernel kills a process above it. It has a separate broker,
 * because other tests need theirs.
 */

const MIB = 1024 * 1024;
/** `FROZEN_S=60` makes it a minute. */
const FROZEN_MS = Number(process.env.FROZEN_S ?? 5) * 1_000;
const CLIENTS = 1_000;
const TEST_MS = 240_000 + FROZEN_MS;

const limit = limitMemory(512 * MIB);
let dir: string;
let launch: Launch;
let broker: Broker;
let ingest: IngestProcess;

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'waypost-ingest-'));
  launch = await findKafka(() => undefined);
  broker = await launch({ dir, open: true });
  await broker.ready(120_000);
  const more = {
    NODE_OPTIONS: '--max-old-space-size=320',
    WAYPOST_SOURCE_MAX_PER_SECOND: '1000000',
  };
  ingest = await startIngestProcess(broker.address, { more, within: limit.command });
  await ingest.addSources(aSource(), aSource({ id: 'src_2', writeKeys: [aWriteKey('key-2')] }));
}, 240_000);
afterAll(async () => {
  await ingest.close();
  await broker.discard();
  limit.remove();
  rmSync(dir, { recursive: true, force: true });
});

const track = (userId: string) => ({
  type: 'track',
  userId,
  event: 'e',
  properties: { pad: 'x'.repeat(900) },
});
const basic = (key: string) => `Basic ${Buffer.from(`${key}:`).toString('base64')}`;
const single = JSON.stringify(track('u'));
const batch = JSON.stringify({ batch: Array.from({ length: 100 }, (_, i) => track(`u${i}`)) });
const accepted = (key: string) =>
  eventually(
    async () => expect(await ingest.post(key, '/v1/t', track('u'))).toMatchObject({ status: 200 }),
    {
      deadlineMs: 120_000,
    },
  );

/** Returns the peak memory of the process, MiB. */
const peakMib = () =>
  Number(
    /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${ingest.process.pid}/status`, 'utf8'))?.[1],
  ) / 1_024;

/** Sends a body without its last byte. */
function stall(bytes: number, key: string): Socket {
  const { hostname, port } = new URL(ingest.url);
  const socket = connect(Number(port), hostname);
  // A refusal resets the connection while the client still writes.
  socket.on('error', () => undefined);
  socket.write(
    `POST /v1/batch HTTP/1.1\r\nHost: x\r\nAuthorization: ${basic(key)}\r\nContent-Length: ` +
      `${bytes}\r\n\r\n`,
  );
  socket.write(Buffer.alloc(bytes - 1, ' '));
  return socket.resume();
}

test(
  '700 stalled bodies of one source do not cause refusals of another',
  async () => {
    await accepted('key-2');
    const stalled = Array.from({ length: 700 }, () => stall(500_000, 'key-1'));
    await eventually(() =>
      expect(
        stalled.every(({ writableLength, destroyed }) => destroyed || writableLength === 0),
      ).toBe(true),
    );
    // Almost as large as a request may be: it does not fit where another stalled body would not
    // fit.
    const large = { batch: Array.from({ length: 500 }, (_, i) => track(`u${i}`)) };
    for (let i = 0; i < 10; i++) {
      expect(await ingest.post('key-2', '/v1/batch', large)).toMatchObject({ status: 200 });
    }
    for (const socket of stalled) socket.destroy();
    await accepted('key-1');
  },
  TEST_MS,
);

/**
 * Sends requests with every client until the given time, at least two with each. @returns the
 * number of answers by status
 */
async function load(untilMs: number): Promise<Map<number, number>> {
  const agent = new Agent({ keepAlive: true, maxSockets: CLIENTS });
  const statuses = new Map<number, number>();
  const send = (body: string) =>
    new Promise<number>((resolve) => {
      const headers = { authorization: basic('key-1'), 'content-length': Buffer.byteLength(body) };
      const path = body === single ? '/v1/t' : '/v1/batch';
      request(`${ingest.url}${path}`, { agent, method: 'POST', headers }, (res) => {
        res.resume().on('end', () => resolve(res.statusCode ?? 0));
      })
        .on('error', () => resolve(0))
        .end(body);
    });
  const client = async (body: string) => {
    for (let sent = 0; sent < 2 || Date.now() < untilMs; sent++) {
      const status = await send(body);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
  };
  await Promise.all(
    Array.from({ length: CLIENTS }, (_, i) => client(i % 2 === 0 ? single : batch)),
  );
  agent.destroy();
  return statuses;
}

test(
  'while Kafka is frozen ingest answers 503 within its memory limit, and then takes calls again',
  async () => {
    await accepted('key-1');
    await broker.pause();
    let statuses: Map<number, number>;
    try {
      statuses = await load(Date.now() + FROZEN_MS);
    } finally {
      await broker.resume();
    }
    expect([...statuses.keys()]).toEqual([503]);
    expect(statuses.get(503)).toBeGreaterThan(CLIENTS);
    expect(peakMib()).toBeLessThan(512);
    expect(ingest.process.child.exitCode).toBeNull();
    await accepted('key-1');
    process.stdout.write(
      `${statuses.get(503)} answers of 503, at most ${peakMib().toFixed(0)} MiB\n`,
    );
  },
  TEST_MS,
);

/**
 * Every answer is 503 with one of these codes, within 5 s. Ingest allows itself 4.5 s: on a busy
 * machine one answer may be late, but not every answer.
 */
async function turnedAway(key: string, codes: string[]): Promise<void> {
  const answers: Awaited<ReturnType<IngestProcess['post']>>[] = [];
  await eventually(async () => {
    const answer = await ingest.post(key, '/v1/t', track('u'));
    answers.push(answer);
    expect(answer.ms).toBeLessThan(5_000);
  });
  for (const answer of answers) {
    expect(answer).toMatchObject({ status: 503, body: { success: false } });
    expect(codes).toContain(answer.body.code);
  }
}

test('while Kafka is down ingest answers 503 within 5 s to any key, and then 200', async () => {
  await accepted('key-1');
  broker.kill();
  await broker.ended;
  await Promise.all([
    turnedAway('key-1', ['kafka_unavailable']),
    turnedAway('key-1', ['kafka_unavailable']),
    turnedAway('nobody', ['config_unavailable']),
  ]);
  expect(await ingest.post('key-1', '/v1/batch', { batch: [] })).toMatchObject({ status: 200 });
  expect(await ingest.post('key-1', '/v1/batch', [])).toMatchObject({ status: 400 });

  broker = await launch({ dir, open: true });
  await broker.ready(120_000);
  await accepted('key-1');
  // Calls may be accepted before `config` can be read to its end.
  await eventually(async () =>
    expect(await ingest.post('nobody', '/v1/t', track('u'))).toMatchObject({ status: 401 }),
  );
}, 300_000);

test('while Kafka hangs ingest answers 503 within 5 s, and 200 afterwards', async () => {
  await accepted('key-1');
  await broker.pause();
  try {
    await Promise.all([
      turnedAway('key-1', ['kafka_unavailable']),
      turnedAway('nobody', ['config_unavailable']),
    ]);
  } finally {
    await broker.resume();
  }
  await accepted('key-1');
}, 300_000);
