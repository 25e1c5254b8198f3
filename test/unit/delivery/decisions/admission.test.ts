import {
  admit,
  type Admission,
  type Admitted,
  divert,
  isOwedOneTry,
  needsCurrentConfig,
  readmit,
} from '../../../../services/delivery/decisions/admission';
import { type Refusal } from '../../../../services/delivery/lanes/job';
import {
  type Lookup,
  type OpenLookup,
  type Endpoint,
} from '../../../../services/delivery/destinations/endpoint';
import { type Delivery } from '../../../../shared/model/delivery';
import { type RetryPlan } from '../../../../shared/model/retry-plan';
import { aDelivery, anEndpoint } from '../../../support/factories';

const NOW = 1_700_000_000_000;
const TIERS = [10_000, 60_000, 300_000];
const WINDOW = 14_400_000;
const CONTEXT = { nowMs: NOW, tiersMs: TIERS, windowMs: WINDOW };

const endpoint = (id: string) => anEndpoint({ id, hash: `hash-${id}`, lane: `dst/${id}` });

const lookup = (
  change: { enabled?: boolean; paused?: boolean; endpoints?: Endpoint[]; plan?: RetryPlan } = {},
): Lookup => ({
  kind: 'open',
  version: 5,
  destination: {
    enabled: true,
    paused: false,
    endpoints: [endpoint('a'), endpoint('b')],
    secrets: undefined,
    ...change,
  },
});

const delivery = (change: Partial<Delivery> = {}): Delivery =>
  aDelivery({ acceptedAt: NOW - 1_000, expiresAt: NOW + 14_400_000, ...change });

const late = { expiresAt: NOW - 1, attempt: 1 };

