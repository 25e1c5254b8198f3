import { Kafka as KafkaJs, logLevel } from 'kafkajs';
import { eventually, Final } from '../support/eventually';
import { aSource } from '../support/fakes';
import { type IngestProcess, startIngestProcess } from '../support/ingest-process';
import { limitRecords } from '../support/limit-records';
import { FORMAT_HEADER } from '../../shared/model/record-format';
import { aWriteKey } from '../support/write-key';

/** Ingest with a real Kafka: every acknowledged call is stored. */

let ingest: IngestProcess;
beforeAll(async () => {
  ingest = await startIngestProcess(process.env.KAFKA_BROKERS!, {
    more: { WAYPOST_INGEST_KEEP_ALIVE: '610s' },
  });
  await ingest.addSources(
    aSource(),
    aSource({ id: 'src_off', enabled: false, writeKeys: [aWriteKey('key-off')] }),
  );
});
afterAll(() => ingest.close());

const track = { type: 'track', userId: 'u', event: 'e' };

interface Stored {
  key: string;
  value: unknown;
  headers: Record<string, string>;
}

async function read(topic: string): Promise<Stored[]> {
  const records: Stored[] = [];
  const tail = await ingest.kafka.tail({
    name: 'test',
    topic,
    from: 'beginning',
    onRecord: ({ key, value, headers }) =>
      records.push({
        key: String(key),
        value: JSON.parse(String(value)),
        headers: Object.fromEntries(
          Object.entries(headers).map(([name, bytes]) => [name, String(bytes)]),
        ),
      }),
    onFatal: (error) => {
      throw error;
    },
  });
  await tail.caughtUp(60_000);
  await tail.stop();
  return records;
}

const idsOf = (records: Stored[]) => records.map(({ headers }) => headers.message ?? '');

test('accepted and rejected calls are in Kafka when they are acknowledged', async () => {
  const answer = await ingest.post('key-1', '/v1/batch', {
    batch: [
      { ...track, messageId: 'm1' },
      { type: 'track' },
      { ...track, messageId: 'm2', userId: 'v' },
    ],
  });
  expect(answer).toMatchObject({ status: 200, body: { success: true, rejected: [{ index: 1 }] } });

  const messages = await read('messages');
  const m1 = messages.find(({ headers }) => headers.message === 'm1')!;
  expect(m1.key).toBe('src_1:u');
  expect(m1.headers).toEqual({
    format: FORMAT_HEADER,
    body: '96,track,userId,',
    config: expect.stringMatching(/^\d+$/),
    source: 'src_1',
    message: 'm1',
    event: 'e',
    'accepted-at': expect.stringMatching(/^\d{13}$/),
    traceparent: expect.stringMatching(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/),
  });
  expect(m1.value).toMatchObject({ ...track, messageId: 'm1' });
  expect(idsOf(messages).sort()).toEqual(['m1', 'm2']);

  const [rejected] = await read('messages.rejected');
  expect(rejected!.key).toBe('src_1');
  expect(rejected!.value).toMatchObject({ code: 'no_user_anon_id', call: { type: 'track' } });
});

test('a load balancer may keep its connections as long as the setting says', async () => {
  const { headers } = await fetch(`${ingest.url}/healthz`);
  expect(headers.get('keep-alive')).toBe('timeout=610');
});

test('ingest accepts a new source and refuses unknown and disabled ones', async () => {
  for (let i = 0; i < 10; i++) {
    const key = `fresh-${i}`;
    await ingest.addSources(aSource({ id: `src_fresh_${i}`, writeKeys: [aWriteKey(key)] }));
    // 503 while it cannot read `config` to its end in time, and never 401.
    await eventually(async () => {
      const { status } = await ingest.post(key, '/v1/t', track);
      if (status === 401) throw new Final(`${key} was refused`);
      expect(status).toBe(200);
    });
  }
  expect(await ingest.post('nobody', '/v1/t', track)).toMatchObject({
    status: 401,
    body: { code: 'unknown_write_key' },
  });
  expect(await ingest.post('key-off', '/v1/t', track)).toMatchObject({
    status: 401,
    body: { code: 'source_disabled' },
  });
});

