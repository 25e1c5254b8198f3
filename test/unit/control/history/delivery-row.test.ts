import { applyEvent, type DeliveryRow } from '../../../../services/control/history/delivery-row';
import { lastResponse } from '../../../../services/control/history/tries';
import {
  type AttemptEvent,
  type DeliveryEvent,
  type UrlAttempt,
} from '../../../../shared/model/attempt-events';
import { REPLAYED, RETRY_REQUESTED } from '../../../../shared/model/reasons';
import { aCancellation, aDeath, aFailure, anEvent, at, aUrl, aWait } from '../../../support/events';

const after = (...events: DeliveryEvent[]) =>
  events.reduce<DeliveryRow | undefined>((row, event) => applyEvent(row, event), undefined)!;

describe('the state of a delivery', () => {
  test.each<[string, DeliveryEvent[], Partial<DeliveryRow>]>([
    [
      'a success makes the delivery delivered',
      [anEvent()],
      { status: 'delivered', reason: null, made: 1, nextAt: null },
    ],
    [
      'a failure makes it retrying',
      [aFailure()],
      { status: 'retrying', reason: 'backoff', made: 1, settledAt: null },
    ],
    ...(
      [
        'paused',
        'circuit_open',
        'lane_full',
        'rate_limited',
        'secrets_unreadable',
        'destination_unreadable',
        'retry_after',
        'proxy',
        'token',
        'of_a_newer_version',
      ] as const
    ).map((reason): [string, DeliveryEvent[], Partial<DeliveryRow>] => [
      `a wait for ${reason} without an attempt holds it`,
      [aWait({ reason })],
      { status: 'held', reason, made: 0 },
    ]),
    [
      'a wait after a failure holds it, with the reason of the wait',
      [aFailure(), aWait({ n: 1, hop: 1 })],
      { status: 'held', reason: 'circuit_open', made: 1 },
    ],
    [
      'a Retry-After makes it retrying',
      [aFailure({ reason: 'retry_after' })],
      { status: 'retrying', reason: 'retry_after' },
    ],
    [
      'a hand-over leaves it waiting before its first attempt',
      [aWait({ reason: 'handed_over' })],
      { status: 'waiting', reason: 'handed_over' },
    ],
    [
      'a hand-over after an attempt leaves it retrying',
      [aFailure(), aWait({ n: 1, hop: 1, reason: 'handed_over' })],
      { status: 'retrying', reason: 'handed_over' },
    ],
    [
      'a rejection makes it dead',
      [anEvent({ outcome: 'rejected', reason: 'rejected' }), aDeath()],
      { status: 'dead', reason: 'rejected' },
    ],
    [
      'the end of its window after a failure makes it dead',
      [aFailure(), aDeath({ hop: 1, reason: 'window_closed' })],
      { status: 'dead', reason: 'window_closed' },
    ],
    [
      'a cancellation makes it cancelled',
      [aCancellation()],
      { status: 'cancelled', reason: 'destination_disabled' },
    ],
    [
      'a failed attempt makes a test dead',
      [anEvent({ outcome: 'retry', test: true })],
      { status: 'dead', reason: 'rejected', test: true },
    ],
    [
      'a success after a failure makes it delivered',
      [aFailure(), anEvent({ n: 2, hop: 1 })],
      { status: 'delivered', made: 2, nextAt: null },
    ],
  ])('%s', (_, events, expected) => {
    expect(after(...events)).toMatchObject(expected);
  });

  test('the row contains the next attempt and the end', () => {
    expect(after(aFailure()).nextAt).toBe(Date.parse(at(11)));
    expect(after(anEvent({ at: at(3) })).settledAt).toBe(Date.parse(at(3)));
  });

  test('the row names the record that contained the delivery last', () => {
    const record = { topic: 'webhooks.due', partition: 3, offset: 12 };
    expect(after(aFailure(), anEvent({ n: 2, hop: 1, record })).record).toBe('webhooks.due/3/12');
  });
});

