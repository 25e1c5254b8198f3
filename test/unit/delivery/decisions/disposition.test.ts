import {
  concludeAttempt,
  nextTopic,
  recordsOf,
  type AttemptResult,
  type DeliveryInHand,
  type Disposition,
} from '../../../../services/delivery/decisions/disposition';
import { type UrlAttempt } from '../../../../shared/model/attempt-events';
import { decodeDelivery, type Delivery } from '../../../../shared/model/delivery';
import { type OutRecord } from '../../../../shared/kafka/port';
import { aDelivery } from '../../../support/factories';

const NOW = Date.parse('2026-11-21T10:00:00.000Z');
const CONTEXT = { nowMs: NOW, tiersMs: [10_000, 60_000], windowMs: 14_400_000 };
const BODY = Buffer.from('{"version":1,"type":"track"}');

function held(change: Partial<Delivery> = {}): DeliveryInHand {
  const delivery = aDelivery({
    messageId: 'm',
    sourceId: 'src',
    destinationId: 'dst',
    userId: 'u',
    acceptedAt: NOW - 1_000,
    expiresAt: NOW + 14_400_000,
    traceparent: 'tp',
    ...change,
  });
  return {
    delivery,
    key: 'dst:1',
    body: BODY,
    record: { topic: 'webhooks', partition: 2, offset: 7 },
  };
}

const url = (outcome: UrlAttempt['outcome'], change: Partial<UrlAttempt> = {}): UrlAttempt => ({
  url: 'whk_a',
  origin: 'https://a.example',
  destinationVersion: 1,
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

const WAIT = { kind: 'wait' as const, tierMs: 60_000, nextAttemptAt: NOW + 60_000 };

/** Returns the records after an attempt, decoded. */
const recordsAfter = (of: DeliveryInHand, result: AttemptResult) =>
  records(of, concludeAttempt(of.delivery, result, CONTEXT));

/** Returns the records of a step: each topic, with the decoded event or delivery. */
function records(of: DeliveryInHand, disposition: Disposition) {
  return recordsOf(of, disposition, NOW).map((r: OutRecord) => {
    if (r.topic === 'attempts') {
      return { topic: r.topic, ...(JSON.parse(String(r.value)) as object) };
    }
    const decoded = decodeDelivery(r.headers ?? {});
    return {
      topic: r.topic,
      key: r.key,
      body: r.value,
      delivery: decoded.kind === 'delivery' ? decoded.delivery : decoded,
    };
  });
}

describe('a failed attempt of a destination with a plan', () => {
  const after = (of: DeliveryInHand, context: object = {}, result: Partial<AttemptResult> = {}) => {
    const timing = { ...CONTEXT, delaysMs: [45_000, 7_200_000], ...context };
    return records(of, concludeAttempt(of.delivery, tried([url('retry')], result), timing));
  };

  test('its first tier is recorded with the end of the whole delay', () => {
    const nextAttemptAt = '2026-11-21T10:00:50.000Z';
    expect(after(held())).toMatchObject([
      { topic: 'attempts', reason: 'backoff', nextAttemptAt },
      {
        topic: 'webhooks.retry.20s',
        delivery: { reason: 'backoff', notBefore: NOW + 45_000, attempt: 1, hop: 1 },
      },
    ]);
  });

  test('a delay of one tier needs no further mark', () => {
    const [, waiting] = after(held(), { delaysMs: [60_000] });
    expect(waiting).toMatchObject({ topic: 'webhooks.retry.1m', delivery: { hop: 1 } });
    expect(waiting).not.toHaveProperty('delivery.notBefore');
  });

  test('the last delay repeats, and a hop within it writes no event', () => {
    const between = held({ attempt: 5, hop: 40, reason: 'backoff', notBefore: NOW + 100_000 });
    const wait = {
      tierMs: 60_000,
      nextAttemptAt: NOW + 100_000,
      notBefore: NOW + 100_000,
    };
    expect(after(held({ attempt: 5 }))[1]).toMatchObject({
      delivery: { notBefore: NOW + 7_200_000 },
    });
    expect(records(between, { kind: 'diverted', reason: 'backoff', wait })).toMatchObject([
      { topic: 'webhooks.retry.1m', delivery: { attempt: 5, hop: 41, notBefore: NOW + 100_000 } },
    ]);
  });

  test('a delay beyond the window leads to one last try within it', () => {
    const near = held({ attempt: 3, expiresAt: NOW + 95_000 });
    expect(after(near)[1]).toMatchObject({
      topic: 'webhooks.retry.1m',
      delivery: { notBefore: NOW + 85_000 },
    });
  });
});

describe('the records of an attempt', () => {
  test('a 2xx writes one event and ends the delivery', () => {
    expect(recordsAfter(held(), tried([url('delivered', { status: 204 })]))).toEqual([
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
        urls: [url('delivered', { status: 204 })],
      },
    ]);
  });

  test('a failure to retry sends equal bytes to its tier, with the excluded URLs and error', () => {
    const failed = url('retry', {
      status: 503,
      error: { code: 'status', message: 'the response status was 503' },
    });
    const [event, waiting] = recordsAfter(
      held(),
      tried([failed, url('rejected')], { rejected: ['h2'] }),
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
        excludedUrls: ['h2'],
        reason: 'backoff',
        error: 'status: the response status was 503',
      },
    });
  });

  test('Retry-After selects the first tier that is long enough', () => {
    const [event, waiting] = recordsAfter(held(), tried([url('retry')], { retryAfterMs: 11_000 }));
    expect(event).toMatchObject({
      reason: 'retry_after',
      nextAttemptAt: '2026-11-21T10:00:20.000Z',
    });
    expect(waiting).toMatchObject({ topic: 'webhooks.retry.20s' });
  });

  test('a delivery that all URLs reject goes to the dead letters immediately', () => {
    const written = recordsAfter(
      held(),
      tried([url('rejected', { status: 404 })], { rejected: ['h'] }),
    );
    expect(written).toMatchObject([
      { kind: 'attempt', outcome: 'rejected', reason: 'rejected' },
      { kind: 'dead', n: 1, reason: 'rejected' },
      {
        topic: 'webhooks.dead',
        body: BODY,
        delivery: { attempt: 1, reason: 'rejected', excludedUrls: ['h'] },
      },
    ]);
  });

  test('a delivery is retried if one URL had no room, although the others rejected it', () => {
    const written = recordsAfter(
      held(),
      tried([url('rejected')], { rejected: ['h'], skipped: true }),
    );
    expect(written).toMatchObject([
      { outcome: 'retry' },
      { topic: 'webhooks.retry.10s', delivery: { excludedUrls: ['h'] } },
    ]);
  });

  test('the last wait in the window is shortened to fit, and the next attempt is the last', () => {
    const [, waiting] = recordsAfter(
      held({ attempt: 4, expiresAt: NOW + 30_000 }),
      tried([url('retry')]),
    );
    expect(waiting).toMatchObject({ topic: 'webhooks.retry.20s' });
    const after = recordsAfter(
      held({ attempt: 5, expiresAt: NOW + 10_000 }),
      tried([url('retry')]),
    );
    expect(after).toMatchObject([
      { reason: 'window_closed' },
      { kind: 'dead', reason: 'window_closed' },
      { topic: 'webhooks.dead' },
    ]);
  });

  test('a test send ends after one attempt', () => {
    expect(recordsAfter(held({ test: true }), tried([url('retry')]))).toMatchObject([
      { kind: 'attempt', test: true, outcome: 'retry' },
    ]);
  });
});

