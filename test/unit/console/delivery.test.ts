import fc from 'fast-check';
import { inBulk } from '../../../console/src/delivery/bulk';
import { changesBetween } from '../../../console/src/delivery/differences';
import { sampleOf, sampleText } from '../../../console/src/delivery/sample';
import {
  budgetInWords,
  momentsOf,
  sentenceOf,
  titleOf,
} from '../../../console/src/delivery/timeline';
import {
  acceptedInWords,
  errorInWords,
  jsonIn,
  urlsInWords,
} from '../../../console/src/destination/attempt-text';
import { tallyInWords, theMessageOf } from '../../../console/src/deliveries/tally';
import { whyOf } from '../../../console/src/lib/goes-on';
import { hitsIn } from '../../../console/src/lib/hits';
import { absolute, clock } from '../../../console/src/lib/labels';
import { defined } from '../../../shared/collections/defined';
import { curlOf } from '../../../shared/model/curl';
import { WAIT_ENDS } from '../../../shared/model/reasons';
import { type Delivery, type GoesOn } from '../../../shared/api/operations';

type Attempt = Delivery['attempts'][number];

const NOW = Date.parse('2026-01-01T12:00:00.000Z');
const iso = (ms: number) => new Date(NOW + ms).toISOString();

function anEvent(
  n: number,
  url: Partial<Attempt['urls'][number]> = {},
  more: Partial<Attempt> = {},
): Attempt {
  const at = { url: 'whk_1', origin: 'https://a.example', destinationVersion: 1 };
  const common = { ...at, outcome: 'retry' as const, durationMs: 12 };
  return {
    n,
    replay: 0,
    at: iso(-60_000 * (10 - n)),
    durationMs: 12,
    outcome: 'retry' as const,
    ...more,
    urls: [{ ...common, status: 500, ...url }],
  };
}

function goesOn(when: GoesOn['when'], over: Partial<GoesOn> = {}): GoesOn {
  return {
    when,
    at: null,
    lastCheck: null,
    nextCheckBy: null,
    givenUpAt: iso(14_400_000),
    ...over,
  };
}

function aDelivery(fields: Partial<Delivery> = {}): Delivery {
  const budget = {
    attemptsMade: 1,
    nextAttemptAt: iso(240_000),
    expiresAt: iso(14_400_000),
    waitsFor: 'backoff',
  };
  return {
    id: 'dlv_1',
    messageId: 'm-1',
    source: 'src_1',
    destination: 'dst_1',
    destinationName: 'Hooks',
    type: 'track',
    userId: 'u-1',
    status: 'retrying',
    reason: 'backoff',
    acceptedAt: iso(-600_000),
    expiresAt: budget.expiresAt,
    event: null,
    lastStatusCode: 500,
    lastError: null,
    nextAttemptAt: budget.nextAttemptAt,
    goesOn: goesOn('at', { at: budget.nextAttemptAt }),
    settledAt: null,
    replay: 0,
    attemptsMade: 1,
    test: false,
    attempts: [anEvent(1)],
    budget,
    body: { type: 'track' },
    ...fields,
  };
}

