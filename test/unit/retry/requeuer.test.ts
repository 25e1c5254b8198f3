import { Requeuer, whenDue } from '../../../services/retry/requeuer';
import { TierPositions } from '../../../services/retry/tier-positions';
import { encodeDelivery } from '../../../shared/model/delivery';
import { AppError } from '../../../shared/runtime/errors';
import { type OpenRecord } from '../../../shared/kafka/port';
import { ATTEMPTS, DEAD, DUE } from '../../../shared/kafka/topics';
import { createLog } from '../../../shared/telemetry/log';
import { recordingProducer } from '../../support/fakes';
import { aDelivery, aRecord } from '../../support/factories';

const NOW = 1_700_000_000_000;

const positions = new TierPositions({
  steadyMs: () => 0,
  isTaking: () => false,
  onAssigned: () => undefined,
});
const CLOCK = { now: () => NOW, brokersNow: () => NOW, isInDoubt: false };
const parts = {
  clock: CLOCK,
  steadyMs: () => 0,
  onRoom: () => undefined,
  recalls: { check: () => 'return' as const, positions, onRestart: () => undefined },
  log: createLog('test', 'silent'),
};

/** A record of the tier of 10 s, due since a second. */
function due(offset: number, headers: Record<string, string>, done: () => void): OpenRecord {
  return aRecord({
    topic: 'webhooks.retry.10s',
    partition: 3,
    offset,
    timestampMs: NOW - 11_000,
    key: Buffer.from('dst:1'),
    headers,
    done,
  });
}

test('retry returns a record at the time that its delivery process has planned', () => {
  const returner = new Requeuer({ ...parts, producer: recordingProducer() });
  // The timestamp of a broker whose clock is wrong decides nothing.
  const record = (dueMs: number) => ({
    ...due(1, { due: String(dueMs) }, () => undefined),
    timestampMs: NOW + 3_600_000,
  });
  expect(returner.onRecord(record(NOW + 4_000))).toEqual({ againInMs: 4_000 });
  expect(returner.onRecord(record(NOW))).toBe('accepted');
});

test('while the time is in doubt, a waiting record is looked at again soon, and one note asks for it', async () => {
  const producer = recordingProducer();
  let answer: () => void = () => undefined;
  producer.behave = () => new Promise((resolve) => (answer = resolve));
  const clock = { ...CLOCK, isInDoubt: true };
  const returner = new Requeuer({ ...parts, producer, clock });
  const record = due(1, { due: String(NOW + 4_000) }, () => undefined);
  const offer = () => returner.onRecord(record);
  expect([offer(), offer()]).toEqual([{ againInMs: 200 }, { againInMs: 200 }]);
  expect(producer.appends.flat().map(({ topic }) => topic)).toEqual(['webhooks.recalls']);
  answer();
  await Promise.resolve();
  // The broker that answered did not tell the time.
  offer();
  expect(producer.appends).toHaveLength(2);
  clock.isInDoubt = false;
  expect(offer()).toEqual({ againInMs: 4_000 });
});

/** A requeuer whose steady clock the test moves. */
function onSteadyClock() {
  const steady = { ms: 500_000 };
  const returner = new Requeuer({
    ...parts,
    producer: recordingProducer(),
    steadyMs: () => steady.ms,
  });
  return { returner, steady };
}

test('a head that was planned by a wrong clock goes back after the delay of its tier', () => {
  const { returner, steady } = onSteadyClock();
  // The clock of its delivery process was an hour ahead.
  const record = (offset: number) =>
    due(offset, { due: String(NOW + 3_600_000), attempt: String(offset) }, () => undefined);
  expect(returner.onRecord(record(1))).toEqual({ againInMs: 5_000 });
  steady.ms += 6_000;
  expect(returner.onRecord(record(1))).toEqual({ againInMs: 4_000 });
  steady.ms += 4_000;
  expect(returner.onRecord(record(1))).toBe('accepted');
  // The next head has waited for nothing yet.
  expect(returner.onRecord(record(2))).toEqual({ againInMs: 5_000 });
});

