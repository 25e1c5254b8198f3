import {
  type KnownHealth,
  unknownHealth,
} from '../../../../services/control/health/destination-health';
import {
  healthOf,
  type Observed,
  RECENT_MS,
} from '../../../../services/control/destinations/health';
import { rowsOf, trendOf } from '../../../../services/control/overview/destination-rows';
import { type CircuitRow } from '../../../../services/control/history/circuits';
import { columnsOf } from '../../../../services/control/history/minute-counts';
import { type Destination } from '../../../../shared/model/config';
import { aDestination } from '../../../support/factories';

const HOUR_MS = 3_600_000;
const NOW = Date.parse('2026-01-02T12:00:00.000Z');
const SPAN = { sinceMs: NOW - 24 * HOUR_MS, untilMs: NOW, stepMs: HOUR_MS };
const iso = (ms: number) => new Date(ms).toISOString();

const webhook = (id: string) => ({ id, url: 'sealed', origin: 'https://a.example', headers: {} });
const withTwoUrls = (over: Partial<Destination> = {}): Destination =>
  aDestination({
    webhooks: [webhook('whk_1'), webhook('whk_2')],
    createdAt: iso(NOW - 48 * HOUR_MS),
    ...over,
  });
const aCircuit = (url: string, at = NOW - HOUR_MS): CircuitRow => ({
  destination: 'dst_1',
  url,
  origin: 'https://a.example',
  state: 'open',
  why: 'failed',
  at,
  version: 1,
});

/** @param hoursAgo start of the step */
const counts = (hoursAgo: number, numbers: Record<string, number>) => [
  { at: NOW - hoursAgo * HOUR_MS, ...columnsOf(new Map(Object.entries(numbers))) },
];

const observed = (over: Partial<Observed> = {}): Observed => ({
  destination: withTwoUrls(),
  span: SPAN,
  steps: [],
  recent: [],
  circuits: [],
  known: undefined,
  nowMs: NOW,
  open: { count: 0, oldestAt: null },
  setAt: null,
  lastAttemptAt: null,
  troubledMinutes: [],
  ...over,
});
const failing = (since: number): KnownHealth => ({
  ...unknownHealth(),
  failingSince: since,
});
const failures = (at: number): KnownHealth => ({
  ...unknownHealth(),
  failures: [{ at, count: 3 }],
});

/** @param at the last time that nothing could be sent, 3 s after the first one */
const blocked = (at: number, successAt: number | null = null): KnownHealth => ({
  ...unknownHealth(),
  blocked: { failures: [at - 3_000, at].map((each) => ({ at: each, count: 1 })), awaitedUntil: 0 },
  successAt,
  error: { at, text: 'https://a.example: token: it answered 500', code: 'token' },
});

const good = counts(1, { attempts: 200, delivered: 200 });
const poor = counts(1, { attempts: 100, delivered: 95, failed: 5 });
const bad = counts(1, { attempts: 10, delivered: 2, failed: 8 });

