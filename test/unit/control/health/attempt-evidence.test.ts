import * as fc from 'fast-check';
import { type Evidence, evidenceOf } from '../../../../services/control/health/attempt-evidence';
import { type DeliveryEvent } from '../../../../shared/model/attempt-events';
import { type Rows } from '../../../../shared/model/attempt-rows';
import { aCancellation, aDeath, aFailure, anEvent, at, aUrl, aWait } from '../../../support/events';
import { aSuccess, rowsOf, success } from '../../../support/successes';

const ms = (seconds: number) => Date.parse(at(seconds));
const all = (event: object) => evidenceOf(Buffer.from(JSON.stringify(event)));
const of = (event: object) => all(event)[0];
const rejected = anEvent({ outcome: 'rejected', reason: 'rejected' });

test.each<[string, DeliveryEvent, Evidence['kind'] | undefined]>([
  ['a delivery is evidence of success', anEvent(), 'ok'],
  ['a failed attempt is evidence of failure', aFailure(), 'failed'],
  ['a rejection is evidence of failure', rejected, 'failed'],
  ['a dead letter is evidence of a dead letter', aDeath(), 'dead'],
  ['a wait is no evidence', aWait(), undefined],
  [
    'a wait for a token is evidence that nothing can be sent',
    aWait({ reason: 'token' }),
    'blocked',
  ],
  [
    'a wait for the proxy is evidence that nothing can be sent',
    aWait({ reason: 'proxy' }),
    'blocked',
  ],
  ['a wait for a rate is no evidence', aWait({ reason: 'rate_limited' }), undefined],
  ['a cancellation is no evidence', aCancellation(), undefined],
  ['a test that succeeds is no evidence', anEvent({ test: true }), undefined],
  ['a test that ends as a dead letter is no evidence', aDeath({ test: true }), undefined],
  [
    'a request that ends after its delivery is no evidence',
    anEvent({ late: true, urls: [aUrl({ url: 'whk_2' })] }),
    undefined,
  ],
])('%s', (_, event, expected) => {
  expect(of(event)?.kind).toBe(expected);
});

test('the evidence contains the time, the time of the next attempt, and the error', () => {
  expect(of(aFailure())).toEqual({
    kind: 'failed',
    destination: 'dst_1',
    at: ms(1),
    until: ms(11),
    error: 'https://a.example: HTTP 503',
    status: 503,
    url: 'whk_1',
  });
  const error = { code: 'timeout' as const, message: 'no complete answer within 5000 ms' };
  const { status: _, ...url } = aUrl({ outcome: 'retry', error });
  expect(of(aFailure({ urls: [url] }))).toMatchObject({
    error: 'https://a.example: no complete answer within 5000 ms',
    code: 'timeout',
  });
  expect(of(rejected)).toMatchObject({ at: ms(1), until: ms(1) });
});

test('the evidence that nothing can be sent has the cause, if the delivery met it itself', () => {
  const message = 'the token endpoint gave no token: it answered 500';
  const error = { code: 'token' as const, phase: 'token' as const, message };
  const { status: _, ...url } = aUrl({ outcome: 'retry', error });
  expect(of(aWait({ reason: 'token', urls: [url] }))).toEqual({
    kind: 'blocked',
    destination: 'dst_1',
    at: ms(1),
    until: Date.parse(aWait().expiresAt),
    code: 'token',
    error: `https://a.example: ${message}`,
    url: 'whk_1',
  });
  expect(of(aWait({ reason: 'token' }))).toEqual({
    kind: 'blocked',
    destination: 'dst_1',
    at: ms(1),
    until: Date.parse(aWait().expiresAt),
  });
  expect(of(aWait({ reason: 'secrets_unreadable' }))).toMatchObject({
    code: 'secrets_unreadable',
    error: 'the secrets of the destination cannot be decrypted',
  });
});

const failed = aUrl({ url: 'whk_2', outcome: 'retry', status: 503 });
test.each<[string, DeliveryEvent, string[]]>([
  ['whose URLs all accept it', anEvent({ urls: [aUrl(), aUrl({ url: 'whk_2' })] }), ['ok']],
  ['with a URL that fails', anEvent({ urls: [aUrl(), failed] }), ['ok', 'partly']],
  ['with a URL that is not called', anEvent({ notCalled: ['whk_2'] }), ['ok', 'partly']],
  ['with a URL that fails late', anEvent({ late: true, urls: [failed] }), ['partly']],
  [
    'of alerts, which go to one channel each',
    anEvent({ destination: 'alerts', notCalled: ['whk_2'] }),
    ['ok'],
  ],
])('a delivery %s is evidence of what it reached', (_, event, kinds) => {
  expect(all(event).map(({ kind }) => kind)).toEqual(kinds);
});

test('the evidence does not depend on field order or the content of responses and ids', () => {
  const body = '{"outcome":"retry","kind":"dead","late":true}';
  const response = { headers: { destination: 'dst_2' }, body, truncated: false };
  const event = anEvent({
    message: 'm,"urls":[',
    userId: '","destination":"dst_3',
    urls: [aUrl({ response })],
  });
  const { urls, ...rest } = event;
  const expected = { kind: 'ok', destination: 'dst_1', at: ms(1) };
  expect([of(event), of({ urls, ...rest }), of({ ...rest, urls, more: { urls: [] } })]).toEqual(
    Array(3).fill(expected),
  );
});

test.each([
  '',
  '{}',
  'no event',
  'null',
  '[]',
  '{"kind":"attempt","outcome":"delivered","urls":[],"at":"never"}',
])('an unreadable record is no evidence: %j', (text) => {
  expect([evidenceOf(Buffer.from(text)), evidenceOf(null)]).toEqual([[], []]);
});

test('rows are evidence of the last success of each destination', () => {
  fc.assert(
    fc.property(fc.array(success, { minLength: 1, maxLength: 20 }), (given) => {
      const last = new Map<string, number>();
      for (const { delivery, atMs } of given) {
        last.set(delivery.destinationId, Math.max(atMs, last.get(delivery.destinationId) ?? 0));
      }
      expect(evidenceOf(rowsOf(given))).toEqual(
        [...last].map(([destination, at]) => ({ kind: 'ok', destination, at })),
      );
    }),
  );
});

test('a row without a time does not hide the successes of its destination', () => {
  const one = aSuccess();
  const rows = JSON.parse(rowsOf([one, one, one]).toString()) as Rows;
  rows.rows[1]![rows.columns.indexOf('acceptedAt')] = 'damaged';
  expect(all(rows)).toEqual([
    { kind: 'ok', destination: one.delivery.destinationId, at: one.atMs },
  ]);
});