describe('the timeline of a delivery', () => {
  const texts = (delivery: Delivery) => momentsOf(delivery, NOW).map(({ text }) => text);

  test('shows the attempts, the next one, and the end of the window', () => {
    expect(texts(aDelivery())).toEqual([
      'Accepted',
      'Attempt 1: 500 (12 ms)',
      `Next attempt in 4 min, at ${absolute(iso(240_000), NOW)}`,
      'Gives up',
    ]);
  });

  test('shows a request that was withheld as not sent, and not as an attempt', () => {
    const error = { code: 'token', message: 'the token endpoint gave no token: it answered 401' };
    const attempts = [anEvent(1, { status: undefined, error }, { withheld: true })];
    expect(texts(aDelivery({ attempts }))[1]).toBe('Not sent: no token');
  });

  test('says what a delivery waits for whose endpoint is away, and names no past time', () => {
    const error = { at: iso(-9_000), code: 'timeout', status: null, message: 'no response' };
    const waits = goesOn('on_answer', {
      at: iso(-3_300_000),
      lastCheck: { ...error, url: 'whk_1' },
      nextCheckBy: iso(50_000),
      givenUpAt: iso(60_000),
    });
    const held = aDelivery({
      attempts: [],
      attemptsMade: 0,
      status: 'held',
      reason: 'circuit_open',
      goesOn: waits,
    });
    const next =
      'Next attempt: as soon as the endpoint answers (the last failure was at ' +
      `${absolute(error.at, NOW)}: no response). Waypost asks again in 50 s at the latest`;
    expect(momentsOf(held, NOW).slice(1)).toEqual([
      { at: null, kind: 'wait', text: 'The endpoint is failing' },
      { at: null, kind: 'next', text: next },
      { at: iso(60_000), kind: 'next', text: 'Gives up' },
    ]);
    expect(budgetInWords(held, NOW)).toBe(
      `No attempts yet. ${next}; gives up at ${clock(iso(60_000), NOW)}.`,
    );
  });

  test('announces no time that has passed, for any delivery', () => {
    const time = fc.integer({ min: -90_000_000, max: 90_000_000 }).map(iso);
    const waits = fc.record<GoesOn>({
      when: fc.constantFrom(...WAIT_ENDS),
      at: fc.option(time),
      lastCheck: fc.constant(null),
      nextCheckBy: fc.option(time),
      givenUpAt: time,
    });
    const reason = fc.constantFrom('backoff', 'circuit_open', 'paused', null);
    fc.assert(
      fc.property(waits, reason, (given, why) => {
        const delivery = aDelivery({ goesOn: given, reason: why });
        const coming = momentsOf(delivery, NOW).filter(({ kind }) => kind === 'next');
        for (const { at } of coming) expect(at === null || Date.parse(at) > NOW).toBe(true);
        expect(budgetInWords(delivery, NOW)).not.toMatch(/(Next attempt|gives up) [^;.]* ago/);
      }),
    );
  });

  test('separates a replay, and ends with the final status', () => {
    const attempts = [
      anEvent(1, { outcome: 'rejected', status: 404 }),
      anEvent(
        1,
        { outcome: 'delivered', status: 200 },
        { replay: 1, at: iso(-1_000), outcome: 'delivered' },
      ),
    ];
    expect(
      texts(
        aDelivery({
          attempts,
          status: 'delivered',
          reason: null,
          goesOn: null,
          settledAt: iso(0),
          replay: 1,
        }),
      ),
    ).toEqual([
      'Accepted',
      'Attempt 1: 404 (12 ms)',
      'Replay 1',
      'Attempt 1: 200 (12 ms)',
      'Delivered',
    ]);
  });

  test('says how many attempts were made and when the next one follows', () => {
    expect(budgetInWords(aDelivery(), NOW)).toBe(
      `1 attempt so far. Next attempt in 4 min, at ${absolute(iso(240_000), NOW)}; ` +
        `gives up at ${clock(iso(14_400_000), NOW)}.`,
    );
  });
});

describe('the sentence of a delivery', () => {
  const ended = { goesOn: null, settledAt: iso(-597_000) };
  const at = absolute(iso(-597_000), NOW);

  test.each([
    [
      { ...ended, status: 'delivered', reason: null },
      `Delivered at ${at}, 3 s after it was accepted, at the first attempt.`,
    ],
    [
      { ...ended, status: 'delivered', reason: null, replay: 1 },
      `Delivered at ${at}, 3 s after it was accepted, at the first attempt of replay 1.`,
    ],
    [
      { ...ended, status: 'dead', reason: 'rejected', attemptsMade: 2, replay: 3 },
      `Dead since ${at}, after 2 attempts of replay 3. The endpoint rejected it. It is not retried.`,
    ],
    [
      { ...ended, status: 'partly_delivered', reason: null, attemptsMade: 2 },
      `Delivered at ${at}, 3 s after it was accepted, after 2 attempts. Another of its URLs did not accept it.`,
    ],
    [
      { ...ended, status: 'dead', reason: 'rejected' },
      `Dead since ${at}, after 1 attempt. The endpoint rejected it. It is not retried.`,
    ],
    [
      {
        ...ended,
        status: 'dead',
        reason: 'rejected',
        attempts: [
          anEvent(1, {
            outcome: 'rejected',
            status: 422,
            response: {
              headers: {},
              body: `{\n  "error": "no such shop"\n}${' '.repeat(20)}${'x'.repeat(80)}`,
              truncated: false,
            },
          }),
        ],
      },
      `Dead since ${at}, after 1 attempt. The endpoint rejected it. It is not retried. ` +
        `The endpoint answered HTTP 422: { "error": "no such shop" } ${'x'.repeat(52)} …`,
    ],
    [
      { ...ended, status: 'cancelled', reason: 'cancelled_by_user', attemptsMade: 0 },
      `Cancelled since ${at}, without an attempt. Someone cancelled it.`,
    ],
    [{}, `The last attempt failed. ${budgetInWords(aDelivery(), NOW)}`],
  ] as [Partial<Delivery>, string][])('says what became of it: %j', (fields, says) => {
    expect(sentenceOf(aDelivery(fields), NOW)).toBe(says);
  });

  test('is headed by the event and its destination, as far as they have names', () => {
    expect(titleOf(aDelivery({ event: 'Order Completed' }))).toBe('Order Completed → Hooks');
    expect(titleOf(aDelivery({ destinationName: null }))).toBe('track → a deleted destination');
  });
});

