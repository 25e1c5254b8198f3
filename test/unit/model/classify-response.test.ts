import {
  type Classification,
  type Outcome,
  type UrlErrorCode,
} from '../../../shared/model/attempt-events';
import {
  classifyError,
  classifyStatus,
  mergeClassifications,
  parseRetryAfter,
  retryAfterMs,
} from '../../../shared/model/classify-response';

describe('a response', () => {
  const table: Record<Classification, number[]> = {
    delivered: [200, 201, 202, 204, 206, 226, 299],
    retry: [408, 423, 425, 429, 500, 501, 502, 503, 504, 505, 511, 520, 599],
    rejected: [
      300, 301, 302, 303, 304, 307, 308, 400, 401, 402, 403, 404, 405, 406, 407, 409, 410, 411, 413,
      415, 422,
    ],
  };
  for (const [outcome, statuses] of Object.entries(table)) {
    test.each(statuses)(`with status %i is ${outcome}`, (status) =>
      expect(classifyStatus(status)).toBe(outcome),
    );
  }
  test.each([424, 426, 428, 431, 451, 499])('with status %i, another 4xx, is rejected', (status) =>
    expect(classifyStatus(status)).toBe('rejected'),
  );
  test.each([0, 100, 101, 199, 600, 999, NaN])(
    'with status %i, which HTTP does not define as final, is retried',
    (status) => expect(classifyStatus(status)).toBe('retry'),
  );
});

test.each<[number, Classification]>([
  [404, 'retry'],
  [301, 'retry'],
  [409, 'rejected'],
  [200, 'delivered'],
  [503, 'retry'],
])(
  'with status %i and further retried statuses 404 and 301, a response is %s',
  (status, expected) => expect(classifyStatus(status, new Set([404, 301]))).toBe(expected),
);

test.each<[UrlErrorCode, Classification]>([
  ['timeout', 'retry'],
  ['dns', 'retry'],
  ['connection', 'retry'],
  ['tls', 'retry'],
  ['forbidden_address', 'rejected'],
  ['invalid_url', 'rejected'],
  ['status', 'retry'],
])('the error %s has the classification %s', (code, expected) =>
  expect(classifyError({ code }).classification).toBe(expected),
);

test('a name with a forbidden address is away: its error is retried, and is a failure', () => {
  expect(classifyError({ code: 'forbidden_address', phase: 'dns' })).toEqual({
    classification: 'retry',
    signal: 'failed',
  });
});

describe('Retry-After', () => {
  const NOW = Date.parse('2026-11-21T12:00:00.000Z');
  const DAY = 86_400_000;
  test.each<[string | undefined, number | undefined]>([
    ['120', 120_000],
    ['0', 0],
    [' 5 ', 5_000],
    ['007', 7_000],
    ['86400', DAY],
    ['86401', DAY],
    ['99999999999999999999', DAY],
    // the three forms of an HTTP date
    ['Sat, 21 Nov 2026 12:01:30 GMT', 90_000],
    ['Saturday, 21-Nov-26 12:01:30 GMT', 90_000],
    ['Sat Nov 21 12:01:30 2026', 90_000],
    // and with other zones than GMT
    ['Sat, 21 Nov 2026 12:01:30 UTC', 90_000],
    ['Sat, 21 Nov 2026 14:01:30 +0200', 90_000],
    ['Sat, 21 Nov 2026 07:01:30 -05:00', 90_000],
    ['Sat, 21 Nov 2026 11:59:00 GMT', 0],
    ['Sun, 21 Nov 2027 12:00:00 GMT', DAY],
    // fractions, quotes, and a header that a proxy added a second time
    ['4.5', 4_500],
    ['1.5', 1_500],
    ['5.', 5_000],
    ['.25', 250],
    ['0.0001', 1],
    ['"120"', 120_000],
    ["'120'", 120_000],
    ['120, 120', 120_000],
    ['5, 10', 10_000],
    ['"5","10"', 10_000],
    ['soon, 7', 7_000],
    ['Sat, 21 Nov 2026 12:01:30 GMT, Sat, 21 Nov 2026 12:01:30 GMT', 90_000],
    ['"Sat, 21 Nov 2026 12:01:30 GMT"', 90_000],
    // neither
    [undefined, undefined],
    ['', undefined],
    ['soon', undefined],
    ['-5', undefined],
    ['+5', undefined],
    ['.', undefined],
    ['1.2.3', undefined],
    ['1e3', undefined],
    ['0x10', undefined],
    [',', undefined],
    ['5s', undefined],
    ['2026-11-21T12:01:30Z', undefined],
    ['Sat, 99 Nov 2026 12:01:30 GMT', undefined],
    ['Sat, whenever', undefined],
  ])('%j means a wait of %j ms', (value, expected) =>
    expect(parseRetryAfter(value, NOW)).toBe(expected),
  );

  test.each([
    [429, 7_000],
    [503, 7_000],
    [200, undefined],
    [301, undefined],
    [408, undefined],
    [500, undefined],
    [502, undefined],
  ])('on status %i gives a wait of %j ms', (status, expected) =>
    expect(retryAfterMs(status, '7', NOW)).toBe(expected),
  );
});

test.each<[Classification[], Outcome]>([
  [['delivered'], 'delivered'],
  [['retry'], 'retry'],
  [['rejected'], 'rejected'],
  [['rejected', 'retry', 'delivered'], 'delivered'],
  [['delivered', 'rejected'], 'delivered'],
  [['rejected', 'retry', 'rejected'], 'retry'],
  [['rejected', 'rejected'], 'rejected'],
  [[], 'rejected'],
])('the outcomes %j of all URLs make the attempt %s', (outcomes, expected) =>
  expect(mergeClassifications(outcomes)).toBe(expected),
);