test.each<[string, string, string, Partial<Observed>]>([
  [
    'off',
    'since it was switched off',
    iso(NOW - 5_000),
    { destination: withTwoUrls({ enabled: false }), setAt: NOW - 5_000 },
  ],
  [
    'off',
    'since it was created, if nobody switched it',
    iso(NOW - 48 * HOUR_MS),
    { destination: withTwoUrls({ enabled: false }) },
  ],
  [
    'off',
    'although it fails',
    iso(NOW - 5_000),
    {
      destination: withTwoUrls({ enabled: false }),
      setAt: NOW - 5_000,
      steps: bad,
      known: failing(NOW - HOUR_MS),
    },
  ],
  [
    'paused',
    'since it was paused',
    iso(NOW - 7_000),
    { destination: withTwoUrls({ paused: true }), setAt: NOW - 7_000 },
  ],
  [
    'off',
    'although it is paused too',
    iso(NOW - 7_000),
    { destination: withTwoUrls({ enabled: false, paused: true }), setAt: NOW - 7_000 },
  ],
  ['idle', 'since its creation, without any attempt', iso(NOW - 48 * HOUR_MS), {}],
  [
    'idle',
    'since the last attempt, before the span',
    iso(NOW - 30 * HOUR_MS),
    { lastAttemptAt: NOW - 30 * HOUR_MS },
  ],
  [
    'healthy',
    'since the first of the good steps',
    iso(NOW - HOUR_MS),
    { steps: good, recent: good },
  ],
  [
    'healthy',
    'although most of its attempts failed, since the last one succeeded',
    iso(NOW - 15 * 60_000),
    { steps: bad, known: { ...unknownHealth(), successAt: NOW - HOUR_MS / 2 } },
  ],
  [
    'healthy',
    'since the good steps after a bad one',
    iso(NOW - HOUR_MS),
    { steps: [...counts(2, { attempts: 9, failed: 9 }), ...good], recent: good },
  ],
  [
    'healthy',
    'by the attempts of the span, if none is recent',
    iso(NOW - HOUR_MS),
    { steps: good },
  ],
  [
    'healthy',
    'if something waits before the first attempt',
    iso(NOW - RECENT_MS),
    { open: { count: 3, oldestAt: NOW - 1_000 } },
  ],
  ['degraded', 'if 5 % of the attempts fail', iso(NOW - HOUR_MS), { steps: poor, recent: poor }],
  [
    'degraded',
    'since the minute of the first failure, not since the step or its creation',
    iso(NOW - 10 * 60_000),
    {
      destination: withTwoUrls({ createdAt: iso(NOW - 50 * 60_000) }),
      steps: poor,
      recent: poor,
      troubledMinutes: [NOW - 3 * HOUR_MS, NOW - 10 * 60_000, NOW - 5 * 60_000],
    },
  ],
  [
    'degraded',
    'since its creation, if it failed within that minute',
    iso(NOW - 50 * 60_000),
    {
      destination: withTwoUrls({ createdAt: iso(NOW - 50 * 60_000) }),
      steps: poor,
      recent: poor,
      troubledMinutes: [NOW - 50 * 60_000 - 30_000],
    },
  ],
  [
    'failing',
    'since the first failure of the step, if no more is known',
    iso(NOW - 20 * 60_000),
    { steps: bad, recent: bad, troubledMinutes: [NOW - 20 * 60_000] },
  ],
  [
    'degraded',
    'if one of two URLs does not accept deliveries',
    iso(NOW - HOUR_MS),
    {
      steps: counts(1, { attempts: 9, delivered: 9, partly: 2 }),
      recent: counts(1, { attempts: 9, delivered: 9, partly: 2 }),
    },
  ],
  [
    'degraded',
    'since the circuit of one of two URLs is open',
    iso(NOW - 3 * HOUR_MS),
    { steps: good, recent: good, circuits: [aCircuit('whk_1', NOW - 3 * HOUR_MS)] },
  ],
  [
    'degraded',
    'since a delivery waits, if that is long and nothing was tried recently',
    iso(NOW - RECENT_MS - 1),
    { steps: good, open: { count: 1, oldestAt: NOW - RECENT_MS - 1 } },
  ],
  [
    'healthy',
    'if a delivery waits for a short time and nothing was tried recently',
    iso(NOW - HOUR_MS),
    { steps: good, open: { count: 1, oldestAt: NOW - RECENT_MS } },
  ],
  ['failing', 'if most attempts fail', iso(NOW - HOUR_MS), { steps: bad, recent: bad }],
  [
    'failing',
    'if the circuits of all URLs are open',
    iso(NOW - HOUR_MS),
    { steps: good, circuits: [aCircuit('whk_1'), aCircuit('whk_2')] },
  ],
  [
    'failing',
    'if the circuits are open and nothing was tried in the span',
    iso(NOW - HOUR_MS),
    { circuits: [aCircuit('whk_1'), aCircuit('whk_2')] },
  ],
  [
    'failing',
    'since the start of the alert',
    iso(NOW - 3 * HOUR_MS),
    { steps: good, recent: good, known: failing(NOW - 3 * HOUR_MS) },
  ],
  [
    'failing',
    'since the first failure without a success after it',
    iso(NOW - 2 * HOUR_MS),
    { steps: bad, recent: bad, known: failures(NOW - 2 * HOUR_MS) },
  ],
  [
    'failing',
    'since nothing can be sent',
    iso(NOW - 4_000),
    { known: blocked(NOW - 1_000), open: { count: 3, oldestAt: NOW - 5_000 } },
  ],
  [
    'failing',
    'although attempts succeeded before nothing could be sent',
    iso(NOW - 4_000),
    {
      steps: good,
      recent: good,
      known: blocked(NOW - 1_000, NOW - 5_000),
      open: { count: 3, oldestAt: NOW - 5_000 },
    },
  ],
  [
    'healthy',
    'if a success followed the time in which nothing could be sent',
    iso(NOW - HOUR_MS),
    {
      steps: good,
      recent: good,
      known: blocked(NOW - 4_000, NOW - 1_000),
      open: { count: 3, oldestAt: NOW - 5_000 },
    },
  ],
  [
    'healthy',
    'if a failed attempt shows that requests go out again',
    iso(NOW - HOUR_MS),
    {
      steps: good,
      recent: good,
      known: { ...blocked(NOW - 4_000), failures: [{ at: NOW - 1_000, count: 1 }] },
      open: { count: 3, oldestAt: NOW - 5_000 },
    },
  ],
  [
    'healthy',
    'if nothing could be sent, and nothing waits any more',
    iso(NOW - HOUR_MS),
    { steps: good, recent: good, known: blocked(NOW - 1_000) },
  ],
])('a destination is %s %s', (state, _, stateSince, over) => {
  expect(healthOf(observed(over))).toMatchObject({ state, stateSince });
});

