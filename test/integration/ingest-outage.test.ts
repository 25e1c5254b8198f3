import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Broker } from '../../dev/kafka/broker';
import { findKafka, type Launch } from '../../dev/kafka/kafka-source';
import { eventually } from '../support/eventually';
import { aSource } from '../support/fakes';
import { type IngestProcess, startIngestProcess } from '../support/ingest-process';

/** Ingest during an outage of Kafka. It has a separate broker, because other tests need theirs. */

let dir: string;
let launch: Launch;
let broker: Broker;
let ingest: IngestProcess;

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'waypost-ingest-'));
  launch = await findKafka(() => undefined);
  broker = await launch({ dir, open: true });
  await broker.ready(120_000);
  ingest = await startIngestProcess(broker.address);
  await ingest.addSources(aSource());
}, 300_000);
afterAll(async () => {
  await ingest.close();
  await broker.discard();
  rmSync(dir, { recursive: true, force: true });
});

const track = { type: 'track', userId: 'u', event: 'e' };
const accepted = () =>
  eventually(
    async () => expect(await ingest.post('key-1', '/v1/t', track)).toMatchObject({ status: 200 }),
    {
      deadlineMs: 60_000,
    },
  );
/**
 * Every answer is 503 with one of these codes, within 5 s. Ingest allows itself 4.5 s: on a busy
 * machine one answer may be late, but not every answer.
 */
async function turnedAway(key: string, codes: string[]): Promise<void> {
  const answers: Awaited<ReturnType<IngestProcess['post']>>[] = [];
  await eventually(async () => {
    const answer = await ingest.post(key, '/v1/t', track);
    answers.push(answer);
    expect(answer.ms).toBeLessThan(5_000);
  });
  for (const answer of answers) {
    expect(answer).toMatchObject({ status: 503, body: { success: false } });
    expect(codes).toContain(answer.body.code);
  }
}

test('while Kafka is down ingest answers 503 within 5 s to any key, and then 200', async () => {
  await accepted();
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
  await accepted();
  // Calls may be accepted before `config` can be read to its end.
  await eventually(async () =>
    expect(await ingest.post('nobody', '/v1/t', track)).toMatchObject({ status: 401 }),
  );
}, 300_000);

test('while Kafka hangs ingest answers 503 within 5 s, and 200 afterwards', async () => {
  await accepted();
  await broker.pause();
  try {
    await Promise.all([
      turnedAway('key-1', ['kafka_unavailable']),
      turnedAway('nobody', ['config_unavailable']),
    ]);
  } finally {
    await broker.resume();
  }
  await accepted();
}, 300_000);