describe('the records of a delivery that was not tried', () => {
  const laneFull: Disposition = { kind: 'diverted', reason: 'lane_full', wait: WAIT };

  test('diverting spends no attempt, and writes one event per reason', () => {
    const first = records(held(), laneFull);
    expect(first).toMatchObject([
      { topic: 'webhooks.retry.1m', delivery: { attempt: 0, hop: 1, reason: 'lane_full' } },
      { kind: 'waiting', n: 0, reason: 'lane_full', nextAttemptAt: '2026-11-21T10:01:00.000Z' },
    ]);
    const again = records(held({ hop: 1, reason: 'lane_full' }), laneFull);
    expect(again).toMatchObject([{ topic: 'webhooks.retry.1m', delivery: { hop: 2 } }]);
    expect(again).toHaveLength(1);
  });

  test('a dead letter keeps the body and the reason, and a cancellation is an event alone', () => {
    expect(records(held({ attempt: 3 }), { kind: 'dead', reason: 'window_closed' })).toMatchObject([
      { kind: 'dead', n: 3, reason: 'window_closed' },
      { topic: 'webhooks.dead', body: BODY, delivery: { reason: 'window_closed' } },
    ]);
    expect(records(held(), { kind: 'cancelled', reason: 'destination_disabled' })).toMatchObject([
      { kind: 'cancelled', n: 0, reason: 'destination_disabled' },
    ]);
  });
});

describe('the disposition of a step', () => {
  const timedOut = tried([url('retry')]);
  test.each<[string, Partial<Delivery>, AttemptResult, object, string | undefined]>([
    ['a 2xx is delivered', {}, tried([url('delivered')]), { kind: 'delivered' }, undefined],
    [
      'a test send is tested even if it fails',
      { test: true },
      timedOut,
      { kind: 'tested' },
      undefined,
    ],
    [
      'a failure is retried',
      {},
      timedOut,
      { kind: 'retried', reason: 'backoff' },
      'webhooks.retry.10s',
    ],
    [
      'a rejection is dead',
      {},
      tried([url('rejected')]),
      { kind: 'dead', reason: 'rejected' },
      'webhooks.dead',
    ],
    [
      'a failure is dead after its window',
      { expiresAt: NOW },
      timedOut,
      { kind: 'dead', reason: 'window_closed' },
      'webhooks.dead',
    ],
  ])('%s', (_, change, result, expected, topic) => {
    const disposition = concludeAttempt(held(change).delivery, result, CONTEXT);
    expect(disposition).toMatchObject(expected);
    expect(nextTopic(disposition)).toBe(topic);
  });

  test.each<[string, Disposition, string | undefined]>([
    ['diverted', { kind: 'diverted', reason: 'paused', wait: WAIT }, 'webhooks.retry.1m'],
    ['dead', { kind: 'dead', reason: 'window_closed' }, 'webhooks.dead'],
    ['cancelled', { kind: 'cancelled', reason: 'destination_deleted' }, undefined],
  ])(
    'a delivery that is %s without an attempt goes to the right topic',
    (_, disposition, topic) => {
      expect(nextTopic(disposition)).toBe(topic);
      const deliveries = recordsOf(held(), disposition, NOW).filter(
        ({ topic }) => topic !== 'attempts',
      );
      expect(deliveries.map(({ topic }) => topic)).toEqual(topic === undefined ? [] : [topic]);
    },
  );
});