test('the health contains rates, latencies, the last error and what waits', () => {
  const steps = [
    ...counts(2, { attempts: 30, failed: 10, delivered: 20, 'took:28': 10, 'took:40': 10 }),
    ...counts(1, { attempts: 10, delivered: 10, 'took:28': 10 }),
  ];
  const error = {
    at: NOW - 60_000,
    text: 'https://a.example: status 503',
    code: 'status',
    status: 503,
  };
  const known = { ...unknownHealth(), error };
  expect(
    healthOf(observed({ steps, known, open: { count: 7, oldestAt: NOW - 90_000 } })),
  ).toMatchObject({
    successRate: 0.75,
    since: iso(SPAN.sinceMs),
    stepSeconds: 3_600,
    waiting: 7,

    // 30 deliveries in 24 h
    perSecond: 0.000347,
    latencyMs: { p50: 140, p95: 1_117, p99: 1_117 },
    lastError: {
      at: iso(NOW - 60_000),
      code: 'status',
      status: 503,
      message: 'https://a.example: status 503',
    },
    oldestWaitingAt: iso(NOW - 90_000),
    series: [
      { at: iso(NOW - 2 * HOUR_MS), delivered: 20, failedAttempts: 10 },
      { at: iso(NOW - HOUR_MS), delivered: 10, failedAttempts: 0 },
    ],
  });
  expect(healthOf(observed())).toMatchObject({
    successRate: null,
    perSecond: 0,
    lastError: null,
    oldestWaitingAt: null,
  });
});

test('each row of many destinations has the state that the destination alone has', () => {
  const [one, two] = [withTwoUrls(), withTwoUrls({ id: 'dst_2' })];
  const of = (destination: string, rows: typeof good) =>
    rows.map((row) => ({ ...row, destination }));
  const rows = rowsOf([one, two], {
    counts: [...of('dst_1', bad), ...of('dst_2', good)],
    recent: [...of('dst_1', bad), ...of('dst_2', good)],
    open: [
      { destination: 'dst_1', status: 'held', count: 4, oldest: NOW - 9_000 },
      { destination: 'dst_1', status: 'retrying', count: 2, oldest: NOW - 5_000 },
    ],
    circuits: [],
    health: new Map([
      ['dst_1', { ...unknownHealth(), error: { at: NOW, text: 'timeout: none', code: 'timeout' } }],
    ]),
    nowMs: NOW,
  });
  expect(rows).toMatchObject([
    {
      destination: 'dst_1',
      state: 'failing',
      successRate: expect.closeTo(0.2),
      held: 4,
      retrying: 2,
      oldestWaitingAt: iso(NOW - 9_000),
      lastError: { code: 'timeout', status: null },
    },
    {
      destination: 'dst_2',
      state: 'healthy',
      successRate: 1,
      lastError: null,
      oldestWaitingAt: null,
    },
  ]);
});

