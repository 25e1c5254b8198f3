import { admit, divert } from '../../../services/delivery/decide';
import { type Refusal } from '../../../services/delivery/job';
import { type Lookup, type Target } from '../../../services/delivery/targets';
import { type Delivery } from '../../../shared/domain/delivery';

const NOW = 1_700_000_000_000;
const TIERS = [10_000, 60_000, 300_000];
const CONTEXT = { nowMs: NOW, tiersMs: TIERS };

const target = (id: string): Target => ({
  id,
  hash: `hash-${id}`,
  lane: `dst/${id}`,
  destinationId: 'dst',
  shards: 4,
  origin: 'https://a.example',
  path: '/',
  staticHeaders: [],
});

const lookup = (change: { enabled?: boolean; paused?: boolean; targets?: Target[] } = {}): Lookup => ({
  kind: 'open',
  destination: { enabled: true, paused: false, targets: [target('a'), target('b')], secrets: undefined, ...change },
});

const delivery = (change: Partial<Delivery> = {}): Delivery => ({
  id: 'dlv_1',
  messageId: 'm',
  sourceId: 's',
  destinationId: 'd',
  type: 'track',
  acceptedAt: NOW - 1_000,
  expiresAt: NOW + 14_400_000,
  attempt: 0,
  hop: 0,
  replay: 0,
  closed: [],
  traceparent: '',
  ...change,
});

const late = { expiresAt: NOW - 1, attempt: 1 };

describe('what becomes of a delivery that was just read', () => {
  test.each<[string, Partial<Delivery>, Lookup, object]>([
    ['the usual: every URL is tried', {}, lookup(), { kind: 'try', open: [target('a'), target('b')] }],
    ['a URL that refused for good is left out', { closed: ['hash-a'] }, lookup(), { kind: 'try', open: [target('b')] }],
    ['all URLs refused for good', { closed: ['hash-a', 'hash-b'] }, lookup(), { kind: 'bury', reason: 'rejected' }],
    ['a corrected URL is a new one', { closed: ['hash-old'] }, lookup({ targets: [target('new')] }), { kind: 'try' }],
    ['deleted', {}, { kind: 'deleted' }, { kind: 'cancel', reason: 'destination_deleted' }],
    ['switched off', {}, lookup({ enabled: false }), { kind: 'cancel', reason: 'destination_disabled' }],
    ['a test goes out though it is off', { test: true }, lookup({ enabled: false }), { kind: 'try' }],
    ['a test goes out though it is on hold', { test: true }, lookup({ paused: true }), { kind: 'try' }],
    [
      'after its window: our outage must not kill it',
      { ...late, reason: 'backoff', hop: 1 },
      lookup(),
      { kind: 'try' },
    ],
    ['after its window, never tried: the same', { ...late, attempt: 0 }, lookup(), { kind: 'try' }],
    ['after its window, asked to wait: no longer', { ...late, notBefore: NOW + 9_000 }, lookup(), { kind: 'try' }],
    ['on hold', {}, lookup({ paused: true }), { kind: 'hold', reason: 'paused', wait: { tierMs: 10_000 } }],
    [
      'on hold for long: longer tiers, fewer hops',
      { hop: 2 },
      lookup({ paused: true }),
      { kind: 'hold', wait: { tierMs: 300_000 } },
    ],
    [
      'on hold beyond its window',
      { ...late, attempt: 0 },
      lookup({ paused: true }),
      { kind: 'bury', reason: 'window_closed' },
    ],
    [
      'before its Retry-After has passed',
      { notBefore: NOW + 90_000, attempt: 1 },
      lookup(),
      { kind: 'hold', reason: 'retry_after', wait: { tierMs: 300_000 } },
    ],
    ['after its Retry-After has passed', { notBefore: NOW - 1, attempt: 1 }, lookup(), { kind: 'try' }],
    [
      'secrets that cannot be opened wait for the right key',
      {},
      { kind: 'sealed', why: '' },
      { kind: 'hold', reason: 'secrets_unreadable' },
    ],
    ['and are given up with the window', late, { kind: 'sealed', why: '' }, { kind: 'bury', reason: 'window_closed' }],
  ])('%s', (_, change, found, expected) => {
    expect(admit(delivery(change), found, CONTEXT)).toMatchObject(expected);
  });
});

