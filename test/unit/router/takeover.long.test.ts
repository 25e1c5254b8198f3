import { EarlierMessages } from '../../../services/router/earlier-messages';
import { Router } from '../../../services/router/router';
import { type Kafka, type OpenRecord } from '../../../shared/kafka/port';
import { createDedupWindow } from '../../../shared/model/dedup-window';
import { FORMAT_HEADER } from '../../../shared/model/record-format';
import { createLog } from '../../../shared/telemetry/log';
import { aSource, fakeProgress, recordingProducer } from '../../support/fakes';
import { eventually } from '../../support/eventually';
import { aDestination, aRecord } from '../../support/factories';

/**
 * A router that takes a busy partition over, of a thousand calls a second. One in ten calls of the
 * last minute is sent again after the takeover, then there is a new one, and last a copy of the
 * first.
 */

const PER_SECOND = 1_000;
const LAST_MINUTE = 60 * PER_SECOND;
/** Calls before the last minute. */
const REST = 30 * PER_SECOND;
const CALLS = REST + LAST_MINUTE;
const COPIES = LAST_MINUTE / 10;
const NEW = CALLS + COPIES;
const END = NEW + 2;
/** Records behind the first offered one, which its former owner may have done, and one read. */
const SLACK = 10_000 + 8_192;
const START_MS = 1_700_000_000_000;
const LOG = createLog('router', 'silent');

function idAt(offset: number): string {
  if (offset === NEW) return 'new';
  if (offset > NEW) return 'm0';
  return `m${String(offset < CALLS ? offset : REST + (offset - CALLS) * 10)}`;
}

function recordAt(offset: number, done: () => void = () => undefined): OpenRecord {
  const messageId = idAt(offset);
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

/** @param onRead called with the offsets of each read, which it can hold up */
function aBusyLog(
  onRead: (from: number, until: number) => Promise<void>,
): Pick<Kafka, 'read' | 'ranges' | 'committed'> {
  return {
    read: async ({ offset, until = END }) => {
      const next = Math.min(until, END);
      await onRead(offset, next);
      const records = Array.from({ length: next - offset }, (_, i) => recordAt(offset + i));
      return { records, next, end: END, gone: false, era: '' };
    },
    ranges: () => Promise.resolve([{ partition: 0, low: 0, high: END }]),
    committed: () => Promise.resolve([]),
  };
}

test('each resent call of the last minute is dropped, and older ones read meanwhile', async () => {
  let read = 0;
  let longestRead = 0;
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  const kafka = aBusyLog(async (from, until) => {
    if (until <= REST) await released;
    read += until - from;
    longestRead = Math.max(longestRead, until - from);
  });
  const dedupWindow = createDedupWindow();
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
    dedupWindow,
    earlier: new EarlierMessages({ kafka, dedupWindow, log: LOG }),
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
  await eventually(() => expect(offer(CALLS)).toBe('accepted'));
  expect(read).toBeGreaterThanOrEqual(LAST_MINUTE);
  expect(read).toBeLessThanOrEqual(LAST_MINUTE + SLACK);
  let accepted = 1;
  for (let offset = CALLS + 1; offset <= NEW; offset++) {
    if (offer(offset) === 'accepted') accepted++;
  }
  expect(accepted).toBe(COPIES + 1);
  await eventually(() => expect(done).toBe(COPIES + 1));
  // While the rest was not read, copies of older calls would not have been noticed.
  expect(router.counts).toMatchObject({
    duplicates: COPIES,
    routed: 1,
    unchecked: COPIES + 1,
  });
  const sent = producer.appends.flat().filter(({ topic }) => topic === 'webhooks');
  expect(sent.map(({ headers }) => headers?.message)).toEqual(['new']);

  release();
  // It holds each call once.
  await eventually(() => expect(dedupWindow.size).toBe(CALLS + 1));
  expect(longestRead).toBeLessThanOrEqual(8_192);
  expect(offer(END - 1)).toBe('accepted');
  await eventually(() => expect(done).toBe(COPIES + 2));
  expect(router.counts).toMatchObject({
    duplicates: COPIES + 1,
    routed: 1,
    unchecked: COPIES + 1,
  });
});
