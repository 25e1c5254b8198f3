import { Recalls } from '../../../services/retry/recalls';
import { ATTEMPTS, DUE } from '../../../shared/kafka/topics';
import { encodeDelivery } from '../../../shared/model/delivery';
import { AppError } from '../../../shared/runtime/errors';
import { createLog } from '../../../shared/telemetry/log';
import { recordingProducer } from '../../support/fakes';
import { aDelivery, aRecord } from '../../support/factories';

test("a due record of a new partition waits for its last owner's notes, and asks for them", () => {
  let completeAt = 0;
  let asked = 0;
  let steadyMs = 1_000;
  const unused = () => Promise.reject(new Error('Kafka was asked'));
  const recalls = new Recalls({
    kafka: { read: unused, ranges: unused, committed: unused },
    producer: recordingProducer(),
    tiers: () => ['webhooks.retry.10s'],
    completeAt: () => completeAt,
    expectSoon: () => asked++,
    now: () => 1_700_000_000_000,
    steadyMs: () => steadyMs,
    sleep: () => Promise.resolve(),
    keepMs: 86_400_000,
    log: createLog('test', 'silent'),
  });
  recalls.positions.onAssigned(new Set([3]));
  const due = aRecord({ topic: 'webhooks.retry.10s', partition: 3 });
  expect(recalls.check(due)).toEqual({ againInMs: 50 });
  expect(asked).toBe(1);
  steadyMs = 1_100;
  completeAt = 1_050;
  expect([recalls.check(due), asked]).toEqual(['return', 1]);
});

const TIER = 'webhooks.retry.10s';
const NOW = 1_700_000_000_000;
let stop = () => Promise.resolve();
afterEach(() => stop());

/**
 * Recalls over one partition of one tier.
 * @param time default: a clock by which it recalls at full speed
 */
function aTier(time?: { steadyMs: () => number; sleep: (ms: number) => Promise<void> }) {
  const producer = recordingProducer();
  let deliveries: string[] = [];
  let steadyMs = 0;
  const recordAt = (offset: number) => {
    const delivery = deliveries[offset]!;
    const waiting = aDelivery({ id: delivery, destinationId: 'dst', expiresAt: NOW + 1_000 });
    const headers = encodeDelivery(waiting);
    return aRecord({ topic: TIER, offset, timestampMs: NOW - 1, headers });
  };
  const end = () => deliveries.length;
  const recalls = new Recalls({
    kafka: {
      read: ({ offset }) =>
        Promise.resolve({
          records: deliveries.map((_, at) => recordAt(at)).slice(offset),
          next: end(),
          end: end(),
          gone: false,
          era: '',
        }),
      ranges: () => Promise.resolve([{ partition: 0, low: 0, high: end() }]),
      committed: () => Promise.resolve([0]),
    },
    producer,
    tiers: () => [TIER],
    completeAt: () => Infinity,
    expectSoon: () => undefined,
    now: () => NOW,
    steadyMs: time?.steadyMs ?? (() => (steadyMs += 1_000)),
    sleep: time?.sleep ?? (() => new Promise(setImmediate)),
    keepMs: 86_400_000,
    log: createLog('test', 'silent'),
  });
  stop = () => recalls.stop(0);
  recalls.positions.onAssigned(new Set([0]));
  recalls.start();
  const request = (action: 'retry_all' | 'probe' | 'cancel') => {
    const where = { destination: 'dst' };
    const recall = { kind: 'recall', id: 'rcl', action, where, keys: [], expiresBy: NOW + 1_000 };
    recalls.onRecall(aRecord({ value: Buffer.from(JSON.stringify(recall)), timestampMs: NOW }));
  };
  return {
    recalls,
    producer,
    request,
    check: (offset: number) => recalls.check(recordAt(offset)),
    holds: (names: string[]) => (deliveries = names),
    returnedTo: (next: number) => recalls.positions.reached({ topic: TIER, partition: 0 }, next),
    taken: async () => {
      for (let i = 0; i < 50; i++) await new Promise(setImmediate);
      return producer.appends
        .flat()
        .flatMap(({ topic, headers }) => (topic === DUE ? (headers?.delivery ?? []) : []));
    },
  };
}

