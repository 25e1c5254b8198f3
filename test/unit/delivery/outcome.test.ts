import {
  deadLetter,
  cancel,
  concludeAttempt,
  waitRecords,
  type DeliveryInHand,
  type AttemptResult,
} from '../../../services/delivery/outcome';
import { type UrlAttempt } from '../../../shared/model/attempt-events';
import { decodeDelivery, type Delivery } from '../../../shared/model/delivery';
import { type OutRecord } from '../../../shared/kafka/port';

const NOW = Date.parse('2026-11-21T10:00:00.000Z');
const CONTEXT = { nowMs: NOW, tiersMs: [10_000, 60_000], windowMs: 14_400_000 };
const BODY = Buffer.from('{"version":1,"type":"track"}');

function held(change: Partial<Delivery> = {}): DeliveryInHand {
  const delivery: Delivery = {
    id: 'dlv_1',
    messageId: 'm',
    sourceId: 'src',
    destinationId: 'dst',
    type: 'track',
    userId: 'u',
    acceptedAt: NOW - 1_000,
    expiresAt: NOW + 14_400_000,
    attempt: 0,
    hop: 0,
    replay: 0,
    closed: [],
    traceparent: 'tp',
    ...change,
  };
  return { delivery, key: 'dst:1', body: BODY, record: { topic: 'webhooks', partition: 2, offset: 7 } };
}

const url = (outcome: UrlAttempt['outcome'], change: Partial<UrlAttempt> = {}): UrlAttempt => ({
  url: 'whk_a',
  origin: 'https://a.example',
  outcome,
  durationMs: 5,
  ...change,
});

const tried = (urls: UrlAttempt[], change: Partial<AttemptResult> = {}): AttemptResult => ({
  urls,
  rejected: [],
  skipped: false,
  durationMs: 6,
  ...change,
});

/** What was written, as people would read it: topic, and the decoded event or delivery. */
function read(records: OutRecord[]) {
  return records.map((r) => {
    if (r.topic === 'attempts') return { topic: r.topic, ...(JSON.parse(String(r.value)) as object) };
    const decoded = decodeDelivery(r.headers ?? {});
    return {
      topic: r.topic,
      key: r.key,
      body: r.value,
      delivery: decoded.kind === 'delivery' ? decoded.delivery : decoded,
    };
  });
}