test('a head that took the place of one that was cut off waits for the whole delay', () => {
  const { returner, steady } = onSteadyClock();
  const head = (timestampMs: number) => ({
    ...due(1, { due: String(NOW + 3_600_000) }, () => undefined),
    timestampMs,
  });
  expect(returner.onRecord(head(NOW))).toEqual({ againInMs: 5_000 });
  steady.ms += 6_000;
  expect(returner.onRecord(head(NOW + 6_000))).toEqual({ againInMs: 5_000 });
});

test('of two records of the same step, retry returns one, and drops the other', async () => {
  const producer = recordingProducer();
  const returner = new Requeuer({ ...parts, producer });
  const done: number[] = [];
  const offer = (offset: number, headers: Record<string, string>) =>
    returner.onRecord(due(offset, headers, () => done.push(offset)));
  const step = { delivery: 'd', attempt: '1', hop: '1' };
  expect([offer(1, step), offer(2, step), offer(3, { ...step, hop: '2' }), offer(4, {})]).toEqual(
    Array(4).fill('accepted'),
  );
  await new Promise(setImmediate);
  expect(producer.appends.flat().map(({ headers }) => headers?.hop)).toEqual(['1', '2', undefined]);
  expect(done.sort()).toEqual([1, 2, 3, 4]);
  expect(returner.duplicatesDropped).toBe(1);
});

test('after a cut retry returns a step that was cut off', async () => {
  const producer = recordingProducer();
  const returner = new Requeuer({ ...parts, producer });
  const step = { delivery: 'd', attempt: '1', hop: '1' };
  returner.onRecord(due(5, step, () => undefined));
  returner.onRestart({ topic: 'webhooks.retry.10s', partition: 3, from: 4, wasCut: true });
  returner.onRecord(due(9, step, () => undefined));
  await new Promise(setImmediate);
  expect(producer.appends.flat()).toHaveLength(2);
  expect(returner.duplicatesDropped).toBe(0);
});

test('retry returns a record of a newer format as it is', () => {
  const producer = recordingProducer();
  const returner = new Requeuer({ ...parts, producer });
  const headers = { format: '9', unknown: 'field' };
  expect(returner.onRecord(due(1, headers, () => undefined))).toBe('accepted');
  expect(producer.appends.flat()).toMatchObject([
    { topic: 'webhooks.due', key: 'dst:1', value: Buffer.from('{}'), headers },
  ]);
});

test('a delivery whose record Kafka refuses for good ends dead without a body', async () => {
  const producer = recordingProducer();
  producer.behave = ([first]) =>
    first?.topic === 'webhooks.due'
      ? Promise.reject(new AppError('kafka_refused', 'too large', false))
      : Promise.resolve();
  const returner = new Requeuer({ ...parts, producer });
  const done: number[] = [];
  returner.onRecord(due(1, encodeDelivery(aDelivery({ attempt: 2 })), () => done.push(1)));
  await new Promise(setImmediate);
  expect(done).toEqual([1]);
  const [event, letter] = producer.appends.at(-1)!;
  expect(JSON.parse(String(event!.value))).toMatchObject({
    kind: 'dead',
    n: 2,
    reason: 'too_large',
    record: { topic: 'webhooks.retry.10s', partition: 3, offset: 1 },
  });
  expect(letter).toMatchObject({
    topic: 'webhooks.dead',
    key: 'dst:1',
    value: '',
    headers: { attempt: '2', reason: 'too_large' },
  });
});

test('an unreadable record that Kafka refuses for good ends dead without its value', async () => {
  const producer = recordingProducer();
  producer.behave = ([first]) =>
    first?.value === ''
      ? Promise.resolve()
      : Promise.reject(new AppError('kafka_refused', 'too large', false));
  const returner = new Requeuer({ ...parts, producer });
  const done = jest.fn();
  returner.onRecord(due(1, { format: '9' }, done));
  await new Promise(setImmediate);
  expect(done).toHaveBeenCalledTimes(1);
  expect(producer.appends.at(-1)).toEqual([
    {
      topic: 'webhooks.dead',
      key: 'dst:1',
      value: '',
      headers: {
        format: '9',
        reason: 'unreadable',
        error: 'Kafka refuses its record',
      },
    },
  ]);
});

