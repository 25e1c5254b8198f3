import { defined } from '../../../../shared/collections/defined';
import { createLog, type Log } from '../../../../shared/telemetry/log';
import { metrics } from '../../../../shared/telemetry/metrics';
import { renderMetrics } from '../../../../shared/telemetry/prometheus';
import {
  concludeAttempt,
  type AttemptResult,
  type DeliveryInHand,
  type Disposition,
} from '../../../../services/delivery/decisions/disposition';
import { AttemptLog } from '../../../../services/delivery/telemetry/attempt-log';
import { deliveryMetrics, requestEnded } from '../../../../services/delivery/telemetry/metrics';
import {
  deliveryConcluded,
  counterOf,
  durationOf,
  stepSpan,
} from '../../../../services/delivery/telemetry/telemetry';
import { type UrlAttempt } from '../../../../shared/model/attempt-events';
import { aDelivery } from '../../../support/factories';

const NOW = Date.parse('2026-11-21T10:00:00.000Z');
const TRACE = '0af7651916cd43dd8448eb211c80319c';

const held = (change: Partial<DeliveryInHand> = {}): DeliveryInHand => ({
  delivery: aDelivery({
    messageId: 'm',
    sourceId: 'src',
    destinationId: 'dst',
    userId: 'kim@example.com',
    acceptedAt: NOW - 1_500,
    attempt: 1,
    hop: 1,
    traceparent: `00-${TRACE}-b7ad6b7169203331-01`,
  }),
  key: 'dst:1',
  body: Buffer.from('{"a-body":1}'),
  record: { topic: 'webhooks.due', partition: 2, offset: 7 },
  ...change,
});
const traced = {
  traced: {
    context: `00-${TRACE}-1111111111111111-01`,
    previous: undefined,
    takenAt: 0,
    concludedAt: 0,
  },
};

const answer = (status: number): UrlAttempt => ({
  url: 'whk_a',
  origin: 'https://a.example',
  status,
  durationMs: 12,
  phases: { headers: 12 },
  destinationVersion: 1,
  outcome: status < 300 ? 'delivered' : status < 500 ? 'rejected' : 'retry',
  ...defined({
    error:
      status < 300
        ? undefined
        : { code: 'status' as const, message: `the response status was ${status}` },
  }),
  response: {
    headers: { 'x-secret': 'an-answer-header' },
    body: 'an-answer-body',
    truncated: false,
  },
});

/**
 * Returns the log of attempts, and a function that returns the lines written since its last call.
 */
function logOf(level: string) {
  const lines: string[] = [];
  const log: Log = createLog('delivery', level, { write: (line) => lines.push(line) });
  const written = () => lines.splice(0).map((line) => JSON.parse(line) as Record<string, unknown>);
  return { log: new AttemptLog(log), written };
}

function conclude(log: AttemptLog, status: number, of: DeliveryInHand): void {
  const tried: AttemptResult = {
    urls: [answer(status)],
    rejected: [],
    skipped: false,
    durationMs: 13,
  };
  const disposition = concludeAttempt(of.delivery, tried, {
    nowMs: NOW,
    tiersMs: [10_000, 60_000],
    windowMs: 14_400_000,
  });
  deliveryConcluded(log, of, disposition, NOW);
}

function linesOf(status: number, of: DeliveryInHand, level = 'info'): Record<string, unknown>[] {
  const { log, written } = logOf(level);
  conclude(log, status, of);
  return written();
}

test('a failed attempt logs one wide line, without a body, a header, an address or a user', () => {
  const [line, ...more] = linesOf(503, held());
  expect(more).toEqual([]);
  const { time, ...rest } = line!;
  expect(time).toEqual(expect.any(String));
  expect(rest).toEqual({
    level: 'info',
    service: 'delivery',
    msg: 'delivery.attempted',
    delivery: 'dlv_1',
    message: 'm',
    source: 'src',
    destination: 'dst',
    type: 'track',
    n: 2,
    replay: 0,
    outcome: 'retry',
    fate: 'retried',
    reason: 'backoff',
    durationMs: 13,
    ageMs: 1_500,
    urls: [{ url: 'whk_a', outcome: 'retry', status: 503, durationMs: 12, error: 'status' }],
    topic: 'webhooks.due',
    partition: 2,
    offset: 7,
    trace_id: TRACE,
  });
});

