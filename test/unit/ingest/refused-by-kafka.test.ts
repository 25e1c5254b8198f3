import { type OutRecord } from '../../../shared/kafka/port';
import { AppError } from '../../../shared/runtime/errors';
import { metrics } from '../../../shared/telemetry/metrics';
import { renderMetrics } from '../../../shared/telemetry/prometheus';
import { startTestIngest, type TestIngest } from './start';

/** What ingest answers and stores if Kafka refuses the records of some calls for good. */

const MOST_BYTES = 5_000;

let ingest: TestIngest;
/** what Kafka has taken; of records sent together all or none, as the producer may do */
let taken: OutRecord[];
beforeEach(async () => {
  ingest = await startTestIngest();
  taken = [];
  ingest.producer.behave = (records) => {
    if (records.some(({ value }) => (value?.length ?? 0) > MOST_BYTES)) {
      return Promise.reject(new AppError('kafka_refused', 'a record is too large'));
    }
    taken.push(...records);
    return Promise.resolve();
  };
});
afterEach(() => ingest.stop());

const track = (event: string, bytes = 0) => ({
  type: 'track',
  userId: 'u',
  event,
  messageId: event,
  properties: { pad: 'x'.repeat(bytes) },
});
const large = (event: string) => track(event, MOST_BYTES);

function valuesOf(topic: string): Record<string, unknown>[] {
  return taken
    .filter((record) => record.topic === topic)
    .map(({ value }) => JSON.parse(String(value)) as Record<string, unknown>);
}

async function counted(metric: string): Promise<number> {
  const found = new RegExp(`^waypost_messages_${metric} (\\d+)`, 'm');
  return Number(found.exec(await renderMetrics(metrics))?.[1] ?? 0);
}

test.each([
  ['a batch', '/v1/batch', { batch: [track('a'), large('b'), track('c')] }, [1], ['a', 'c']],
  ['a call', '/v1/track', large('b'), [0], []],
  [
    'a batch with an invalid call',
    '/v1/batch',
    { batch: [large('a'), {}, track('b'), large('c')] },
    [0, 1, 3],
    ['b'],
  ],
])(
  '%s is answered with 200, and its refused calls are named',
  async (_, path, body, at, events) => {
    const { status, body: answer } = await ingest.post(path, body);
    const { success, rejected } = answer as {
      success: boolean;
      rejected: { index: number; code: string; message: string }[];
    };
    expect([status, success, rejected.map(({ index }) => index)]).toEqual([200, true, at]);
    const refused = rejected.filter(({ code }) => code === 'kafka_refused');
    expect(refused.map(({ message }) => message)).toEqual(
      refused.map(() => expect.stringContaining('`max.message.bytes` of the topic `messages`')),
    );
    expect(valuesOf('messages').map(({ event }) => event)).toEqual(events);
  },
);

test('the debugger gets the beginning of a refused call', async () => {
  await ingest.post('/v1/batch', { batch: [large('big one')] });
  expect(valuesOf('messages.rejected')).toEqual([
    expect.objectContaining({
      source: 'src_1',
      code: 'kafka_refused',
      call: expect.stringContaining('"event":"big one"'),
      truncated: true,
    }),
  ]);
});

test('refused calls count as rejected, and not as accepted', async () => {
  const figures = () =>
    Promise.all([
      counted('accepted_total(?:\\{[^}]*\\})?'),
      counted('rejected_total\\{[^}]*reason="kafka_refused"[^}]*\\}'),
    ]);
  const [accepted, rejected] = await figures();
  await ingest.post('/v1/batch', { batch: [track('a'), large('b'), track('c')] });
  expect(await figures()).toEqual([accepted + 2, rejected + 1]);
});

test('a refusal that an operator can end is answered with 503', async () => {
  ingest.producer.behave = () =>
    Promise.reject(new AppError('kafka_refused', 'allow the user to write the topic', true));
  expect(await ingest.post('/v1/batch', { batch: [track('a')] })).toMatchObject({
    status: 503,
    body: { code: 'kafka_unavailable' },
  });
});

test('of rejected calls only those are lost whose records Kafka refuses', async () => {
  const notStored = () => counted('rejected_not_stored_total(?:\\{[^}]*\\})?');
  const before = await notStored();
  const invalid = (pad: string) => ({ type: 'track', pad });
  const batch = [invalid('a'), invalid('x'.repeat(MOST_BYTES)), invalid('c'), track('d')];
  expect(await ingest.post('/v1/batch', { batch })).toMatchObject({ status: 200 });
  expect(valuesOf('messages.rejected').map(({ call }) => (call as { pad: string }).pad)).toEqual([
    'a',
    'c',
  ]);
  expect(valuesOf('messages').map(({ event }) => event)).toEqual(['d']);
  expect(await notStored()).toBe(before + 1);
});
