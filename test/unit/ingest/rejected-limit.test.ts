import { metrics } from '../../../shared/telemetry/metrics';
import { renderMetrics } from '../../../shared/telemetry/prometheus';
import { AppError } from '../../../shared/runtime/errors';
import { aSource } from '../../support/fakes';
import { aWriteKey } from '../../support/write-key';
import { basic, startTestIngest, type TestIngest } from './start';

/** What ingest stores of the rejected calls of a source that sends many. */

let ingest: TestIngest;
let nowMs: number;
beforeEach(async () => {
  nowMs = Date.parse('2026-01-01T00:00:00.000Z');
  ingest = await startTestIngest({ now: () => nowMs });
  ingest.config.add(aSource({ id: 'src_2', writeKeys: [aWriteKey('key-2')] }));
});
afterEach(() => ingest.stop());

const TRACK = { type: 'track', userId: 'u', event: 'e' };
const BURST = 500;
const emptyCalls = (count: number) => ({ batch: Array.from({ length: count }, () => ({})) });

/** Returns what the last request added to `messages.rejected`. */
async function stored(body: unknown, key = 'key-1') {
  ingest.producer.appends.length = 0;
  const answer = await ingest.post('/v1/batch', body, basic(key));
  const records = ingest.producer.appends
    .flat()
    .filter(({ topic }) => topic === 'messages.rejected')
    .map(({ value, headers }) => {
      const { code, call } = JSON.parse(String(value)) as { code: string; call: unknown };
      return { code, call, count: headers?.count };
    });
  return { answer, records };
}

async function metricOf(line: string): Promise<number> {
  const found = new RegExp(`^${line} (\\d+)`, 'm').exec(await renderMetrics(metrics));
  return Number(found?.[1] ?? 0);
}
const rejectedOf = (code: string) =>
  metricOf(`waypost_messages_rejected_total\\{[^}]*reason="${code}"[^}]*\\}`);

/** Returns the counts that ingest has written for charts once it has stopped. */
async function countedOnly(): Promise<number> {
  await ingest.stop();
  return ingest.producer
    .values('messages.limited')
    .reduce((sum, { rejected }) => sum + Number(rejected ?? 0), 0);
}

test('of many rejected calls the first are stored, and the rest is counted by code', async () => {
  const before = [await rejectedOf('invalid_type'), await rejectedOf('invalid_call')];
  const batch = [TRACK, ...emptyCalls(1_499).batch, ...Array.from({ length: 1_000 }, () => 7)];
  const { answer, records } = await stored({ batch });
  const { rejected } = answer.body as { rejected: { index: number }[] };
  expect(rejected.map(({ index }) => index)).toEqual(batch.map((_, i) => i).slice(1));
  expect(ingest.producer.values('messages')).toHaveLength(1);
  const single = { code: 'invalid_type', call: {}, count: undefined };
  expect(records).toEqual([
    ...Array.from({ length: BURST }, () => single),
    { code: 'invalid_type', call: null, count: '999' },
    { code: 'invalid_call', call: null, count: '1000' },
  ]);
  expect([await rejectedOf('invalid_type'), await rejectedOf('invalid_call')]).toEqual([
    before[0]! + 1_499,
    before[1]! + 1_000,
  ]);
  expect(await countedOnly()).toBe(999 - 1 + 1_000 - 1);
});

test('a source stores twenty more a second, and another source its own', async () => {
  const shown = async (count: number, key?: string) => {
    const { records } = await stored(emptyCalls(count), key);
    return records.map((record) => record.count);
  };
  const singles = (count: number) => Array.from({ length: count }, () => undefined);
  expect(await shown(BURST)).toEqual(singles(BURST));
  expect(await shown(1)).toEqual(['1']);
  expect(await shown(3, 'key-2')).toEqual(singles(3));
  nowMs += 1_000;
  expect(await shown(50)).toEqual([...singles(20), '30']);
  nowMs += 3_600_000;
  expect(await shown(BURST + 2)).toEqual([...singles(BURST), '2']);
});

test('a body of which no call can be read is stored once, and later only counted', async () => {
  const unreadable = '{"batch":[{x},{y},{z}]}';
  expect((await stored(unreadable)).records).toEqual([
    { code: 'unreadable', call: unreadable, count: '3' },
  ]);
  expect((await stored('no JSON')).records).toEqual([
    { code: 'unreadable', call: 'no JSON', count: undefined },
  ]);
  await stored(emptyCalls(BURST - 2));
  expect((await stored(unreadable)).records).toEqual([
    { code: 'unreadable', call: null, count: '3' },
  ]);
  expect((await stored('no JSON')).records).toEqual([
    { code: 'unreadable', call: null, count: '1' },
  ]);
  expect(await countedOnly()).toBe(2 + 2);
});

test('what an envelope lost is counted like a call', async () => {
  await stored(emptyCalls(BURST));
  const { records } = await stored({ batch: [TRACK], context: 'text' });
  expect(records).toEqual([{ code: 'invalid_envelope', call: null, count: '1' }]);
});

test('calls that Kafka refuses to store are counted as not stored, and in no chart', async () => {
  const notStored = () => metricOf('waypost_messages_rejected_not_stored_total(?:\\{[^}]*\\})?');
  const before = await notStored();
  ingest.producer.behave = (records) =>
    records.some(({ topic }) => topic === 'messages.rejected')
      ? Promise.reject(new AppError('kafka_refused', 'Kafka takes no such records', true))
      : Promise.resolve();
  expect((await stored(emptyCalls(700))).answer.status).toBe(200);
  expect((await notStored()) - before).toBe(700);
  expect(await countedOnly()).toBe(0);
});