describe('a delivery to several URLs', () => {
  const to = (url: string, outcome: 'delivered' | 'retry' | 'rejected' = 'delivered') =>
    aUrl({ url, outcome });
  const late = (...urls: UrlAttempt[]) => anEvent({ late: true, at: at(4), urls });
  const accepted = (over: Partial<AttemptEvent> = {}) => anEvent({ urls: [to('whk_1')], ...over });

  test.each<[string, DeliveryEvent[], string]>([
    ['two URLs accept it', [anEvent({ urls: [to('whk_1'), to('whk_2')] })], 'delivered'],
    [
      'another URL fails first',
      [anEvent({ urls: [to('whk_2', 'retry'), to('whk_1')] })],
      'partly_delivered',
    ],
    [
      'another URL rejects it later',
      [accepted(), late(to('whk_2', 'rejected'))],
      'partly_delivered',
    ],
    ['another URL accepts it later', [accepted(), late(to('whk_2'))], 'delivered'],
    ['another URL was not called', [accepted({ notCalled: ['whk_2'] })], 'partly_delivered'],
    [
      'the endpoints of other channels get alerts of their own',
      [accepted({ destination: 'alerts', notCalled: ['mailto:ops@example.com'] })],
      'delivered',
    ],
    [
      'another URL of its channel rejects an alert',
      [anEvent({ destination: 'alerts', urls: [to('whk_2', 'rejected'), to('whk_1')] })],
      'partly_delivered',
    ],
    [
      'another URL rejected it in an earlier attempt',
      [
        aFailure({ urls: [to('whk_1', 'retry'), to('whk_2', 'rejected')] }),
        accepted({ n: 2, hop: 1, notCalled: ['whk_2'] }),
      ],
      'partly_delivered',
    ],
    [
      'a URL that failed was removed before the next attempt',
      [aFailure({ urls: [to('whk_9', 'retry')] }), accepted({ n: 2, hop: 1 })],
      'delivered',
    ],
    [
      'a failed test',
      [anEvent({ test: true, urls: [to('whk_1'), to('whk_2', 'retry')] })],
      'partly_delivered',
    ],
    [
      'a replay reaches the other URL alone',
      [
        accepted(),
        late(to('whk_2', 'retry')),
        anEvent({ replay: 1, at: at(90), urls: [to('whk_2')], notCalled: ['whk_1'] }),
      ],
      'delivered',
    ],
    [
      'a replay fails at both URLs',
      [
        accepted(),
        late(to('whk_2')),
        aFailure({ replay: 1, urls: [to('whk_1', 'retry'), to('whk_2', 'retry')] }),
      ],
      'delivered',
    ],
  ])('a delivery has the right status if %s', (_, events, status) => {
    expect(after(...events)).toMatchObject({ status, reason: null });
  });
});

describe('the last response', () => {
  const timeout = { code: 'timeout' as const, message: 'no complete answer within 5000 ms' };
  const { status: _, ...unanswered } = aUrl({ outcome: 'retry', error: timeout });
  const refused = aUrl({
    url: 'whk_2',
    outcome: 'rejected',
    status: 404,
    error: { code: 'status', message: '404' },
  });

  test.each<[string, DeliveryEvent[], { status: number | null; code: string | null }]>([
    ['without an attempt is unknown', [aWait()], { status: null, code: null }],
    [
      'of a success has no error',
      [aFailure(), anEvent({ n: 2, hop: 1 })],
      { status: 200, code: null },
    ],
    [
      'before a timeout is that of the attempt before',
      [aFailure(), aFailure({ n: 2, hop: 1, urls: [unanswered] })],
      { status: 503, code: 'timeout' },
    ],
    [
      'of several URLs is that of the failed one',
      [anEvent({ urls: [refused, aUrl()] })],
      { status: 404, code: 'status' },
    ],
  ])('the last response %s', (_, events, { status, code }) => {
    const last = lastResponse(after(...events).tries);
    expect([last.status, last.error?.code ?? null]).toEqual([status, code]);
  });
});

describe('a delivered row', () => {
  test.each<[string, DeliveryEvent]>([
    ['a failed copy', aFailure({ n: 2, hop: 1 })],
    ['the dead letter of a copy', aDeath({ hop: 5 })],
    ['a waiting copy', aWait({ hop: 2 })],
    ['a failed replay', aFailure({ replay: 1 })],
    ['the dead letter of a replay', aDeath({ replay: 1 })],
  ])('a delivered row stays delivered after %s', (_, event) => {
    expect(after(anEvent(), event).status).toBe('delivered');
  });
});

describe('the job of a delivery', () => {
  const died = [aFailure(), aDeath({ hop: 1 })];
  const replayed = aWait({ replay: 1, reason: REPLAYED, job: 'rpl_1' });
  const retried = aWait({ n: 1, hop: 1, reason: RETRY_REQUESTED, job: 'rpl_2' });

  test.each<[string, DeliveryEvent[], string | null]>([
    ['has none before it is sent again', [aFailure()], null],
    ['has the job of its replay', [...died, replayed], 'rpl_1'],
    ['has the job of its retry', [aFailure(), retried], 'rpl_2'],
    [
      'keeps the job when it is delivered',
      [aFailure(), retried, anEvent({ n: 2, hop: 1 })],
      'rpl_2',
    ],
    [
      'has the last job',
      [...died, replayed, aWait({ replay: 2, reason: REPLAYED, job: 'rpl_3' })],
      'rpl_3',
    ],
    [
      'has none once it is replayed alone',
      [...died, replayed, aWait({ replay: 2, reason: REPLAYED })],
      null,
    ],
    ['shows an untried replay after it was delivered', [anEvent(), replayed], 'rpl_1 untried'],
    [
      'shows a failed replay after it was delivered',
      [anEvent(), replayed, aFailure({ replay: 1 })],
      'rpl_1 failed',
    ],
    [
      'shows a replay that died untried',
      [anEvent(), replayed, aDeath({ replay: 1 })],
      'rpl_1 failed',
    ],
    [
      'has no job once a replay is cancelled',
      [anEvent(), replayed, aCancellation({ replay: 1 })],
      null,
    ],
    ['shows a second delivery', [anEvent(), replayed, anEvent({ replay: 1, at: at(90) })], 'rpl_1'],
    [
      'shows a second delivery after a failed replay',
      [
        anEvent(),
        replayed,
        aFailure({ replay: 1 }),
        anEvent({ replay: 1, n: 2, hop: 1, at: at(99) }),
        replayed,
      ],
      'rpl_1',
    ],
  ])('a delivery %s', (_, events, job) => {
    const row = after(...events);
    expect(row.jobResult === null ? row.job : `${row.job} ${row.jobResult}`).toBe(job);
  });

  test('a retry that is announced again after its attempt changes nothing', () => {
    const before = after(aFailure(), retried, aFailure({ n: 2, hop: 1, at: at(70) }));
    expect(applyEvent(before, retried)).toEqual(before);
  });
});