// Left in its tier, it would stop its partition a million records later.
test.each([
  ['that cannot be read', { format: '9', delivery: 'dlv_a' }],
  ['of a delivery', encodeDelivery(aDelivery({ id: 'dlv_a' }))],
])(
  'a record %s that Kafka refuses in every form is gone, and the log says so',
  async (_, headers) => {
    const producer = recordingProducer();
    producer.behave = () => Promise.reject(new AppError('kafka_refused', 'too large', false));
    const log = createLog('test', 'silent');
    const errors = jest.spyOn(log, 'error');
    const returner = new Requeuer({ ...parts, producer, log });
    const done = jest.fn();
    const defer = jest.fn();
    returner.onRecord({ ...due(1, headers, done), defer });
    await new Promise(setImmediate);
    expect([done.mock.calls.length, defer.mock.calls.length]).toEqual([1, 0]);
    expect(errors.mock.calls).toEqual([
      [
        {
          topic: 'webhooks.retry.10s',
          partition: 3,
          offset: 1,
          delivery: 'dlv_a',
        },
        'delivery.lost',
      ],
    ]);
  },
);

test('a delivery of which Kafka refuses only the event is dead, and not lost', async () => {
  const producer = recordingProducer();
  producer.behave = (records) =>
    records.some(({ topic }) => topic === DUE || topic === ATTEMPTS)
      ? Promise.reject(new AppError('kafka_refused', 'too large', false))
      : Promise.resolve();
  const log = createLog('test', 'silent');
  const errors = jest.spyOn(log, 'error');
  const returner = new Requeuer({ ...parts, producer, log });
  const done = jest.fn();
  returner.onRecord(due(1, encodeDelivery(aDelivery()), done));
  await new Promise(setImmediate);
  expect(producer.appends.at(-1)?.map(({ topic }) => topic)).toEqual([DEAD]);
  expect([done.mock.calls.length, errors.mock.calls]).toEqual([1, []]);
});

test('a record whose end a stopping producer does not take stays in its tier', async () => {
  const producer = recordingProducer();
  producer.behave = ([first]) =>
    Promise.reject(
      first?.topic === 'webhooks.due'
        ? new AppError('kafka_refused', 'too large', false)
        : new AppError('kafka_unavailable', 'stopping', true),
    );
  const returner = new Requeuer({ ...parts, producer });
  const done = jest.fn();
  returner.onRecord(due(1, encodeDelivery(aDelivery()), done));
  await new Promise(setImmediate);
  expect([producer.appends.length, done.mock.calls.length]).toEqual([2, 0]);
});

test.each([
  ['a record whose due time is long past is due now', -40_000, 10_000, 'now'],
  ['a record is due at the exact moment of its due time', 0, 10_000, 'now'],
  ['a record that is due in 3 s is read again in 3 s', 3_000, 10_000, { againInMs: 3_000 }],
  [
    'a record that is due in 1 ms is read again after the least pause, so that one request ' +
      'returns several',
    1,
    10_000,
    { againInMs: 200 },
  ],
  ['a tier of 200 ms is read every 50 ms', 10, 200, { againInMs: 50 }],
  [
    'a record that is due in minutes is read again after five seconds, since the machine may sleep',
    300_000,
    300_000,
    { againInMs: 5_000 },
  ],
])('%s', (_, dueInMs, delayMs, expected) => {
  expect(whenDue(dueInMs, delayMs)).toEqual(expected);
});

test("a record without a due time is due by its timestamp, and by the brokers' clock", () => {
  const clock = { ...CLOCK, now: () => NOW + 3_600_000 };
  const returner = new Requeuer({ ...parts, producer: recordingProducer(), clock });
  const record = (timestampMs: number) => ({ ...due(1, {}, () => undefined), timestampMs });
  expect(returner.onRecord(record(NOW - 7_000))).toEqual({ againInMs: 3_000 });
  expect(returner.onRecord(record(NOW - 10_000))).toBe('accepted');
});