describe('the admission of a delivery that was just read', () => {
  test.each<[string, Partial<Delivery>, Lookup, object]>([
    [
      'a delivery is tried at every URL',
      {},
      lookup(),
      { kind: 'try', open: [endpoint('a'), endpoint('b')], isLast: false },
    ],
    [
      'a URL that rejected the delivery is left out',
      { excludedUrls: ['hash-a'] },
      lookup(),
      { kind: 'try', open: [endpoint('b')] },
    ],
    [
      'a delivery that all URLs rejected is dead',
      { excludedUrls: ['hash-a', 'hash-b'] },
      lookup(),
      { kind: 'dead', reason: 'rejected' },
    ],
    [
      'a corrected URL counts as a new one',
      { excludedUrls: ['hash-old'] },
      lookup({ endpoints: [endpoint('new')] }),
      { kind: 'try' },
    ],
    [
      'a deleted destination cancels its deliveries',
      {},
      { kind: 'deleted' },
      { kind: 'cancelled', reason: 'destination_deleted' },
    ],
    [
      'a disabled destination cancels its deliveries',
      {},
      lookup({ enabled: false }),
      { kind: 'cancelled', reason: 'destination_disabled' },
    ],
    [
      'a test send goes to a disabled destination',
      { test: true },
      lookup({ enabled: false }),
      { kind: 'try' },
    ],
    [
      'a test send goes to a paused destination',
      { test: true },
      lookup({ paused: true }),
      { kind: 'try' },
    ],
    [
      'a delivery that was tried is not sent again after its window',
      { ...late, reason: 'backoff', hop: 1 },
      lookup(),
      { kind: 'dead', reason: 'window_closed' },
    ],
    [
      'a delivery owed one attempt is tried after its window',
      { ...late, attempt: 0, final: true },
      lookup(),
      { kind: 'try' },
    ],
    [
      'a delivery that waited for its rate until its window ended is dead with that reason',
      { ...late, attempt: 0, reason: 'rate_limited' },
      lookup(),
      { kind: 'dead', reason: 'rate_limited' },
    ],
    [
      'a delivery whose window ends while it waits in its lane is dead',
      { ...late, attempt: 0 },
      lookup(),
      { kind: 'dead', reason: 'window_closed' },
    ],
    [
      'a delivery does not wait for Retry-After beyond its window',
      { ...late, notBefore: NOW + 9_000 },
      lookup(),
      { kind: 'dead', reason: 'window_closed' },
    ],
    [
      'a paused destination diverts its deliveries',
      {},
      lookup({ paused: true }),
      { kind: 'diverted', reason: 'paused', wait: { tierMs: 10_000 } },
    ],
    [
      'a long pause uses longer tiers, and so fewer hops',
      { hop: 2 },
      lookup({ paused: true }),
      { kind: 'diverted', wait: { tierMs: 300_000 } },
    ],
    [
      'a delivery that is paused beyond its window is dead',
      { ...late, attempt: 0 },
      lookup({ paused: true }),
      { kind: 'dead', reason: 'window_closed' },
    ],
    [
      'a delivery is diverted before its Retry-After has passed',
      { notBefore: NOW + 90_000, attempt: 1, reason: 'retry_after' },
      lookup(),
      {
        kind: 'diverted',
        reason: 'retry_after',
        wait: { tierMs: 60_000, notBefore: NOW + 90_000 },
      },
    ],
    [
      'a delivery is tried after its Retry-After has passed',
      { notBefore: NOW - 1, attempt: 1 },
      lookup(),
      { kind: 'try' },
    ],
    [
      'a delivery that comes back within its planned delay goes through the largest tier ' +
        'that is not too long',
      { notBefore: NOW + 85_000, attempt: 1, hop: 3, reason: 'backoff' },
      lookup({ plan: { delaysMs: [600_000] } }),
      {
        kind: 'diverted',
        reason: 'backoff',
        wait: { tierMs: 60_000, nextAttemptAt: NOW + 90_000 },
      },
    ],
    [
      'a planned delay goes on if its plan was removed',
      { notBefore: NOW + 9_000, attempt: 1, reason: 'backoff' },
      lookup(),
      {
        kind: 'diverted',
        reason: 'backoff',
        wait: { tierMs: 10_000, nextAttemptAt: NOW + 10_000 },
      },
    ],
    [
      'a Retry-After of a destination with a plan is a sum of tiers',
      { notBefore: NOW + 125_000, attempt: 1, reason: 'retry_after' },
      lookup({ plan: { delaysMs: [60_000] } }),
      {
        kind: 'diverted',
        reason: 'retry_after',
        wait: { tierMs: 120_000, notBefore: NOW + 125_000 },
      },
    ],
    [
      'the last attempt of a plan is made when no further tier fits into its window',
      { notBefore: NOW + 5_000, expiresAt: NOW + 8_000, attempt: 1, reason: 'backoff' },
      lookup({ plan: { delaysMs: [600_000] } }),
      { kind: 'try', isLast: true },
    ],
    [
      'a paused delivery waits for its planned delay again once it is sent',
      { notBefore: NOW + 9_000, attempt: 1, reason: 'paused' },
      lookup({ plan: { delaysMs: [600_000] } }),
      { kind: 'diverted', reason: 'backoff' },
    ],
    [
      'a delivery whose secrets cannot be decrypted waits for the right key',
      {},
      { kind: 'sealed', version: 1, why: '' },
      { kind: 'diverted', reason: 'secrets_unreadable' },
    ],
    [
      'a delivery whose secrets cannot be decrypted is dead after its window',
      late,
      { kind: 'sealed', version: 1, why: '' },
      { kind: 'dead', reason: 'window_closed' },
    ],
  ])('%s', (_, change, found, expected) => {
    expect(admit(delivery(change), found, CONTEXT)).toMatchObject(expected);
  });
});

describe('a delivery read after its window', () => {
  test.each<[string, Partial<Delivery>, boolean]>([
    [
      'is owed one attempt if it was never tried and waited for Waypost alone',
      { attempt: 0 },
      true,
    ],
    [
      'is owed one attempt if the key for its secrets was missing',
      { attempt: 0, reason: 'secrets_unreadable' },
      true,
    ],
    ['is owed none if it was tried', { attempt: 1, reason: 'backoff' }, false],
    ['is owed none if it waited for its lane', { attempt: 0, reason: 'lane_full' }, false],
    ['is owed none if it waited for its rate', { attempt: 0, reason: 'rate_limited' }, false],
    ['is owed none if it waited for its circuit', { attempt: 0, reason: 'circuit_open' }, false],
    ['is owed none if its endpoint sent Retry-After', { attempt: 0, reason: 'retry_after' }, false],
    ['is owed none within its window', { attempt: 0, expiresAt: NOW }, false],
  ])('%s', (_, change, expected) => {
    expect(isOwedOneTry(delivery({ ...late, ...change }), NOW)).toBe(expected);
  });
});

