import { admit, type Admission, divert, isOwedOneTry, needsCurrentConfig } from '../../../services/delivery/admission';
import { type Refusal } from '../../../services/delivery/lanes/types';
import { type Lookup, type Target } from '../../../services/delivery/endpoints';
import { type Delivery } from '../../../shared/model/delivery';

const NOW = 1_700_000_000_000;
const TIERS = [10_000, 60_000, 300_000];
const WINDOW = 14_400_000;
const CONTEXT = { nowMs: NOW, tiersMs: TIERS, windowMs: WINDOW };

const target = (id: string): Target => ({
  id,
  hash: `hash-${id}`,
  lane: `dst/${id}`,
  destinationId: 'dst',
  shards: 4,
  origin: 'https://a.example',
  path: '/',
  staticHeaders: [],
  secrets: [],
});

const lookup = (change: { enabled?: boolean; paused?: boolean; targets?: Target[] } = {}): Lookup => ({
  kind: 'open',
  version: 5,
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
      'tried before, after its window: it is not sent again',
      { ...late, reason: 'backoff', hop: 1 },
      lookup(),
      { kind: 'bury', reason: 'window_closed' },
    ],
    [
      'never tried, after its window, owed one try: it is tried',
      { ...late, attempt: 0, final: true },
      lookup(),
      { kind: 'try' },
    ],
    [
      'never tried, after its window, for want of its rate: it ends with that reason',
      { ...late, attempt: 0, reason: 'rate_limited' },
      lookup(),
      { kind: 'bury', reason: 'rate_limited' },
    ],
    [
      'never tried, and its window ends while it waits in its lane',
      { ...late, attempt: 0 },
      lookup(),
      { kind: 'bury', reason: 'window_closed' },
    ],
    [
      'after its window, asked to wait: no longer',
      { ...late, notBefore: NOW + 9_000 },
      lookup(),
      { kind: 'bury', reason: 'window_closed' },
    ],
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
      { kind: 'sealed', version: 1, why: '' },
      { kind: 'hold', reason: 'secrets_unreadable' },
    ],
    [
      'and are given up with the window',
      late,
      { kind: 'sealed', version: 1, why: '' },
      { kind: 'bury', reason: 'window_closed' },
    ],
  ])('%s', (_, change, found, expected) => {
    expect(admit(delivery(change), found, CONTEXT)).toMatchObject(expected);
  });
});

describe('a delivery read after its window is owed one try', () => {
  test.each<[string, Partial<Delivery>, boolean]>([
    ['where it was never tried and waited for Waypost alone', { attempt: 0 }, true],
    ['where the key was missing that opens its secrets', { attempt: 0, reason: 'secrets_unreadable' }, true],
    ['not where it was tried', { attempt: 1, reason: 'backoff' }, false],
    ['not where it waited for its lane', { attempt: 0, reason: 'lane_full' }, false],
    ['not where it waited for its rate', { attempt: 0, reason: 'rate_limited' }, false],
    ['not where it waited for its circuit', { attempt: 0, reason: 'circuit_open' }, false],
    ['not where its endpoint asked for time', { attempt: 0, reason: 'retry_after' }, false],
    ['not within its window', { attempt: 0, expiresAt: NOW }, false],
  ])('%s', (_, change, expected) => {
    expect(isOwedOneTry(delivery({ ...late, ...change }), NOW)).toBe(expected);
  });
});

describe('a delivery that no lane takes', () => {
  const over = { acceptedAt: NOW - 5_000 - WINDOW, expiresAt: NOW - 5_000 };
  const owed = { ...over, final: true };
  const full = (waitMs: number): Refusal => ({ reason: 'lane_full', waitMs });
  const limited = (waitMs: number): Refusal => ({ reason: 'rate_limited', waitMs });
  const open = (waitMs: number): Refusal => ({ reason: 'circuit_open', waitMs });
  const asked = (waitMs: number): Refusal => ({ reason: 'retry_after', waitMs });

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
    ['its rate: the tier nearest the expected wait', {}, [limited(50_000)], hold('rate_limited', 60_000)],
    [
      'no tier fits, never tried: it ends with the reason',
      { expiresAt: NOW + 5_000 },
      [full(50_000)],
      bury('lane_full'),
    ],
    ['no tier fits, for want of its rate', { expiresAt: NOW + 5_000 }, [limited(50_000)], bury('rate_limited')],
    ['no tier fits, open', { expiresAt: NOW + 5_000 }, [open(50_000)], bury('circuit_open')],
    ['no tier fits, asked to wait', { expiresAt: NOW + 5_000 }, [asked(50_000)], bury('retry_after')],
    ['late, tried before: it ends', { ...over, attempt: 1 }, [open(50_000)], bury('window_closed')],
    ['late, tried before, and meant to be the last', { ...owed, attempt: 1 }, [open(50_000)], bury('window_closed')],
    ['its window ended in the queue of its lane', over, [full(0)], bury('lane_full')],
    ['owed one try, full: waits on', owed, [full(50_000)], hold('lane_full', 60_000)],
    ['owed one try, open: waits on', owed, [open(WINDOW)], hold('circuit_open', 300_000)],
    [
      'owed one try, for as long again as its window',
      { ...owed, expiresAt: NOW - WINDOW + 5_000 },
      [full(1)],
      bury('lane_full'),
    ],
    ['so long, and still within its window: waits on', {}, [open(9 * WINDOW)], hold('circuit_open', 300_000)],
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

describe('what may not be decided by a config that may be behind', () => {
  const at = (version: number): Lookup => ({ ...lookup(), version }) as Lookup;
  test.each<[string, Partial<Delivery>, Lookup, Admission, boolean]>([
    ['a try by the version it was made for', { destinationVersion: 5 }, at(5), { kind: 'try', open: [] }, false],
    ['a try by a later version', { destinationVersion: 4 }, at(5), { kind: 'try', open: [] }, false],
    ['a try by an earlier version', { destinationVersion: 6 }, at(5), { kind: 'try', open: [] }, true],
    ['a try of a delivery that an older router made', {}, at(5), { kind: 'try', open: [] }, false],
    ['a cancellation', {}, { kind: 'deleted' }, { kind: 'cancel', reason: 'destination_deleted' }, true],
    ['a dead letter', {}, at(5), { kind: 'bury', reason: 'rejected' }, true],
  ])('%s', (_, change, known, admission, needs) => {
    expect(needsCurrentConfig(delivery(change), known, admission)).toBe(needs);
  });

  test('a destination that cannot be read is held, and never taken for deleted', () => {
    expect(admit(delivery(), { kind: 'unreadable' }, CONTEXT)).toMatchObject({
      kind: 'hold',
      reason: 'destination_unreadable',
    });
  });
});
