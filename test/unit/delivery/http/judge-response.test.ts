import { judgeResponse } from '../../../../services/delivery/http/judge-response';
import { secretTexts } from '../../../../services/delivery/http/redact';
import { type SendResult } from '../../../../services/delivery/http/exchange';
import { type UrlErrorCode } from '../../../../shared/model/attempt-events';
import { anEndpoint } from '../../../support/factories';

const ENDPOINT = anEndpoint();
const CONTEXT = {
  nowMs: Date.parse('2026-11-21T10:00:00.000Z'),
  budget: { takes: () => true },
  isTest: false,
};

function responded(status: number, retryAfter?: string): SendResult {
  const headers = retryAfter === undefined ? {} : { 'retry-after': retryAfter };
  return {
    ok: true,
    response: { status, headers, body: Buffer.from('x'), truncated: false },
    durationMs: 3,
  };
}

describe('the signal of a result', () => {
  test.each<[number, string | undefined, object]>([
    [200, undefined, { kind: 'ok' }],
    [301, undefined, { kind: 'ok' }],
    [404, undefined, { kind: 'ok' }],
    [423, undefined, { kind: 'ok' }],
    [408, undefined, { kind: 'failed' }],
    [500, undefined, { kind: 'failed' }],
    [503, undefined, { kind: 'failed' }],
    [503, '0', { kind: 'failed' }],
    [503, '7', { kind: 'throttled', retryAfterMs: 7_000 }],
    [429, undefined, { kind: 'throttled' }],
    [429, 'soon', { kind: 'throttled' }],
    [429, 'Sat, 21 Nov 2026 10:00:09 GMT', { kind: 'throttled', retryAfterMs: 9_000 }],
    [500, '7', { kind: 'failed' }],
    [600, undefined, { kind: 'failed' }],
  ])('the signal of %d with Retry-After %s', (status, retryAfter, signal) => {
    expect(judgeResponse(ENDPOINT, responded(status, retryAfter), CONTEXT).signal).toEqual(signal);
  });

  test.each([
    [503, { 'retry-after': '7' }, { kind: 'throttled', retryAfterMs: 7_000 }],
    [429, {}, { kind: 'throttled' }],
    [500, {}, { kind: 'ok' }],
    [404, {}, { kind: 'ok' }],
  ])('the signal of %d when the receiver asks for an end, with %p', (status, headers, signal) => {
    const result = responded(status);
    if (result.ok) result.response.headers = { ...headers, 'webhook-delivery': 'abort-message' };
    const judged = judgeResponse(ENDPOINT, result, CONTEXT);
    expect(judged).toMatchObject({ classification: 'rejected', signal });
    expect(judged.retryAfterMs).toBeUndefined();
  });

  test('a body that is longer than what is read counts as slow', () => {
    const result = responded(200);
    if (result.ok) result.response.truncated = true;
    expect(judgeResponse(ENDPOINT, result, CONTEXT).signal).toEqual({ kind: 'irregular' });
  });

  test.each<[UrlErrorCode, string]>([
    ['timeout', 'timeout'],
    ['dns', 'failed'],
    ['connection', 'failed'],
    ['tls', 'failed'],
    ['forbidden_address', 'withdrawn'],
    ['invalid_url', 'withdrawn'],
  ])('the error %s gives the signal %s', (code, kind) => {
    const result: SendResult = { ok: false, error: { code, message: '' }, durationMs: 3 };
    expect(judgeResponse(ENDPOINT, result, CONTEXT).signal).toEqual({ kind });
  });

  test.each<UrlErrorCode>(['timeout', 'connection', 'dns', 'tls'])(
    'the error %s during a standstill says nothing about the endpoint',
    (code) => {
      const result: SendResult = {
        ok: false,
        error: { code, message: '' },
        durationMs: 9_000,
        excuse: 'own_fault',
      };
      const { signal, classification, attempt } = judgeResponse(ENDPOINT, result, CONTEXT);
      expect([signal, classification, attempt.error?.code]).toEqual([
        { kind: 'withdrawn' },
        'retry',
        code,
      ]);
    },
  );
});