describe('a delivery in a list', () => {
  test('says first what follows, and then why: the end has seldom room', () => {
    const waits = { status: 'held', reason: 'circuit_open', goesOn: goesOn('on_answer') } as const;
    expect(whyOf(waits, NOW)).toBe(
      'Next attempt: as soon as the endpoint answers. The endpoint is failing',
    );
    const dead = { status: 'dead', reason: 'rejected', goesOn: null } as const;
    expect(whyOf(dead, NOW)).toBe('The endpoint rejected it. It is not retried');
    expect(whyOf({ ...dead, status: 'delivered', reason: null }, NOW)).toBe('');
  });
});

describe('what a search has found', () => {
  const found = (...statuses: Delivery['status'][]) =>
    statuses.map((status) => aDelivery({ status }));

  test('is counted by its outcome', () => {
    expect(
      tallyInWords(found('delivered', 'held', 'dead', 'retrying', 'waiting', 'partly_delivered')),
    ).toBe('2 delivered, 3 waiting, 1 dead');
    expect(tallyInWords([])).toBe('');
  });

  test.each([
    ['u-A-17x', 'a-17', ['u-', 'A-17', 'x']],
    ['A-170 and A-171', 'A-17', ['', 'A-17', '0 and ', 'A-17', '1']],
    ['a.b (c)', '.B (', ['a', '.b (', 'c)']],
    ['nothing of it', 'A-17', ['nothing of it']],
    ['no search', '', ['no search']],
    ['A-17', '"A-17"', ['', 'A-17', '']],
    ['A-170', '"A-17"', ['A-170']],
    ['"A-17"', '"A-17"', ['', '"A-17"', '']],
  ])('is marked: %j by %j', (shown, sought, parts) => {
    expect(hitsIn(shown, sought)).toEqual(parts);
  });

  test('may be one event', () => {
    expect(theMessageOf(found('dead', 'held'))).toBe('m-1');
    expect(theMessageOf([...found('dead'), aDelivery({ messageId: 'm-2' })])).toBeUndefined();
    expect(theMessageOf([])).toBeUndefined();
  });
});

describe('two attempts', () => {
  test('differ in the facts that changed, without the date of the response', () => {
    const response = (body: string, date: string) => ({
      headers: { date, server: 'x' },
      body,
      truncated: false,
    });
    const before = anEvent(1, { response: response('boom', 'Mon') });
    const after = anEvent(2, {
      status: 200,
      outcome: 'delivered',
      response: response('ok', 'Tue'),
    });
    expect(changesBetween(before, after)).toEqual([
      { what: 'Outcome', before: 'retry', after: 'delivered' },
      { what: 'Status', before: '500', after: '200' },
      { what: 'Response body', before: 'boom', after: 'ok' },
    ]);
  });

  test('do not show a response that was not stored as an empty one', () => {
    const stored = { headers: { server: 'a' }, body: 'boom', truncated: false };
    const before = anEvent(1, { status: 500, response: stored });
    const after = anEvent(2, {
      status: 500,
      response: { headers: {}, body: '', truncated: true },
    });
    expect(changesBetween(before, after)).toEqual([
      { what: 'Response header server', before: 'a', after: '–' },
      { what: 'Response body', before: 'boom', after: '–' },
    ]);
  });

  test('differ in a URL that only one of them called', () => {
    const after = anEvent(2, { url: 'whk_2', status: 200 });
    expect(changesBetween(anEvent(1), after)).toContainEqual({
      what: 'URL 2: Status',
      before: '–',
      after: '200',
    });
  });
});