test.each([
  ['a failure', 503, {}, 'info', ['retried']],
  ['a rejection', 404, {}, 'info', ['dead']],
  ['a success', 200, {}, 'info', []],
  ['a success with debug on', 200, {}, 'debug', ['delivered']],
  ['a success with a recorded trace', 200, traced, 'info', ['delivered']],
])('%s (%d) is logged at the right level', (_name, status, change, level, fates) => {
  expect(linesOf(status, held(change), level).map(({ fate }) => fate)).toEqual(fates);
});

test('the line of an attempt with a recorded trace names its span', () =>
  expect(linesOf(200, held(traced))[0]).toMatchObject({
    trace_id: TRACE,
    span_id: '1111111111111111',
  }));

const toDestination = (id: string, change = {}) =>
  held({ delivery: { ...held().delivery, destinationId: id }, ...change });
const many = (count: number, inHand: (i: number) => DeliveryInHand) =>
  Array.from({ length: count }, (_, i) => inHand(i));

test.each<[string, string, DeliveryInHand[], number, object[]]>([
  ['a few failures of a destination are all logged', 'info', many(5, () => held()), 5, []],
  [
    'the first failures of each destination are logged, and the others of a minute are counted',
    'info',
    [
      ...many(20, () => toDestination('a')),
      ...many(3, () => toDestination('b')),
      ...many(6, () => toDestination('c')),
    ],
    5 + 3 + 5,
    [
      { destination: 'a', leftOut: 15 },
      { destination: 'c', leftOut: 1 },
    ],
  ],
  [
    'failures of very many destinations are counted too',
    'info',
    many(302, (i) => toDestination(String(i))),
    300,
    [
      { destination: '300', leftOut: 1 },
      { destination: '301', leftOut: 1 },
    ],
  ],
  ['every failure with a recorded trace is logged', 'info', many(400, () => held(traced)), 400, []],
  ['every failure is logged at the level debug', 'debug', many(400, () => held()), 400, []],
])('%s', (_, level, attempts, logged, leftOut) => {
  const { log, written } = logOf(level);
  const before = deliveryMetrics.attempts.retry.value;
  for (const inHand of attempts) conclude(log, 503, inHand);
  expect(deliveryMetrics.attempts.retry.value - before).toBe(attempts.length);
  expect(written()).toHaveLength(logged);
  log.summarize();
  expect(written().map(({ destination, leftOut }) => ({ destination, leftOut }))).toEqual(leftOut);
  conclude(log, 503, attempts[0]!);
  expect(written()).toHaveLength(1);
  log.summarize();
});

test('failed attempts left out are logged a minute after the first, without a new one', () => {
  jest.useFakeTimers();
  const { log, written } = logOf('info');
  for (const inHand of many(7, () => held())) conclude(log, 503, inHand);
  written();
  jest.advanceTimersByTime(60_000);
  expect(written()).toMatchObject([
    { msg: 'delivery.attempts_left_out', destination: 'dst', leftOut: 2 },
  ]);
  jest.useRealTimers();
});

const WAIT = { tierMs: 60_000, nextAttemptAt: NOW + 60_000 };
const after = (status: number) => ({
  attempt: {
    urls: [answer(status)],
    rejected: [],
    skipped: false,
    durationMs: 13,
    outcome: answer(status).outcome,
  },
});
const { delivered, retried, diverted, dead, cancelled } = deliveryMetrics;