describe('a delivery that no lane takes', () => {
  const WINDOW = 14_400_000;
  const over = { acceptedAt: NOW - 5_000 - WINDOW, expiresAt: NOW - 5_000 };
  const full = (waitMs: number): Refusal => ({ reason: 'lane_full', waitMs });
  const open = (waitMs: number, awayMs = waitMs): Refusal => ({ reason: 'circuit_open', waitMs, awayMs });
  const asked = (waitMs: number, awayMs = 0): Refusal => ({ reason: 'retry_after', waitMs, awayMs });

  test.each<[string, Partial<Delivery>, [Refusal, ...Refusal[]], object]>([
    ['full: the tier nearest the expected wait', {}, [full(50_000)], hold('lane_full', 60_000)],
    ['open: the largest tier not longer than that', {}, [open(299_000)], hold('circuit_open', 120_000)],
    ['also one that only parking has', {}, [open(59_000)], hold('circuit_open', 20_000)],
    ['open just now: the shortest tier', {}, [open(0)], hold('circuit_open', 10_000)],
    ['Retry-After: the first tier that is long enough', {}, [asked(11_000)], hold('retry_after', 20_000)],
    ['Retry-After beyond all: the longest', {}, [asked(900_000)], hold('retry_after', 300_000)],
    ['of several, the one that would take it first', {}, [open(400_000), full(12_000)], hold('lane_full', 10_000)],
    [
      'no tier fits the window: given up',
      { attempt: 1, expiresAt: NOW + 5_000 },
      [full(50_000)],
      bury('window_closed'),
    ],
    [
      'a tier that ends with the window comes back after it: a shorter one',
      { attempt: 1, expiresAt: NOW + 60_000 },
      [full(50_000)],
      hold('lane_full', 20_000),
    ],
    [
      'late, tried before: once more',
      { ...over, attempt: 1 },
      [open(50_000)],
      { kind: 'hold', reason: 'circuit_open', wait: { tierMs: 10_000, final: true } },
    ],
    ['and then no more', { ...over, attempt: 1, final: true }, [open(50_000)], bury('window_closed')],
    ['full, however late, never tried: waits on', over, [full(50_000)], hold('lane_full', 60_000)],
    ['open a while, late, never tried: waits on', over, [open(WINDOW - 1)], hold('circuit_open', 300_000)],
    [
      'found open each time, late, and closed in between: waits on',
      { ...over, reason: 'circuit_open', hop: 9 },
      [open(50_000)],
      hold('circuit_open', 20_000),
    ],
    [
      'open for as long as a window, and answered meanwhile: waits on',
      over,
      [open(WINDOW, WINDOW - 1)],
      hold('circuit_open', 300_000),
    ],
    ['open for as long as a window, never tried: given up', over, [open(WINDOW)], bury('circuit_open')],
    ['so long, and still within its window: waits on', {}, [open(9 * WINDOW)], hold('circuit_open', 300_000)],
    ['asking for time as long', over, [asked(9e6, WINDOW)], bury('retry_after')],
    ['one asks for time, one is open', over, [asked(9e6, WINDOW), open(9e7)], bury('retry_after')],
    ['one of them has not been away so long', over, [open(9e7), open(WINDOW + 9, 10)], hold('circuit_open', 300_000)],
    [
      'one of its lanes is only full: it may still be tried',
      { ...over, reason: 'circuit_open' },
      [open(1, 9e7), full(50_000)],
      hold('circuit_open', 10_000),
    ],
  ])('%s', (_, change, refusals, expected) => {
    expect(divert(delivery(change), refusals, CONTEXT)).toMatchObject(expected);
  });

  function hold(reason: string, tierMs: number) {
    return { kind: 'hold', reason, wait: { tierMs } };
  }
  function bury(reason: string) {
    return { kind: 'bury', reason };
  }
});