test('each of many concurrent calls is stored exactly once', async () => {
  const ids = Array.from({ length: 500 }, (_, i) => `many-${i}`);
  const answers = await Promise.all(
    ids.map((messageId, i) =>
      ingest.post('key-1', '/v1/t', { ...track, messageId, userId: `u${i % 50}` }),
    ),
  );
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  const seen = idsOf(await read('messages')).filter((id) => id.startsWith('many-'));
  expect(seen.sort()).toEqual([...ids].sort());
});

test('a batch with the maximum number of calls is stored', async () => {
  const batch = Array.from({ length: 2_500 }, (_, i) => ({
    ...track,
    userId: `u${i}`,
    messageId: `full-${i}`,
  }));
  const answer = await ingest.post('key-1', '/v1/batch', {
    batch,
    context: { pad: 'x'.repeat(500) },
  });
  expect(answer).toMatchObject({ status: 200, body: { success: true } });
  const seen = idsOf(await read('messages')).filter((id) => id.startsWith('full-'));
  expect(seen).toHaveLength(2_500);
});

test('a call that is larger than the topic takes costs no other call of its batch', async () => {
  const brokers = [process.env.KAFKA_BROKERS!];
  const admin = new KafkaJs({ brokers, logLevel: logLevel.NOTHING }).admin();
  await admin.connect();
  await limitRecords(admin, `${ingest.prefix}messages`, 4_000);
  await admin.disconnect();
  const large = (messageId: string) => ({
    ...track,
    messageId,
    event: messageId,
    properties: { pad: 'x'.repeat(4_000) },
  });
  // The broker learns the new limit a moment later.
  await eventually(async () =>
    expect(await ingest.post('key-1', '/v1/t', large('first'))).toMatchObject({
      status: 200,
      body: { success: true, rejected: [{ index: 0, code: 'kafka_refused' }] },
    }),
  );
  const ids = Array.from({ length: 40 }, (_, i) => `small-${i}`);
  const small = ids.map((messageId) => ({ ...track, messageId }));
  const batch = [...small.slice(0, 20), large('second'), ...small.slice(20)];
  const [answer, neighbour] = await Promise.all([
    ingest.post('key-1', '/v1/batch', { batch }),
    ingest.post('key-1', '/v1/t', { ...track, messageId: 'small-neighbour' }),
  ]);
  expect(answer).toMatchObject({
    status: 200,
    body: { success: true, rejected: [{ index: 20, code: 'kafka_refused' }] },
  });
  expect(neighbour).toMatchObject({ status: 200, body: { success: true } });
  const stored = idsOf(await read('messages'));
  expect([...ids, 'small-neighbour'].filter((id) => !stored.includes(id))).toEqual([]);
  expect(stored).not.toContain('second');
  await eventually(async () => {
    const rejected = (await read('messages.rejected')).map(({ value }) => JSON.stringify(value));
    expect(rejected).toContainEqual(expect.stringMatching(/kafka_refused.*second/));
  });
});

test('ingest answers pending requests after SIGTERM and exits with 0', async () => {
  const pending = Array.from({ length: 50 }, (_, i) =>
    ingest.post('key-1', '/v1/t', { ...track, messageId: `last-${i}` }),
  );
  const results = Promise.allSettled(pending);
  await pending[0];
  ingest.process.child.kill('SIGTERM');
  await eventually(async () => {
    const reasons = await ingest.notReady();
    if (reasons !== undefined) expect(reasons).toEqual(['stopping']);
  });
  expect(await ingest.process.exited).toBe(0);
  const acknowledged = (await results).flatMap((result, i) =>
    result.status === 'fulfilled' && result.value.status === 200 ? [`last-${i}`] : [],
  );
  const seen = new Set(idsOf(await read('messages')));
  expect(acknowledged.filter((id) => !seen.has(id))).toEqual([]);
  expect(acknowledged.length).toBeGreaterThan(0);
});
