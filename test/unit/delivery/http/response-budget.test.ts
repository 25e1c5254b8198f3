import { ResponseBudget } from '../../../../services/delivery/http/response-budget';
import { judgeResponse } from '../../../../services/delivery/http/judge-response';
import { type SendResult } from '../../../../services/delivery/http/exchange';

const KIB = 1024;
const ENDPOINT = {
  id: 'whk',
  origin: 'https://a.example',
  destinationId: 'dst',
  destinationVersion: 1,
  secrets: [],
};
const NOT_STORED = { headers: {}, body: '', truncated: true };

function answered(status: number, body: Buffer, headers: Record<string, string> = {}): SendResult {
  return { ok: true, response: { status, headers, body, truncated: false }, durationMs: 3 };
}

/** Answers as long as it is stored. @returns the bytes that the events of the answers have more */
function storedOf(
  budget: ResponseBudget,
  destinationId: string,
  result: SendResult,
  { nowMs = 0, times = 10_000 } = {},
): number {
  let bytes = 0;
  for (let i = 0; i < times; i++) {
    const { attempt } = judgeResponse({ ...ENDPOINT, destinationId }, result, {
      nowMs,
      budget,
      isTest: false,
    });
    expect(attempt.status).toBe(result.ok ? result.response.status : undefined);
    if (attempt.response?.body === '' && attempt.response.truncated) {
      expect(attempt.response).toEqual(NOT_STORED);
      return bytes;
    }
    bytes += Buffer.byteLength(JSON.stringify(attempt.response));
  }
  return bytes;
}

test.each<[string, SendResult]>([
  ['plain text', answered(500, Buffer.alloc(16 * KIB, 'a'))],
  ['control characters, of six bytes each in JSON', answered(500, Buffer.alloc(16 * KIB, 1))],
  ['quotes, of two bytes each', answered(500, Buffer.alloc(16 * KIB, '"'))],
  ['bytes that are no text, of three bytes each', answered(500, Buffer.alloc(16 * KIB, 0xff))],
  ['headers without a body', answered(500, Buffer.alloc(0), { a: 'x'.repeat(4_000) })],
])('a destination stores 1 MiB of %s at once, as they are stored', (_, result) => {
  const budget = new ResponseBudget();
  const stored = storedOf(budget, 'dst', result);
  expect(stored).toBeLessThanOrEqual(1024 * KIB);
  expect(stored).toBeGreaterThan(900 * KIB);
});

test('a destination then stores 16 KiB a second', () => {
  const budget = new ResponseBudget();
  const result = answered(500, Buffer.alloc(1_000, 'a'));
  storedOf(budget, 'dst', result);
  let stored = 0;
  for (let nowMs = 1_000; nowMs <= 100_000; nowMs += 1_000) {
    stored += storedOf(budget, 'dst', result, { nowMs });
  }
  expect(stored / 100 / KIB).toBeGreaterThan(15);
  expect(stored / 100 / KIB).toBeLessThanOrEqual(16.1);
});

test('all destinations together store 16 MiB at once, and then 256 KiB a second', () => {
  const budget = new ResponseBudget();
  const result = answered(500, Buffer.alloc(8 * KIB, 'a'));
  const all = (nowMs: number) => {
    let stored = 0;
    for (let i = 0; i < 20; i++) stored += storedOf(budget, `dst_${String(i)}`, result, { nowMs });
    return stored;
  };
  const first = all(0);
  expect(first).toBeLessThanOrEqual(16 * 1024 * KIB);
  expect(first).toBeGreaterThan(15 * 1024 * KIB);
  let later = 0;
  for (let nowMs = 1_000; nowMs <= 10_000; nowMs += 1_000) later += all(nowMs);
  expect(later / 10 / KIB).toBeGreaterThan(250);
  expect(later / 10 / KIB).toBeLessThanOrEqual(257);
});

test('successes leave half of the budget to failures and tests', () => {
  const budget = new ResponseBudget();
  const success = answered(200, Buffer.alloc(1_000, 'a'));
  expect(storedOf(budget, 'dst', success)).toBeLessThanOrEqual(512 * KIB);
  const test = {
    nowMs: 0,
    budget,
    isTest: true,
  };
  expect(judgeResponse(ENDPOINT, success, test).attempt.response?.body).toHaveLength(1_000);
  const failure = answered(500, Buffer.alloc(1_000, 'a'));
  expect(storedOf(budget, 'dst', failure)).toBeGreaterThan(500 * KIB);
});
