import { byUrgency, causeOf, needsAttention } from '../../../shared/model/attention';

const row = { name: '', state: 'healthy', dead: 0, waiting: 0, retrying: 0, held: 0 };

test('whoever loses events comes first, then whoever waits, then whoever fails', () => {
  const rows = [
    { ...row, name: 'fine' },
    { ...row, name: 'fails', state: 'failing' },
    { ...row, name: 'waits', held: 5, retrying: 1 },
    { ...row, name: 'loses little', dead: 1 },
    { ...row, name: 'waits longer', waiting: 7 },
    { ...row, name: 'loses', dead: 3 },
    { ...row, name: 'fine too' },
  ];
  expect(byUrgency(rows).map(({ name }) => name)).toEqual([
    'loses',
    'loses little',
    'waits longer',
    'waits',
    'fails',
    'fine',
    'fine too',
  ]);
});

test.each([
  [{ dead: 1 }, true],
  [{ state: 'off', dead: 1 }, true],
  [{ state: 'failing' }, true],
  [{ state: 'degraded' }, true],
  [{ state: 'paused', waiting: 1 }, true],
  [{ state: 'paused' }, false],
  [{ state: 'healthy', waiting: 1 }, false],
  [{ state: 'off' }, false],
])('of %j somebody should look at it: %s', (over, expected) => {
  expect(needsAttention({ ...row, ...over })).toBe(expected);
});

describe('why it is so', () => {
  const since = '2026-01-02T00:00:00.000Z';
  const old = { at: '2025-12-10T00:00:00.000Z' };
  const today = { at: '2026-01-02T08:00:00.000Z' };
  const lost = { reason: 'rejected' };
  const circuit = { why: 'timeout' };
  const fine = {
    ...row,
    failedAttempts: 0,
    lastError: old,
    circuits: [],
    lastDead: null,
  };

  test.each([
    ['an old failure is none of now', {}, null],
    ['nor is it of a paused one', { state: 'paused', waiting: 1 }, { kind: 'paused' }],
    ['a failing one has it', { state: 'failing' }, { kind: 'failure', failure: old }],
    [
      'a degraded one has that of the span',
      { state: 'degraded', failedAttempts: 1, lastError: today },
      { kind: 'failure', failure: today },
    ],
    ['and no older one', { state: 'degraded', failedAttempts: 1 }, null],
    ['nor one in whose span nothing failed', { state: 'degraded', lastError: today }, null],
    [
      'an open circuit says something',
      { state: 'degraded', circuits: [{ why: 'failed' }, circuit] },
      { kind: 'circuit', isTimeout: true },
    ],
    [
      'what was lost has its own cause',
      { dead: 2, lastDead: lost, lastError: today, failedAttempts: 9 },
      { kind: 'lost', lost },
    ],
    ['also of one that is off', { state: 'off', dead: 2, lastDead: lost }, { kind: 'lost', lost }],
    ['which it has no more once it is replayed', { lastDead: lost }, null],
  ])('%s', (_, over, cause) => {
    expect(causeOf({ ...fine, ...over }, since)).toEqual(cause);
  });

  test('an old failure is named while something waits behind it', () => {
    expect(causeOf({ ...fine, state: 'degraded' }, since, true)).toEqual({
      kind: 'failure',
      failure: old,
    });
  });
});
