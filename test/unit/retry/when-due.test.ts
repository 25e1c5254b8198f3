import { whenDue } from '../../../services/retry/when-due';

describe('when a delayed record is due', () => {
  test.each([
    ['long past', 0, 10_000, 50_000, 'now'],
    ['at its very moment', 40_000, 10_000, 50_000, 'now'],
    ['in 7 s: then, and not before', 47_000, 10_000, 50_000, { againInMs: 7_000 }],
    ['in 1 ms: looked at again a moment later, not at every head', 40_001, 10_000, 50_000, { againInMs: 200 }],
    ['a tier of 200 ms is looked at every 50 ms', 49_810, 200, 50_000, { againInMs: 50 }],
    [
      'a broker whose clock is an hour ahead holds it for its tier, no longer',
      3_650_000,
      10_000,
      50_000,
      { againInMs: 10_000 },
    ],
  ])('%s', (_, appendedAtMs, delayMs, nowMs, expected) => {
    expect(whenDue(appendedAtMs, delayMs, nowMs)).toEqual(expected);
  });
});
