import { type Log } from '../../../shared/telemetry/log';
import { createLog } from '../../../shared/telemetry/log';
import { concludeAttempt, type DeliveryInHand, type AttemptResult } from '../../../services/delivery/outcome';
import { attempted } from '../../../services/delivery/telemetry';
import { type UrlAttempt } from '../../../shared/model/attempt-events';

const NOW = Date.parse('2026-11-21T10:00:00.000Z');
const TRACE = '0af7651916cd43dd8448eb211c80319c';

const held = (change: Partial<DeliveryInHand> = {}): DeliveryInHand => ({
  delivery: {
    ...{ id: 'dlv_1', messageId: 'm', sourceId: 'src', destinationId: 'dst', type: 'track', userId: 'kim@example.com' },
    ...{ acceptedAt: NOW - 1_500, expiresAt: NOW + 14_400_000, attempt: 1, hop: 1, replay: 0, closed: [] },
    traceparent: `00-${TRACE}-b7ad6b7169203331-01`,
  },
  ...{ key: 'dst:1', body: Buffer.from('{"a-body":1}'), record: { topic: 'webhooks.due', partition: 2, offset: 7 } },
  ...change,
});
const traced = {
  traced: { context: `00-${TRACE}-1111111111111111-01`, previous: undefined, takenAt: 0, concludedAt: 0 },
};

const answer = (status: number): UrlAttempt => ({
  ...{ url: 'whk_a', origin: 'https://a.example', status, durationMs: 12, phases: { headers: 12 } },
  outcome: status < 300 ? 'delivered' : status < 500 ? 'rejected' : 'retry',
  ...(status < 300 ? {} : { error: { code: 'status' as const, message: `the response status was ${status}` } }),
  response: { headers: { 'x-secret': 'an-answer-header' }, body: 'an-answer-body', truncated: false },
});

function linesOf(status: number, of: DeliveryInHand, level = 'info'): Record<string, unknown>[] {
  const lines: string[] = [];
  const log: Log = createLog('delivery', level, { write: (line) => lines.push(line) });
  const tried: AttemptResult = { urls: [answer(status)], rejected: [], skipped: false, durationMs: 13 };
  const outcome = concludeAttempt(of, tried, { nowMs: NOW, tiersMs: [10_000, 60_000], windowMs: 14_400_000 });
  attempted(log, of, outcome, NOW);
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}

test('a failed attempt logs one wide line, without a body, a header, an address or a user', () => {
  const [line, ...more] = linesOf(503, held());
  expect(more).toEqual([]);
  const { time, ...rest } = line!;
  expect(time).toEqual(expect.any(String));
  expect(rest).toEqual({
    ...{ level: 'info', service: 'delivery', msg: 'delivery.attempted' },
    ...{ delivery: 'dlv_1', message: 'm', source: 'src', destination: 'dst', type: 'track', n: 2, replay: 0 },
    ...{ outcome: 'retry', fate: 'retried', reason: 'backoff', durationMs: 13, ageMs: 1_500 },
    urls: [{ url: 'whk_a', outcome: 'retry', status: 503, durationMs: 12, error: 'status' }],
    ...{ topic: 'webhooks.due', partition: 2, offset: 7, trace_id: TRACE },
  });
});

test.each([
  ['a failure', 503, {}, 'info', ['retried']],
  ['a rejection', 404, {}, 'info', ['dead']],
  ['a success', 200, {}, 'info', []],
  ['a success with debug on', 200, {}, 'debug', ['delivered']],
  ['a success with a recorded trace', 200, traced, 'info', ['delivered']],
])('%s (%d) is logged at the right level', (_name, status, change, level, fates) => {
  expect(linesOf(status, held(change), level).map(({ fate }) => fate)).toEqual(fates);
});

test('the line of an attempt with a recorded trace names its span', () =>
  expect(linesOf(200, held(traced))[0]).toMatchObject({ trace_id: TRACE, span_id: '1111111111111111' }));