test('after a late turn all leave together that were due meanwhile', async () => {
  const LATE_MS = 10_000;
  let nowMs = 0;
  const { request, holds, taken, producer, returnedTo } = aTier({
    steadyMs: () => nowMs,
    sleep: async (ms) => {
      await new Promise(setImmediate);
      nowMs += nowMs < LATE_MS ? LATE_MS : ms;
    },
  });
  const leftAt: number[] = [];
  producer.behave = (records) => {
    for (const { topic } of records) if (topic === DUE) leftAt.push(nowMs);
    return Promise.resolve();
  };
  holds(Array.from({ length: 1_000 }, (_, i) => `d${i}`));
  returnedTo(0);
  request('retry_all');
  await taken();
  expect([leftAt[0], leftAt[1], leftAt.at(-1), leftAt.length]).toEqual([
    0,
    LATE_MS,
    LATE_MS,
    1_000,
  ]);
});

test('a stop waits for a while only for a copy that Kafka does not acknowledge', async () => {
  const { recalls, producer, request, holds, returnedTo, taken } = aTier();
  let sent = 0;
  producer.behave = () => new Promise(() => sent++);
  holds(['a']);
  returnedTo(0);
  request('retry_all');
  await taken();
  expect(sent).toBe(1);
  await expect(recalls.stop(1)).resolves.toBeUndefined();
});

describe('after a tier was cut', () => {
  const CUT = { topic: TIER, partition: 0, from: 2, wasCut: true };

  test('a recall takes the records in the places of returned ones', async () => {
    const { recalls, request, holds, returnedTo, taken } = aTier();
    holds(['a', 'b', 'c', 'd', 'e']);
    returnedTo(5);
    holds(['a', 'b', 'new']);
    recalls.onRestart(CUT);
    request('retry_all');
    expect(await taken()).toEqual(['new']);
  });

  test('a cancellation also takes them if the cut comes while it searches', async () => {
    const { recalls, request, holds, returnedTo, taken, producer } = aTier();
    holds(['a', 'b', 'c', 'd', 'e']);
    returnedTo(0);
    producer.behave = () => {
      producer.behave = () => Promise.resolve();
      holds(['a', 'b', 'new']);
      recalls.onRestart(CUT);
      return Promise.resolve();
    };
    request('cancel');
    expect(await taken()).toEqual(['a', 'b', 'c', 'd', 'e', 'new']);
  });

  test('a cancellation that goes on takes the records in places that it has searched', async () => {
    const { recalls, request, holds, returnedTo, taken } = aTier();
    holds(['a', 'b', 'c', 'd', 'e']);
    returnedTo(0);
    request('cancel');
    expect(await taken()).toEqual(['a', 'b', 'c', 'd', 'e']);
    holds(['a', 'b', 'new']);
    recalls.onRestart(CUT);
    expect(await taken()).toEqual(['a', 'b', 'c', 'd', 'e', 'new']);
  });
});

describe('a record that Kafka refuses for good', () => {
  const refused = new AppError('kafka_refused', 'Kafka refuses a record (MESSAGE_TOO_LARGE)');

  /** A tier whose second record has become too large, and where the first ones were asked for. */
  function withTooLarge(action: 'retry_all' | 'probe') {
    const tier = aTier();
    tier.holds(['a', 'large', 'c']);
    tier.returnedTo(action === 'probe' ? 1 : 0);
    tier.producer.behave = (records) =>
      records.some(({ topic, headers }) => topic === DUE && headers?.delivery === 'large')
        ? Promise.reject(refused)
        : Promise.resolve();
    tier.request(action);
    return tier;
  }

  test('stays in its tier, and the others of the recall leave it once', async () => {
    const { taken, check } = withTooLarge('retry_all');
    expect(await taken()).toEqual(['a', 'large', 'c']);
    expect([0, 1, 2].map(check)).toEqual(['drop', 'return', 'drop']);
  });

  test('ends no probe: the next one is asked for', async () => {
    const { taken } = withTooLarge('probe');
    expect(await taken()).toEqual(['large', 'c']);
  });

  test('holds up no delivery if it is an event', async () => {
    const tier = aTier();
    tier.holds(['a']);
    tier.returnedTo(0);
    tier.producer.behave = ([record]) =>
      record?.topic === ATTEMPTS ? Promise.reject(refused) : Promise.resolve();
    tier.request('retry_all');
    expect(await tier.taken()).toEqual(['a']);
  });
});
