import fc from 'fast-check';
import { type HealthEvidence } from '../../../../services/control/health/attempt-evidence';
import {
  addEvidence,
  type Health,
  isQuiet,
  outageOf,
  unknownHealth,
} from '../../../../services/control/health/destination-health';
import { defined } from '../../../../shared/collections/defined';

const ok = (at: number): HealthEvidence => ({ kind: 'ok', destination: 'dst_1', at });
const failed = (at: number, until = at): HealthEvidence => ({
  kind: 'failed',
  destination: 'dst_1',
  at,
  until,
  error: `at ${at}`,
});
const blocked = (at: number, error?: string): HealthEvidence => ({
  kind: 'blocked',
  destination: 'dst_1',
  at,
  until: at + 5,
  ...defined({
    error,
    code: error !== undefined ? 'token' : undefined,
  }),
});
const dead = (at: number): HealthEvidence => ({ kind: 'dead', destination: 'dst_1', at });
const after = (...evidence: HealthEvidence[]) => addEvidence(unknownHealth(), evidence);

test.each<[string, HealthEvidence[], ReturnType<typeof outageOf>]>([
  ['no evidence', [], undefined],
  ['one success', [ok(10)], undefined],
  ['one failure', [failed(10)], { since: 10, ms: 0, count: 1 }],
  ['only failures', [failed(10), failed(20), failed(40)], { since: 10, ms: 30, count: 3 }],
  ['a failure and a success', [failed(10), ok(20)], undefined],
  [
    'failures before and after a success',
    [failed(10), ok(20), failed(30), failed(35)],
    { since: 30, ms: 5, count: 2 },
  ],
  ['a success that is read late', [failed(10), failed(30), ok(20)], { since: 30, ms: 0, count: 1 }],
  ['a failure that is read late', [ok(20), failed(10)], undefined],
  [
    'a success before all failures',
    [failed(10), failed(20), ok(5)],
    { since: 10, ms: 10, count: 2 },
  ],
  ['a failure with an announced attempt', [failed(10, 5_000)], { since: 10, ms: 990, count: 1 }],
  [
    'a failure with an announced attempt in the past',
    [failed(10, 50)],
    { since: 10, ms: 40, count: 1 },
  ],
  [
    'a success that ends an announced attempt',
    [failed(10, 5_000), ok(20), failed(30)],
    { since: 30, ms: 0, count: 1 },
  ],
])('the outage at 1000 is measured after %s', (_, evidence, outage) => {
  expect(outageOf(after(...evidence), 1_000)).toEqual(outage);
});

test('the health is quiet if there is nothing to decide', () => {
  expect(isQuiet(after(ok(1), failed(2), ok(3)))).toBe(true);
  expect(isQuiet(after(failed(2)))).toBe(false);
  expect(isQuiet(after(dead(2)))).toBe(false);
});

test.each<[string, HealthEvidence[], ReturnType<typeof outageOf>]>([
  ['no evidence', [failed(10)], undefined],
  ['a wait for a token', [blocked(10)], { since: 10, ms: 5, count: 1 }],
  [
    'two waits, read in the other order',
    [blocked(20), blocked(10)],
    { since: 10, ms: 15, count: 2 },
  ],
  ['a success after it', [blocked(10), ok(20)], undefined],
  ['a success that is read before it', [ok(20), blocked(10)], undefined],
  ['a success before it', [blocked(20), ok(10)], { since: 20, ms: 5, count: 1 }],
  [
    'a failed attempt after it, which is no success',
    [blocked(10), failed(20)],
    { since: 10, ms: 5, count: 1 },
  ],
])('the health knows how long nothing could be sent after %s', (_, evidence, outage) => {
  const health = after(...evidence);
  expect(health.blocked && outageOf(health.blocked, 1_000)).toEqual(outage);
  if (outage) expect(isQuiet(health)).toBe(false);
});

test('a wait without its cause keeps the cause that is known', () => {
  expect(after(blocked(10, 'no token'), blocked(20)).error).toEqual({
    at: 10,
    text: 'no token',
    code: 'token',
  });
});

test('the health counts dead letters since the first one', () => {
  expect(after(dead(20), dead(10), dead(30)).dead).toEqual({ count: 3, since: 10 });
});

test('the health keeps the error of the latest failure', () => {
  expect(after(failed(20), failed(10)).error).toEqual({ at: 20, text: 'at 20' });
});

test('adding evidence leaves its argument unchanged', () => {
  const before = after(failed(10), failed(20));
  const copy = structuredClone(before);
  addEvidence(before, [failed(20), failed(30), ok(15), dead(30)]);
  expect(before).toEqual(copy);
});

const evidences = (most: number) =>
  fc.array(
    fc
      .record({ kind: fc.constantFrom('ok', 'failed'), at: fc.integer({ min: 0, max: 200 }) })
      .map(({ kind, at }) => (kind === 'ok' ? ok(at) : failed(at))),
    { maxLength: most },
  );
const shuffled = (most: number) =>
  evidences(most).chain((list) =>
    fc.tuple(fc.constant(list), fc.shuffledSubarray(list, { minLength: list.length })),
  );

/** Computes the health from all evidence. */
function truth(evidence: readonly HealthEvidence[]) {
  const success = Math.max(-1, ...evidence.filter(({ kind }) => kind === 'ok').map(({ at }) => at));
  const failures = evidence
    .filter(({ kind, at }) => kind === 'failed' && at > success)
    .map(({ at }) => at);
  return failures.length === 0
    ? undefined
    : { since: Math.min(...failures), last: Math.max(...failures), count: failures.length };
}
const shown = (health: Health) => {
  const outage = outageOf(health, 0);
  return outage && { since: outage.since, last: outage.since + outage.ms, count: outage.count };
};

test('the health is independent of the order and the batches of evidence', () => {
  fc.assert(
    fc.property(shuffled(60), fc.integer({ min: 1, max: 60 }), ([list, other], size) => {
      let health = unknownHealth();
      for (let i = 0; i < other.length; i += size) {
        health = addEvidence(health, other.slice(i, i + size));
      }
      expect(shown(health)).toEqual(truth(list));
    }),
  );
});

test('the health stays small in a long outage and never overstates its length', () => {
  const many = fc.array(fc.integer({ min: 0, max: 1_000_000 }), {
    minLength: 100,
    maxLength: 1_000,
  });
  fc.assert(
    fc.property(many, fc.integer({ min: 0, max: 1_000_000 }), (times, success) => {
      const failures = times.map((at) => failed(at));
      const health = after(...failures);
      expect(health.failures.length).toBeLessThanOrEqual(64);
      expect(shown(health)).toEqual(truth(failures));
      const later = shown(addEvidence(health, [ok(success)]));
      const exact = truth([...failures, ok(success)]);
      expect(later?.last).toBe(exact?.last);
      if (later && exact) expect(later.since).toBeGreaterThanOrEqual(exact.since);
    }),
  );
});
