import { Returner } from '../../../services/retry/handler';
import { type OpenRecord } from '../../../shared/kafka/port';
import { recordingAppender } from '../../support/fakes';

const NOW = 1_700_000_000_000;

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
    leaving: false,
    release: () => false,
  };
}

test('of two records of the same step, one is given back; the other is done without a trace', async () => {
  const appender = recordingAppender();
  const returner = new Returner({ appender, now: () => NOW, onRoom: () => undefined });
  const done: number[] = [];
  const offer = (offset: number, headers: Record<string, string>) =>
    returner.onRecord(due(offset, headers, () => done.push(offset)));
  const step = { delivery: 'd', attempt: '1', hop: '1' };
  expect([offer(1, step), offer(2, step), offer(3, { ...step, hop: '2' }), offer(4, {})]).toEqual(
    Array(4).fill('taken'),
  );
  await new Promise(setImmediate);
  expect(appender.appends.flat().map(({ headers }) => headers?.hop)).toEqual(['1', '2', undefined]);
  expect(done.sort()).toEqual([1, 2, 3, 4]);
  expect(returner.forksDropped).toBe(1);
});