describe('diverting a delivery that no lane accepts', () => {
  const over = { acceptedAt: NOW - 5_000 - WINDOW, expiresAt: NOW - 5_000 };
  const owed = { ...over, final: true };
  const full = (waitMs: number): Refusal => ({ reason: 'lane_full', waitMs });
  const limited = (waitMs: number): Refusal => ({ reason: 'rate_limited', waitMs });
  const open = (waitMs: number): Refusal => ({ reason: 'circuit_open', waitMs });
  const asked = (waitMs: number): Refusal => ({ reason: 'retry_after', waitMs });

  test.each<[string, Partial<Delivery>, [Refusal, ...Refusal[]], object]>([
    [
      'a full lane uses the largest tier within the expected wait',
      {},
      [full(50_000)],
      hold('lane_full', 20_000),
    ],
    [
      'an open circuit uses the first tier that is as long as the outage',
      {},
      [open(121_000)],
      hold('circuit_open', 300_000),
    ],
    [
      'an open circuit also uses tiers that exist for parking alone',
      {},
      [open(19_000)],
      hold('circuit_open', 20_000),
    ],
    [
      'a circuit that just opened uses the shortest tier',
      {},
      [open(0)],
      hold('circuit_open', 10_000),
    ],
    [
      'Retry-After uses the first tier that is long enough',
      {},
      [asked(11_000)],
      hold('retry_after', 20_000),
    ],
    [
      'Retry-After beyond all tiers uses the longest',
      {},
      [asked(900_000)],
      hold('retry_after', 300_000),
    ],
    [
      'the lane that would accept it first decides the tier',
      {},
      [open(400_000), full(12_000)],
      hold('lane_full', 10_000),
    ],
    [
      'a delivery that no tier returns within its window is dead',
      { attempt: 1, expiresAt: NOW + 5_000 },
      [full(50_000)],
      bury('window_closed'),
    ],
    [
      'a tier that ends with the window is too long, so a shorter one is used',
      { attempt: 1, expiresAt: NOW + 60_000 },
      [full(50_000)],
      hold('lane_full', 20_000),
    ],
    [
      'a rate uses the largest tier within the expected wait',
      {},
      [limited(60_000)],
      hold('rate_limited', 60_000),
    ],
    [
      'a delivery that was never tried and fits no tier is dead with the reason of its lane',
      { expiresAt: NOW + 5_000 },
      [full(50_000)],
      bury('lane_full'),
    ],
    [
      'a delivery that was never tried and fits no tier is dead with its rate as the reason',
      { expiresAt: NOW + 5_000 },
      [limited(50_000)],
      bury('rate_limited'),
    ],
    [
      'a delivery that was never tried and fits no tier is dead with its circuit as the reason',
      { expiresAt: NOW + 5_000 },
      [open(50_000)],
      bury('circuit_open'),
    ],
    [
      'a delivery that was never tried and fits no tier is dead with Retry-After as the reason',
      { expiresAt: NOW + 5_000 },
      [asked(50_000)],
      bury('retry_after'),
    ],
    [
      'a delivery that was tried is dead after its window',
      { ...over, attempt: 1 },
      [open(50_000)],
      bury('window_closed'),
    ],
    [
      'a delivery that was tried is dead after its window despite the mark of a last attempt',
      { ...owed, attempt: 1 },
      [open(50_000)],
      bury('window_closed'),
    ],
    [
      'a delivery whose window ended in the queue of its lane is dead',
      over,
      [full(0)],
      bury('lane_full'),
    ],
    [
      'a delivery owed one attempt waits for a full lane',
      owed,
      [full(60_000)],
      hold('lane_full', 60_000),
    ],
    [
      'a delivery owed one attempt waits for an open circuit',
      owed,
      [open(WINDOW)],
      hold('circuit_open', 300_000),
    ],
    [
      'a delivery owed one attempt waits for its window a second time, and no longer',
      { ...owed, expiresAt: NOW - WINDOW + 5_000 },
      [full(1)],
      bury('lane_full'),
    ],
    [
      'a delivery waits for a long outage within its window',
      {},
      [open(9 * WINDOW)],
      hold('circuit_open', 300_000),
    ],
  ])('%s', (_, change, refusals, expected) => {
    expect(divert(delivery(change), refusals, CONTEXT)).toMatchObject(expected);
  });

  function hold(reason: string, tierMs: number) {
    return { kind: 'diverted', reason, wait: { tierMs } };
  }
  function bury(reason: string) {
    return { kind: 'dead', reason };
  }
});

