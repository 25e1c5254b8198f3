import { verdict } from '../../../bin/check';
import { defined } from '../../../shared/collections/defined';

type Result = Parameters<typeof verdict>[0];

/** A result of the history, with one attempt at one URL. */
function result(status: Result['status'], code?: string, reason: string | null = null): Result {
  const outcome = status === 'delivered' ? 'delivered' : 'rejected';
  const error = code === undefined ? undefined : { code, message: 'the reason' };
  const urls = [
    {
      url: 'whk_1',
      origin: 'http://10.1.2.3:8080',
      outcome,
      durationMs: 1,
      ...defined({ error }),
    },
  ];
  const attempts = [{ n: 1, replay: 0, at: '2026-11-23T00:00:00Z', durationMs: 1, outcome, urls }];
  return { status, reason, attempts } as Result;
}

test('the check succeeds if history has the delivery, and one genuine webhook arrived', () => {
  expect(verdict(result('delivered'), { genuine: 1, forged: 0 })).toContain('arrived once');
});

test('the check succeeds if delivery refused only the private address of the check', () => {
  const refused = result('dead', 'forbidden_address', 'rejected');
  expect(verdict(refused, { genuine: 0, forged: 0 })).toContain('no allowed network contains it');
});

test.each([
  [
    'the webhook did not arrive',
    result('delivered'),
    { genuine: 0, forged: 0 },
    '0 webhooks arrived',
  ],
  [
    'the webhook arrived twice',
    result('delivered'),
    { genuine: 2, forged: 0 },
    '2 webhooks arrived',
  ],
  [
    'a signature does not match',
    result('delivered'),
    { genuine: 1, forged: 1 },
    'signature that does not match',
  ],
  [
    'the receiver timed out',
    result('dead', 'timeout', 'window_closed'),
    { genuine: 0, forged: 0 },
    'timeout',
  ],
  [
    'the delivery was cancelled',
    { ...result('cancelled'), attempts: [] },
    { genuine: 0, forged: 0 },
    'cancelled',
  ],
])('the check fails if %s', (_, delivery, arrivals, why) => {
  expect(() => verdict(delivery, arrivals)).toThrow(why);
});
