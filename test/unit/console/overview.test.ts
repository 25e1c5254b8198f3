import { nextActionFor, troubleInWords } from '../../../console/src/destination/state-advice';
import { headlineOf } from '../../../console/src/lib/headline';
import { timeTicks } from '../../../console/src/lib/series';
import { leadsOf, entriesWith } from '../../../console/src/palette/find';
import { type Overview } from '../../../shared/api/operations';
import { text } from '../../../console/src/texts';

const local = (time: string) => new Date(time).toISOString();

describe('the sentence of the overview', () => {
  const row = (part: object) =>
    ({
      state: 'healthy',
      waiting: 0,
      retrying: 0,
      held: 0,
      oldestWaitingAt: null,
      ...part,
    }) as Overview['data'][number];

  test('counts who fails, what waits since when, and what is dead', () => {
    const data = [
      row({ state: 'failing', held: 5, oldestWaitingAt: '2026-01-01T10:00:00Z' }),
      row({ state: 'degraded', retrying: 1, oldestWaitingAt: '2026-01-01T09:00:00Z' }),
      // What was delivered meanwhile is not the oldest that waits.
      row({ oldestWaitingAt: '2026-01-01T08:00:00Z' }),
    ];
    const open = { waiting: 0, retrying: 1, held: 5 };
    const totals = { dead: 354 } as Overview['totals'];
    expect(headlineOf({ data, destinations: 11, totals, open })).toEqual({
      failing: 1,
      degraded: 1,
      destinations: 11,
      waiting: 6,
      oldestAt: '2026-01-01T09:00:00Z',
      dead: 354,
    });
  });
});

describe('the axis of time', () => {
  const keys = (from: string, steps: number, seconds: number) =>
    Array.from({ length: steps }, (_, i) =>
      new Date(new Date(from).getTime() + i * seconds * 1_000).toISOString(),
    );

  test('has full hours of the time zone of the browser, and the day where it begins', () => {
    const ticks = timeTicks(keys('2026-01-01T13:30:00', 48, 1_800), 1_800);
    expect(ticks.map(({ label }) => label)).toEqual([
      '15:00',
      '18:00',
      '21:00',
      'Jan 2',
      '03:00',
      '06:00',
      '09:00',
      '12:00',
    ]);
    expect(ticks[0]?.at).toBe(local('2026-01-01T15:00:00'));
  });

  test('has the day at its first hour too, if that begins one', () => {
    const ticks = timeTicks(keys('2026-01-01T22:30:00', 48, 1_800), 1_800);
    expect(ticks.slice(0, 2).map(({ label }) => label)).toEqual(['Jan 2', '03:00']);
  });

  test('has minutes within an hour, and days within a week', () => {
    const hour = timeTicks(keys('2026-01-01T12:05:00', 60, 60), 60);
    expect(hour.map(({ label }) => label)).toEqual([
      '12:10',
      '12:20',
      '12:30',
      '12:40',
      '12:50',
      '13:00',
    ]);
    const week = timeTicks(keys('2026-01-01T12:00:00', 56, 10_800), 10_800);
    expect(week.map(({ label }) => label)).toEqual([
      'Jan 2',
      'Jan 3',
      'Jan 4',
      'Jan 5',
      'Jan 6',
      'Jan 7',
      'Jan 8',
    ]);
  });
});

describe('a destination', () => {
  const error = { at: '', code: null, status: 500, message: 'HTTP 500' };

  test.each([
    ['failing', error, 'HTTP 500'],
    ['degraded', error, 'HTTP 500'],
    ['failing', null, undefined],
    // The error of a destination that works again is over.
    ['healthy', error, undefined],
  ] as const)('that is %s says why', (state, lastError, says) => {
    expect(troubleInWords({ state, lastError })).toBe(says);
  });

  test.each([
    ['off', 3, 'enable'],
    ['paused', 3, 'resume'],
    ['failing', 3, 'test'],
    ['healthy', 3, 'replay'],
    ['degraded', 3, 'replay'],
    ['healthy', 0, 'test'],
    ['idle', 0, 'test'],
  ] as const)('that is %s with %d dead offers first: %s', (state, dead, action) => {
    expect(nextActionFor(state, dead)).toBe(action);
  });
});

describe('the search of everything', () => {
  const words = text.shell.palette;

  test.each([
    ['dlv_1', ['/deliveries/dlv_1']],
    ['rpl_1', ['/replays/rpl_1']],
    ['u1', ['/deliveries?user=u1', '/lookup?message=u1']],
    [
      ' A-17 & more ',
      [
        '/deliveries?q=A-17+%26+more',
        '/deliveries?user=A-17+%26+more',
        '/lookup?message=A-17+%26+more',
      ],
    ],
    ['', []],
  ])('leads from %j to %j', (typed, addresses) => {
    expect(leadsOf(typed, words).map(({ to }) => to)).toEqual(addresses);
  });

  test('finds a page by its words in any order', () => {
    const entries = [
      { name: 'Deliveries that wait', to: '/a' },
      { name: 'Destinations', to: '/b' },
    ];
    expect(entriesWith(entries, 'wait deli').map(({ to }) => to)).toEqual(['/a']);
    expect(entriesWith(entries, '')).toEqual(entries);
  });
});