test.each<[string, Disposition, ReturnType<typeof counterOf>]>([
  ['a delivery counts as delivered', { kind: 'delivered', ...after(200) }, delivered],
  ['a test send is not counted', { kind: 'tested', ...after(503) }, undefined],
  [
    'a retry counts by its reason',
    { kind: 'retried', reason: 'retry_after', wait: WAIT, ...after(503) },
    retried.of({ reason: 'retry_after' }),
  ],
  [
    'a diverted delivery counts by its reason',
    { kind: 'diverted', reason: 'lane_full', wait: WAIT },
    diverted.of({ reason: 'lane_full' }),
  ],
  [
    'a dead letter after an attempt counts by its reason',
    { kind: 'dead', reason: 'rejected', ...after(404) },
    dead.of({ reason: 'rejected' }),
  ],
  [
    'a dead letter without an attempt counts by its reason',
    { kind: 'dead', reason: 'window_closed' },
    dead.of({ reason: 'window_closed' }),
  ],
  [
    'a cancellation counts by its reason',
    { kind: 'cancelled', reason: 'destination_deleted' },
    cancelled.of({ reason: 'destination_deleted' }),
  ],
])('%s', (_, disposition, counter) => {
  expect(counterOf(disposition)).toBe(counter);
});

test.each<[string, object, Disposition, ReturnType<typeof durationOf>]>([
  [
    'the first attempt has its own duration',
    { attempt: 0 },
    { kind: 'delivered', ...after(200) },
    deliveryMetrics.first,
  ],
  [
    'all later attempts share a duration',
    { attempt: 3 },
    { kind: 'delivered', ...after(200) },
    deliveryMetrics.later,
  ],
  [
    'a replay has no duration',
    { attempt: 0, replay: 1 },
    { kind: 'delivered', ...after(200) },
    undefined,
  ],
  ['a test send has no duration', { attempt: 0 }, { kind: 'tested', ...after(200) }, undefined],
  [
    'a dead letter has no duration',
    { attempt: 0 },
    { kind: 'dead', reason: 'window_closed' },
    undefined,
  ],
])('%s', (_, change, disposition, series) => {
  expect(durationOf({ ...held().delivery, ...change }, disposition)).toBe(series);
});

test.each<[string, Disposition | undefined, object]>([
  ['a 2xx without an error', { kind: 'delivered', ...after(200) }, { outcome: 'delivered' }],
  [
    'a retry with its reason and error',
    { kind: 'retried', reason: 'backoff', wait: WAIT, ...after(503) },
    { outcome: 'retried', reason: 'backoff', error: '503' },
  ],
  [
    'a diverted delivery with its reason',
    { kind: 'diverted', reason: 'paused', wait: WAIT },
    { outcome: 'diverted', reason: 'paused' },
  ],
  [
    'a dead letter without an attempt',
    { kind: 'dead', reason: 'lane_full' },
    { outcome: 'dead', reason: 'lane_full' },
  ],
  ['a record that was handed back', undefined, { outcome: 'released' }],
])('the span of a step shows %s', (_, disposition, expected) => {
  const { attributes, error } = stepSpan(held(traced), traced.traced, disposition);
  const shown = {
    outcome: attributes['waypost.outcome'],
    reason: attributes['waypost.reason'],
    error,
  };
  expect(shown).toEqual({ reason: undefined, error: undefined, ...expected });
});

test('the span of a step links to the step before it', () => {
  const { links } = stepSpan(
    held(traced),
    { ...traced.traced, previous: '2222222222222222' },
    undefined,
  );
  expect(links).toEqual([{ context: `00-${TRACE}-2222222222222222-01`, as: 'previous' }]);
});

test('each oddity of a response is counted by its kind', async () => {
  const counts = async () => {
    const text = await renderMetrics(metrics);
    return ['header_size', 'interim', 'body_cut'].map((kind) => {
      const line = new RegExp(
        `^waypost_response_oddities_total\\{[^}]*kind="${kind}"[^}]*\\} (.*)`,
        'm',
      );
      return Number(line.exec(text)?.[1]);
    });
  };
  const [size = NaN, interim = NaN, cut = NaN] = await counts();
  requestEnded({ ...answer(200), oddities: ['header_size', 'interim'] });
  requestEnded({ ...answer(200), oddities: ['interim'] });
  requestEnded(answer(200));
  expect(await counts()).toEqual([size + 1, interim + 2, cut]);
});
