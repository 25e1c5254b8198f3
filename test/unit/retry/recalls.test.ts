import { Recalls } from '../../../services/retry/recalls';
import { createLog } from '../../../shared/telemetry/log';
import { recordingProducer } from '../../support/fakes';
import { aRecord } from '../../support/factories';

test('a due record of a new partition waits for the notes of its last owner, and asks for them', () => {
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

describe('after a tier was cut', () => {
  const TIER = 'webhooks.retry.10s';
  const NOW = 1_700_000_000_000;
  const CUT = { topic: TIER, partition: 0, from: 2 };
  let stop = () => Promise.resolve();
  afterEach(() => stop());

  /** Recalls over one partition of one tier. */
  function aTier() {
    const producer = recordingProducer();
    let deliveries: string[] = [];
    let steadyMs = 0;
    const recordAt = (offset: number) => {
      const delivery = deliveries[offset]!;
      const headers = { delivery, destination: 'dst', 'expires-at': String(NOW + 1_000) };
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
      // It recalls at full speed.
      steadyMs: () => (steadyMs += 1_000),
      sleep: () => new Promise(setImmediate),
      keepMs: 86_400_000,
      log: createLog('test', 'silent'),
    });
    stop = () => recalls.stop();
    recalls.positions.onAssigned(new Set([0]));
    recalls.start();
    const request = (action: 'retry_all' | 'cancel') => {
      const where = { destination: 'dst' };
      const recall = { kind: 'recall', id: 'rcl', action, where, keys: [], expiresBy: NOW + 1_000 };
      recalls.onRecall(aRecord({ value: Buffer.from(JSON.stringify(recall)), timestampMs: NOW }));
    };
    return {
      recalls,
      producer,
      request,
      holds: (names: string[]) => (deliveries = names),
      returnedTo: (next: number) => recalls.positions.reached({ topic: TIER, partition: 0 }, next),
      taken: async () => {
        for (let i = 0; i < 50; i++) await new Promise(setImmediate);
        return producer.appends
          .flat()
          .flatMap(({ topic, headers }) =>
            topic === 'webhooks.due' ? (headers?.delivery ?? []) : [],
          );
      },
    };
  }

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
