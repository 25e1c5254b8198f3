import { judge } from '../../../services/delivery/answer';
import { type SendResult } from '../../../services/delivery/send';
import { type ErrorCode } from '../../../shared/domain/attempt';

const TARGET = {
  ...{ id: 'whk', hash: 'h', lane: 'dst/h', destinationId: 'dst', shards: 4 },
  ...{ origin: 'https://a.example', path: '/', staticHeaders: [] },
};
const CONTEXT = { nowMs: Date.parse('2026-11-21T10:00:00.000Z'), keep: () => true };

function answered(status: number, retryAfter?: string): SendResult {
  const headers = retryAfter === undefined ? {} : { 'retry-after': retryAfter };
  return { ok: true, answer: { status, headers, body: Buffer.from('x'), truncated: false }, durationMs: 3 };
}

describe('what an answer says about the endpoint', () => {
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
  ])('%d, Retry-After %s', (status, retryAfter, signal) => {
    expect(judge(TARGET, answered(status, retryAfter), CONTEXT).signal).toEqual(signal);
  });

  test.each<[ErrorCode, string]>([
    ['timeout', 'timeout'],
    ['dns', 'failed'],
    ['connection', 'failed'],
    ['tls', 'failed'],
    ['forbidden_address', 'withdrawn'],
    ['invalid_url', 'withdrawn'],
  ])('%s: %s', (code, kind) => {
    const result: SendResult = { ok: false, error: { code, message: '' }, durationMs: 3 };
    expect(judge(TARGET, result, CONTEXT).signal).toEqual({ kind });
  });

  test.each<ErrorCode>(['timeout', 'connection', 'dns', 'tls'])(
    'nothing, where we stood still meanwhile: %s',
    (code) => {
      const result: SendResult = { ok: false, error: { code, message: '' }, durationMs: 9_000, stoodStill: true };
      const { signal, outcome, attempt } = judge(TARGET, result, CONTEXT);
      expect([signal, outcome, attempt.error?.code]).toEqual([{ kind: 'withdrawn' }, 'retry', code]);
    },
  );
});