test('a row is healthy if the last attempt succeeded, and failing without known success', () => {
  const row = (known: Partial<KnownHealth>) =>
    rowsOf([withTwoUrls()], {
      counts: bad.map((each) => ({ ...each, destination: 'dst_1' })),
      recent: [],
      open: [],
      circuits: [],
      health: new Map([['dst_1', { ...unknownHealth(), ...known }]]),
      nowMs: NOW,
    })[0];
  expect(row({ successAt: NOW - HOUR_MS / 2 })).toMatchObject({
    state: 'healthy',
    successRate: expect.closeTo(0.2),
  });
  expect(row({})).toMatchObject({ state: 'failing' });
});

test('a row is degraded, not failing, once the last attempt succeeded and nothing waits', () => {
  const row = (known: Partial<KnownHealth>, waiting: number) =>
    rowsOf([withTwoUrls()], {
      counts: [],
      recent: bad.map((each) => ({ ...each, destination: 'dst_1' })),
      circuits: [],
      nowMs: NOW,
      open:
        waiting === 0
          ? []
          : [{ destination: 'dst_1', status: 'retrying', count: waiting, oldest: NOW }],
      health: new Map([['dst_1', { ...unknownHealth(), ...known }]]),
    })[0];
  expect(row({ successAt: NOW }, 0)).toMatchObject({ state: 'degraded' });
  expect(row({ successAt: NOW }, 1)).toMatchObject({ state: 'failing' });
  expect(row({ ...failures(NOW), successAt: NOW - 1 }, 0)).toMatchObject({ state: 'failing' });
  const known = { ...unknownHealth(), successAt: NOW - 60_000 };
  expect(healthOf(observed({ steps: bad, recent: bad, known }))).toMatchObject({
    state: 'degraded',
    stateSince: iso(NOW - HOUR_MS),
  });
});

test('a row keeps the last error with its time, also after a success, and is degraded if deliveries wait', () => {
  const error = { at: NOW - 60_000, text: 'timeout: none', code: 'timeout' };
  const row = (successAt: number, oldest: number) => {
    const health = new Map([['dst_1', { ...unknownHealth(), error, successAt }]]);
    const open = [{ destination: 'dst_1', status: 'held', count: 1, oldest }];
    return rowsOf([withTwoUrls()], {
      counts: [],
      recent: [],
      open,
      circuits: [],
      health,
      nowMs: NOW,
    })[0];
  };
  expect(row(NOW - 60_001, NOW)).toMatchObject({
    state: 'healthy',
    lastError: { code: 'timeout' },
  });
  expect(row(NOW - 60_000, NOW - RECENT_MS - 1)).toMatchObject({
    state: 'degraded',
    lastError: { code: 'timeout', at: new Date(NOW - 60_000).toISOString() },
  });
});

test('a trend has a number for each step, also for steps without a count', () => {
  const span = { sinceMs: NOW - 3 * HOUR_MS, untilMs: NOW, stepMs: HOUR_MS };
  const rows = [...counts(3, { delivered: 5, failed: 1 }), ...counts(1, { delivered: 2 })];
  const trend = trendOf(
    rows.map((row) => ({ ...row, destination: 'dst_1' })),
    span,
  );
  expect(trend('dst_1')).toEqual({
    stepSeconds: 3_600,
    delivered: [5, 0, 2],
    failedAttempts: [1, 0, 0],
  });
  expect(trend('dst_2')).toEqual({
    stepSeconds: 3_600,
    delivered: [0, 0, 0],
    failedAttempts: [0, 0, 0],
  });
});