describe('repeated and late events', () => {
  const story = [
    aFailure(),
    aWait({ n: 1, hop: 1 }),
    aFailure({ n: 2, hop: 2, at: at(70) }),
    aDeath({ n: 2, hop: 3 }),
  ];

  test('repeated events change nothing', () => {
    const once = after(...story);
    expect(after(...story, ...story)).toEqual(once);
    for (const event of story) expect(applyEvent(once, event)).toEqual(once);
  });

  test('events of an earlier step change no status, but their attempts count', () => {
    const row = after(aWait({ n: 1, hop: 2, reason: 'paused' }), aFailure({ hop: 1, at: at(5) }));
    expect(row).toMatchObject({ status: 'held', reason: 'paused', hop: 2 });
    expect(row.tries).toHaveLength(1);
  });

  test('the same attempt at another time is another attempt, since a crash repeated it', () => {
    expect(
      after(aFailure({ at: at(1) }), aFailure({ at: at(7) })).tries.map((each) => each.at),
    ).toEqual([at(1), at(7)]);
  });
});

describe('a replay', () => {
  const died = after(aFailure(), aDeath({ hop: 1 }));

  test('a replay restarts the delivery and keeps earlier attempts', () => {
    const replayed = applyEvent(died, aWait({ replay: 1, reason: REPLAYED }));
    expect(replayed).toMatchObject({
      status: 'waiting',
      reason: REPLAYED,
      replay: 1,
      hop: 0,
      made: 0,
      settledAt: null,
    });
    const delivered = applyEvent(replayed, anEvent({ replay: 1, at: at(100) }));
    expect(delivered).toMatchObject({ status: 'delivered', made: 1 });
    expect(delivered.tries.map(({ n, replay }) => [n, replay])).toEqual([
      [1, 0],
      [1, 1],
    ]);
  });

  test('a replay announced after its first event changes nothing', () => {
    const retrying = applyEvent(died, aFailure({ replay: 1, at: at(100) }));
    expect(applyEvent(retrying, aWait({ replay: 1, reason: REPLAYED }))).toEqual(retrying);
  });

  test('late events of the previous replay change nothing', () => {
    const replayed = applyEvent(died, aWait({ replay: 1, reason: REPLAYED }));
    expect(applyEvent(replayed, aDeath({ hop: 9, reason: 'window_closed' })).status).toBe(
      'waiting',
    );
  });
});

describe('requests that end after their attempt', () => {
  const late = (url: string, over = {}) =>
    anEvent({
      late: true,
      at: at(4),
      durationMs: 3_000,
      urls: [aUrl({ url, outcome: 'retry', status: 503 })],
      ...over,
    });

  test('late requests are added to their attempt once', () => {
    const row = after(anEvent(), late('whk_2'), late('whk_3'), late('whk_2'));
    expect(row.tries).toHaveLength(1);
    expect(row.tries[0]).toMatchObject({ outcome: 'delivered', durationMs: 3_000 });
    expect(row.tries[0]!.urls.map(({ url }) => url)).toEqual(['whk_1', 'whk_2', 'whk_3']);
  });

  test('late requests belong to the last of two attempts with the same number', () => {
    const row = after(aFailure({ at: at(1) }), anEvent({ at: at(2) }), late('whk_2'));
    expect(row.tries.map(({ urls }) => urls.length)).toEqual([1, 2]);
  });
});

test('a row keeps a limited number of attempts, the last ones', () => {
  let row: DeliveryRow | undefined;
  for (let i = 0; i < 250; i++) {
    row = applyEvent(row, aFailure({ n: i + 1, hop: i, at: at(i) }));
  }
  expect(row!.tries.map(({ n }) => n)).toEqual(Array.from({ length: 100 }, (_, i) => i + 151));
  expect(row!.made).toBe(250);
});
