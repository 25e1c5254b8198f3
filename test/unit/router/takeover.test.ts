import { EarlierMessages } from '../../../services/router/earlier-messages';
import { Router } from '../../../services/router/router';
import { type Kafka, type OpenRecord } from '../../../shared/kafka/port';
import { createDedupWindow } from '../../../shared/model/dedup-window';
import { FORMAT_HEADER } from '../../../shared/model/record-format';
import { createLog } from '../../../shared/telemetry/log';
import { aSource, fakeProgress, recordingProducer } from '../../support/fakes';
import { eventually } from '../../support/eventually';
import { aDestination, aRecord } from '../../support/factories';

/** A router that takes a busy partition over: half a minute of a thousand calls a second. */

const CALLS = 30_000;
const PER_SECOND = 1_000;
/** The calls, each of them sent again after the takeover, and a new one. */
const END = 2 * CALLS + 1;
const START_MS = 1_700_000_000_000;
const LOG = createLog('router', 'silent');

function recordAt(offset: number, done: () => void = () => undefined): OpenRecord {
  const messageId = offset === END - 1 ? 'new' : `m${String(offset % CALLS)}`;
  const call = {
    type: 'track',
    event: 'e',
    userId: 'kim',
    messageId,
    timestamp: '2026-01-01T00:00:00.000Z',
  };
  return aRecord({
    offset,
    timestampMs: START_MS + (offset * 1_000) / PER_SECOND,
    value: Buffer.from(JSON.stringify(call)),
    headers: {
      format: FORMAT_HEADER,
      source: 'src_1',
      message: messageId,
      'accepted-at': String(START_MS),
    },
    done,
  });
}

/** @param onRead gets the number of records of each read */
function aBusyLog(onRead: (count: number) => void): Pick<Kafka, 'read' | 'ranges' | 'committed'> {
  return {
    read: ({ offset, until = END }) => {
      const next = Math.min(until, END);
      onRead(next - offset);
      const records = Array.from({ length: next - offset }, (_, i) => recordAt(offset + i));
      return Promise.resolve({ records, next, end: END, gone: false, era: '' });
    },
    ranges: () => Promise.resolve([{ partition: 0, low: 0, high: END }]),
    committed: () => Promise.resolve([]),
  };
}

test('each call of the last half minute that is sent again is dropped, and no more is held than these', async () => {
  let longestRead = 0;
  const kafka = aBusyLog((count) => (longestRead = Math.max(longestRead, count)));
  const seen = createDedupWindow();
  const producer = recordingProducer();
  const source = { version: 1, data: aSource({ id: 'src_1' }) };
  const destination = { version: 1, data: aDestination({ sources: ['src_1'] }) };
  const router = new Router({
    config: Object.assign(fakeProgress(), {
      source: () => source,
      destinationsOf: () => [destination],
      isUnreadable: () => false,
      unreadableDestinationsOf: () => [],
    }),
    producer,
    seen,
    earlier: new EarlierMessages({ kafka, seen, log: LOG }),
    windowMs: 1_000,
    now: () => START_MS + (END * 1_000) / PER_SECOND,
    log: LOG,
    onRoom: () => undefined,
    onDecidable: () => undefined,
    onFatal: (error) => {
      throw error;
    },
  });
  let done = 0;
  const offer = (offset: number) => router.onRecord(recordAt(offset, () => done++));
  // It reads the log back before it decides the first one.
  await eventually(() => expect(offer(CALLS)).toBe('accepted'));
  let accepted = 1;
  for (let offset = CALLS + 1; offset < END; offset++) {
    if (offer(offset) === 'accepted') accepted++;
  }
  expect(accepted).toBe(CALLS + 1);
  await eventually(() => expect(done).toBe(CALLS + 1));
  expect(router.counts).toMatchObject({ duplicates: CALLS, routed: 1 });
  const sent = producer.appends.flat().filter(({ topic }) => topic === 'webhooks');
  expect(sent.map(({ headers }) => headers?.message)).toEqual(['new']);
  expect(seen.size).toBe(CALLS + 1);
  expect(longestRead).toBeLessThanOrEqual(8_192);
});