describe('a result', () => {
  const error = (code: string, message: string, phase?: string) => ({
    code,
    message,
    ...defined({ phase: phase || undefined }),
  });
  test.each([
    [error('status', 'the response status was 500'), 500, undefined],
    [error('status', 'the response status was 302'), 302, 'Waypost does not follow redirects'],
    [
      error('tls', 'DEPTH_ZERO_SELF_SIGNED_CERT', 'tls'),
      undefined,
      'DEPTH_ZERO_SELF_SIGNED_CERT: the certificate is self-signed (tls)',
    ],
    [
      error('timeout', 'no response in 5 s', 'headers'),
      undefined,
      'no response in 5 s (timeout during headers)',
    ],
  ])('with the error %j and the status %s is described as %s', (given, status, text) => {
    expect(errorInWords(given, status)).toBe(text);
  });

  test('says how many URLs accepted a message', () => {
    expect(acceptedInWords([{ outcome: 'delivered' }, { outcome: 'retry' }])).toBe(
      '1 of 2 URLs accepted it.',
    );
    expect(acceptedInWords([{ outcome: 'rejected' }])).toBe('0 of 1 URL accepted it.');
  });

  test('is shown as JSON only if its body is an object or a list', () => {
    expect([jsonIn(' {"a":1}'), jsonIn('[1]'), jsonIn('12'), jsonIn('{broken')]).toEqual([
      { a: 1 },
      [1],
      undefined,
      undefined,
    ]);
  });
});

test('a URL that was not called and cannot be decrypted is not said to be removed', () => {
  const webhooks = [
    { id: 'whk_1', url: 'https://a.example/' },
    { id: 'whk_2', url: null },
  ];
  expect(urlsInWords(['whk_1', 'whk_2', 'whk_3'], webhooks)).toEqual([
    'https://a.example/',
    'a URL that this installation cannot decrypt',
    'a URL that was removed',
  ]);
});

describe('a request as curl', () => {
  test('leaves out the encoding of a compressed body, since curl sends it plain', () => {
    const headers = { 'content-encoding': 'gzip' };
    expect(curlOf({ method: 'POST', url: 'https://a.example/', headers, body: 'a' })).not.toContain(
      'gzip',
    );
  });

  test('quotes every part, and names the headers whose values are hidden', () => {
    const headers = { 'content-type': 'application/json', 'x-signature': '***', 'x-own': "it's" };
    expect(
      curlOf({ method: 'POST', url: 'https://a.example/h?x=1', headers, body: { name: "O'Neil" } }),
    ).toBe(
      [
        '# Not included, because their values are hidden: x-signature',
        "curl -i -X POST 'https://a.example/h?x=1' \\",
        "  -H 'content-type: application/json' \\",
        "  -H 'x-own: it'\\''s' \\",
        `  --data-raw '{"name":"O'\\''Neil"}'`,
      ].join('\n'),
    );
  });
});

describe('a delivered message as a test', () => {
  test('keeps the fields that a test may set', () => {
    const body = {
      version: 1,
      type: 'track',
      userId: 'u',
      event: 'E',
      properties: { a: 1 },
      messageId: 'm',
      name: null,
    };
    const text = sampleText({ type: 'track', body })!;
    expect(sampleOf(text)).toEqual({
      sample: { type: 'track', userId: 'u', event: 'E', properties: { a: 1 } },
    });
  });

  test('is not offered without a body or for a type that a test cannot have', () => {
    expect(sampleText({ type: 'delete', body: {} })).toBeUndefined();
    expect(sampleText({ type: 'track', body: null })).toBeUndefined();
  });

  test.each([
    ['[]', /JSON object/],
    ['{', /^Not valid JSON: /],
  ])('with the text %s names the mistake', (text, problem) => {
    expect(sampleOf(text)).toEqual({ problem: expect.stringMatching(problem) });
  });
});

test('a bulk action goes on after a failure, and reports it', async () => {
  const seen: string[] = [];
  const act = (id: string) => {
    seen.push(id);
    return id === 'b' ? Promise.reject(new Error('no')) : Promise.resolve();
  };
  const result = await inBulk(
    ['a', 'b', 'c', 'd', 'e', 'f'],
    act,
    (error) => (error as Error).message,
  );
  expect([seen.sort(), result.done, [...result.failed]]).toEqual([
    ['a', 'b', 'c', 'd', 'e', 'f'],
    5,
    [['b', 'no']],
  ]);
});