describe('the stored part of a response', () => {
  const path = '/services/T0000000/Zk9xQwErTyUiOp?token=s3cr3t%21t0ken';
  const staticHeaders = [
    'Authorization',
    'Bearer abc.def.ghi',
    'X-Api-Key',
    'key-0123',
    'X-Short',
    'a',
  ];
  const secrets = secretTexts(path, [...staticHeaders, 'X-Login', `Basic ${btoa('jim:pa55word')}`]);
  const kept = (body: string, headers: Record<string, string> = {}, truncated = false) => {
    const response = { status: 301, headers, body: Buffer.from(body), truncated };
    return judgeResponse({ ...ENDPOINT, secrets }, { ok: true, response, durationMs: 3 }, CONTEXT)
      .attempt.response!;
  };

  test.each<[string, string, string]>([
    ['a static header is masked', 'you sent key-0123', 'you sent ***'],
    ['a credential without its scheme is masked', '{"token":"abc.def.ghi"}', '{"token":"***"}'],
    ['the decoded password of Basic is masked', '{"password":"pa55word"}', '{"password":"***"}'],
    ['path and query are masked', `Cannot POST ${path}`, 'Cannot POST ***'],
    [
      'path and query with the escaped slashes of JSON from PHP are masked',
      JSON.stringify({ path }).replaceAll('/', '\\/'),
      '{"path":"***"}',
    ],
    [
      'encoded path and query are masked',
      `/login?next=${encodeURIComponent(path)}`,
      '/login?next=***',
    ],
    [
      'a decoded value of the query is masked',
      'token s3cr3t!t0ken is unknown',
      'token *** is unknown',
    ],
    [
      'a part of the path that may be a token is masked',
      'no webhook Zk9xQwErTyUiOp',
      'no webhook ***',
    ],
    ['a text too short to be a secret is not masked', 'a b', 'a b'],
  ])('%s', (_, body, expected) => {
    expect(kept(body, { 'x-echo': body })).toEqual({
      headers: { 'x-echo': expected },
      body: expected,
      truncated: false,
    });
  });

  test('the signature of a refused request is stored, but for one that holds for ever', () => {
    const signature = [
      'webhook-timestamp',
      '1',
      'X-Signature',
      '0123ab',
      'webhook-signature',
      'v1,',
    ];
    const response = {
      status: 401,
      headers: {},
      body: Buffer.alloc(0),
      truncated: false,
      signature,
    };
    const { attempt } = judgeResponse(
      { ...ENDPOINT, secrets },
      { ok: true, response, durationMs: 3 },
      CONTEXT,
    );
    expect(attempt.response).toEqual({
      headers: {},
      body: '',
      truncated: false,
      signature: { 'webhook-timestamp': '1', 'x-signature': '***', 'webhook-signature': 'v1,' },
    });
  });

  test.each([
    ['https://b.example/services/other?token=x', 'https://b.example/***'],
    ['https://b.example', 'https://b.example'],
    ['/login?next=/services', '***'],
  ])('only the origin of location %s is stored', (location, expected) => {
    expect(kept('', { location }).headers).toEqual({ location: expected });
  });

  test('nothing is stored of a URL with more secrets than can be looked for', () => {
    const query = Array.from({ length: 300 }, (_, i) => `k=${String(1_000 + i)}`).join('&');
    const response = { status: 500, headers: {}, body: Buffer.from('1001'), truncated: false };
    const endpoint = { ...ENDPOINT, secrets: secretTexts(`/?${query}`, []) };
    const { attempt } = judgeResponse(endpoint, { ok: true, response, durationMs: 3 }, CONTEXT);
    expect(attempt).toMatchObject({ status: 500, response: { body: '', truncated: true } });
  });

  test('a secret that is cut off at the end of a response is masked', () => {
    expect(kept('you sent abc.def', {}, true).body).toBe('you sent ***');
    expect(kept('you sent abc.def', {}, false).body).toBe('you sent abc.def');
  });
});
