import { lastMinute, recentCalls } from '../../../console/src/lib/recent-calls';
import { nextActionFor, perMinuteOf, rejectedShare } from '../../../console/src/source/activity';

describe('a source', () => {
  test.each([
    [false, undefined, 'enable'],
    [false, { calls: 0, destinations: 0 }, 'enable'],
    [true, undefined, undefined],
    [true, { calls: 0, destinations: 0 }, 'connect'],
    [true, { calls: 5, destinations: 0 }, 'connect'],
    [true, { calls: 0, destinations: 1 }, 'send'],
    [true, { calls: 5, destinations: 1 }, undefined],
  ])('with enabled %s and %j needs: %s', (enabled, activity, needs) => {
    expect(nextActionFor({ enabled }, activity)).toBe(needs);
  });

  test('has a share of rejected calls once there are calls', () => {
    expect(rejectedShare({ accepted: 0, rejected: 0 })).toBeUndefined();
    expect(rejectedShare({ accepted: 3, rejected: 1 })).toBe(0.25);
  });

  test.each([
    ['none', { accepted: 0, rejected: 0, since: null }, 0],
    ['some within four minutes', { accepted: 7, rejected: 1, since: '2026-01-01T00:00:00Z' }, 2],
    ['the first a second ago', { accepted: 3, rejected: 0, since: '2026-01-01T00:03:59Z' }, 3],
  ])('has its calls a minute from the last ones: %s', (_, recent, perMinute) => {
    expect(perMinuteOf(recent, Date.parse('2026-01-01T00:04:00Z'))).toBe(perMinute);
  });
});

describe('the last calls', () => {
  const call = (second: number, message?: string) => ({
    at: `2026-01-01T00:00:${String(second).padStart(2, '0')}.000Z`,
    accepted: message === undefined,
    ...(message === undefined ? {} : { message }),
  });
  const START = Date.parse('2026-01-01T00:00:00.000Z');
  const nowMs = START + 40_000;

  test.each([
    ['those within it', [call(39), call(20, 'no user'), call(0)], 60_000, false, [1, 1, false]],
    ['all of the list, of which there are no others', [call(39)], 40_000, true, [1, 0, false]],
    ['at least all of the list', [call(39), call(20, 'no user')], 40_000, false, [1, 1, true]],
    ['none', [], 40_000, true, [0, 0, false]],
  ])('of a minute are counted: %s', (_, calls, afterMs, areAll, expected) => {
    const { accepted, rejected, isLeast } = lastMinute(calls, areAll, START + afterMs);
    expect([accepted, rejected, isLeast]).toEqual(expected);
  });

  test('are counted in steps from the first until now, and by reason', () => {
    const calls = [
      call(39),
      call(21, 'no user'),
      call(20, 'no user'),
      call(1, 'no event'),
      call(0),
    ];
    expect(recentCalls(calls, nowMs, 4)).toEqual({
      accepted: 2,
      rejected: 3,
      since: '2026-01-01T00:00:00.000Z',
      steps: [
        { accepted: 1, rejected: 1 },
        { accepted: 0, rejected: 0 },
        { accepted: 0, rejected: 2 },
        { accepted: 1, rejected: 0 },
      ],
      reasons: [
        { reason: 'no user', count: 2 },
        { reason: 'no event', count: 1 },
      ],
    });
  });

  test('count for all calls that they stand for', () => {
    const calls = [{ ...call(39, 'no user'), count: 2_000 }, call(20, 'no user'), call(0)];
    expect(recentCalls(calls, nowMs, 2)).toMatchObject({
      accepted: 1,
      rejected: 2_001,
      steps: [
        { accepted: 1, rejected: 0 },
        { accepted: 0, rejected: 2_001 },
      ],
      reasons: [{ reason: 'no user', count: 2_001 }],
    });
    expect(lastMinute(calls, true, nowMs)).toMatchObject({ accepted: 1, rejected: 2_001 });
  });

  test('of a clock that is ahead are in the last step', () => {
    expect(recentCalls([call(50), call(0)], nowMs, 2)?.steps).toEqual([
      { accepted: 1, rejected: 0 },
      { accepted: 1, rejected: 0 },
    ]);
    expect(recentCalls([], nowMs, 2)).toBeUndefined();
  });
});