describe('what is written of an attempt', () => {
  test('a 2xx: one event, and the delivery is over', () => {
    expect(read(concludeAttempt(held(), tried([url('delivered', { status: 204 })]), CONTEXT))).toEqual([
      {
        topic: 'attempts',
        kind: 'attempt',
        delivery: 'dlv_1',
        message: 'm',
        source: 'src',
        destination: 'dst',
        type: 'track',
        userId: 'u',
        acceptedAt: '2026-11-21T09:59:59.000Z',
        expiresAt: '2026-11-21T14:00:00.000Z',
        replay: 0,
        hop: 0,
        traceparent: 'tp',
        record: { topic: 'webhooks', partition: 2, offset: 7 },
        at: '2026-11-21T10:00:00.000Z',
        n: 1,
        outcome: 'delivered',
        durationMs: 6,
        urls: [{ url: 'whk_a', origin: 'https://a.example', outcome: 'delivered', status: 204, durationMs: 5 }],
      },
    ]);
  });

  test('a failure to be tried again: the same bytes to the tier of this attempt, with what was learnt', () => {
    const failed = url('retry', { status: 503, error: { code: 'status', message: 'the response status was 503' } });
    const [event, waiting] = read(
      concludeAttempt(held(), tried([failed, url('rejected')], { rejected: ['h2'] }), CONTEXT),
    );
    expect(event).toMatchObject({
      n: 1,
      outcome: 'retry',
      reason: 'backoff',
      nextAttemptAt: '2026-11-21T10:00:10.000Z',
    });
    expect(waiting).toMatchObject({
      topic: 'webhooks.retry.10s',
      key: 'dst:1',
      body: BODY,
      delivery: {
        id: 'dlv_1',
        attempt: 1,
        hop: 1,
        closed: ['h2'],
        reason: 'backoff',
        error: 'status: the response status was 503',
      },
    });
  });

  test('Retry-After moves it to the first tier that is long enough', () => {
    const [event, waiting] = read(concludeAttempt(held(), tried([url('retry')], { retryAfterMs: 11_000 }), CONTEXT));
    expect(event).toMatchObject({ reason: 'retry_after', nextAttemptAt: '2026-11-21T10:01:00.000Z' });
    expect(waiting).toMatchObject({ topic: 'webhooks.retry.1m' });
  });

  test('all URLs refused: dead at once', () => {
    const records = read(
      concludeAttempt(held(), tried([url('rejected', { status: 404 })], { rejected: ['h'] }), CONTEXT),
    );
    expect(records).toMatchObject([
      { kind: 'attempt', outcome: 'rejected', reason: 'rejected' },
      { kind: 'dead', n: 1, reason: 'rejected' },
      { topic: 'webhooks.dead', body: BODY, delivery: { attempt: 1, reason: 'rejected', closed: ['h'] } },
    ]);
  });

  test('a URL that had no room is no refusal: the delivery is tried again though the others refused', () => {
    const records = read(
      concludeAttempt(held(), tried([url('rejected')], { rejected: ['h'], skipped: true }), CONTEXT),
    );
    expect(records).toMatchObject([{ outcome: 'retry' }, { topic: 'webhooks.retry.10s', delivery: { closed: ['h'] } }]);
  });

  test('the window has room for a shorter wait only: that one, and the next attempt is the last', () => {
    const due = { attempt: 4, expiresAt: NOW + 30_000 };
    const [, waiting] = read(concludeAttempt(held(due), tried([url('retry')]), CONTEXT));
    expect(waiting).toMatchObject({ topic: 'webhooks.retry.10s', delivery: { final: true } });
    const after = read(concludeAttempt(held({ ...due, final: true }), tried([url('retry')]), CONTEXT));
    expect(after).toMatchObject([
      { reason: 'window_closed' },
      { kind: 'dead', reason: 'window_closed' },
      { topic: 'webhooks.dead' },
    ]);
  });

  test('a test send is over after its one try', () => {
    expect(read(concludeAttempt(held({ test: true }), tried([url('retry')]), CONTEXT))).toMatchObject([
      { kind: 'attempt', test: true, outcome: 'retry' },
    ]);
  });
});

describe('what is written of a delivery that was not tried', () => {
  const wait = { kind: 'wait' as const, tierMs: 60_000, nextAttemptAt: NOW + 60_000 };

  test('held back: no attempt is spent, and the history hears of a reason once', () => {
    const first = read(waitRecords(held(), 'lane_full', wait, CONTEXT));
    expect(first).toMatchObject([
      { topic: 'webhooks.retry.1m', delivery: { attempt: 0, hop: 1, reason: 'lane_full' } },
      { kind: 'waiting', n: 0, reason: 'lane_full', nextAttemptAt: '2026-11-21T10:01:00.000Z' },
    ]);
    const again = read(waitRecords(held({ hop: 1, reason: 'lane_full' }), 'lane_full', wait, CONTEXT));
    expect(again).toMatchObject([{ topic: 'webhooks.retry.1m', delivery: { hop: 2 } }]);
    expect(again).toHaveLength(1);
  });

  test('given up, and cancelled', () => {
    expect(read(deadLetter(held({ attempt: 3 }), 'window_closed', CONTEXT))).toMatchObject([
      { kind: 'dead', n: 3, reason: 'window_closed' },
      { topic: 'webhooks.dead', body: BODY, delivery: { reason: 'window_closed' } },
    ]);
    expect(read(cancel(held(), 'destination_disabled', CONTEXT))).toMatchObject([
      { kind: 'cancelled', n: 0, reason: 'destination_disabled' },
    ]);
  });
});
