import { Requeuer } from '../../../services/retry/handler';
import { BrokerClock } from '../../../shared/kafka/broker-clock';
import { type OpenRecord } from '../../../shared/kafka/port';
import { recordingProducer } from '../../support/fakes';

const NOW = 1_700_000_000_000;
const own = { ms: NOW };

/** A record of the tier of 10 s, due since a second. */
function due(offset: number, headers: Record<string, string>, done: () => void): OpenRecord {
  return {
    topic: 'webhooks.retry.10s',
    partition: 3,
    offset,
    timestampMs: NOW - 11_000,
    key: Buffer.from('dst:1'),
    value: Buffer.from('{}'),
    headers,
    done,
    isRevoking: false,
    handBack: () => false,
    defer: () => undefined,
  };
}

test('a retry service whose clock is hours ahead or behind gives records back when they are due', () => {
  // Given the brokers' clock, as the stamps of the records tell it; then its own clock decides nothing.
  const clock = new BrokerClock(() => own.ms);
  for (const wrongByMs of [-7_200_000, 7_200_000]) {
    own.ms = NOW + wrongByMs;
    clock.wrote(NOW, clock.mark());
    const returner = new Requeuer({ producer: recordingProducer(), now: () => clock.now(), onRoom: () => undefined });
    const record = (timestampMs: number) => ({ ...due(1, {}, () => undefined), timestampMs });
    expect(returner.onRecord(record(NOW - 4_000))).toEqual({ againInMs: expect.closeTo(6_000, -1) });
    expect(returner.onRecord(record(NOW - 11_000))).toBe('accepted');
  }
});

test('of two records of the same step, one is given back; the other is done without a trace', async () => {
  const producer = recordingProducer();
  const returner = new Requeuer({ producer, now: () => NOW, onRoom: () => undefined });
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