describe('the admission of a request that waited in its lane', () => {
  const before = lookup() as OpenLookup;
  const admitted: Admitted = {
    kind: 'try',
    lookup: before,
    open: before.destination.endpoints,
    isLast: false,
  };
  const rejected = { excludedUrls: ['hash-a'] };

  test.each<[string, Partial<Delivery>]>([
    ['an admission stands while its destination is the same', {}],
    [
      'an admission stands after a window that does not bind the delivery',
      { expiresAt: NOW - 1, final: true },
    ],
  ])('%s', (_, change) => {
    expect(readmit(admitted, delivery(change), before, CONTEXT)).toBe(admitted);
  });

  test.each<[string, Partial<Delivery>, Lookup, object]>([
    ['an admission ends with its window', late, before, { kind: 'dead', reason: 'window_closed' }],
    [
      'an admission ends if its destination was disabled',
      {},
      lookup({ enabled: false }),
      { kind: 'cancelled' },
    ],
    [
      'an admission ends if its destination was deleted',
      {},
      { kind: 'deleted' },
      { kind: 'cancelled' },
    ],
    [
      'an admission ends if its destination was paused',
      {},
      lookup({ paused: true }),
      { kind: 'diverted', reason: 'paused' },
    ],
    [
      'an admission has the corrected URLs',
      {},
      lookup({ endpoints: [endpoint('new')] }),
      { kind: 'try', open: [endpoint('new')] },
    ],
    [
      'an admission has no URL that rejected the delivery',
      rejected,
      lookup(),
      { kind: 'try', open: [endpoint('b')] },
    ],
    [
      'an admission of a test send outlasts every window',
      { ...late, test: true },
      before,
      { kind: 'try', lookup: before },
    ],
  ])('%s', (_, change, found, expected) => {
    expect(readmit(admitted, delivery(change), found, CONTEXT)).toMatchObject(expected);
  });
});

describe('needing a current config', () => {
  const at = (version: number): Lookup => ({ ...lookup(), version }) as Lookup;
  test.each<[string, Partial<Delivery>, Lookup, Pick<Admission, 'kind'>, boolean]>([
    [
      'an attempt with the version that the delivery was made for does not need it',
      { destinationVersion: 5 },
      at(5),
      { kind: 'try' },
      false,
    ],
    [
      'an attempt with a later version does not need it',
      { destinationVersion: 4 },
      at(5),
      { kind: 'try' },
      false,
    ],
    [
      'an attempt with an earlier version needs it',
      { destinationVersion: 6 },
      at(5),
      { kind: 'try' },
      true,
    ],
    [
      'an attempt of a delivery from an older router does not need it',
      {},
      at(5),
      { kind: 'try' },
      false,
    ],
    ['a cancellation needs it', {}, { kind: 'deleted' }, { kind: 'cancelled' }, true],
    ['a dead letter needs it', {}, at(5), { kind: 'dead' }, true],
  ])('%s', (_, change, known, admission, needs) => {
    expect(needsCurrentConfig(delivery(change), known, admission)).toBe(needs);
  });

  test('an unreadable destination diverts its deliveries, and is never taken for deleted', () => {
    expect(admit(delivery(), { kind: 'unreadable' }, CONTEXT)).toMatchObject({
      kind: 'diverted',
      reason: 'destination_unreadable',
    });
  });
});
