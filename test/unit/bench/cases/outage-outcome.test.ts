import { type CircuitEvent } from '../../../../shared/model/attempt-events';
import { mostWithin, outcome } from '../../../../tools/bench/cases/outage-outcome';

const circuit = (state: 'open' | 'closed', atMs: number): CircuitEvent => ({
  kind: 'circuit',
  destination: 'dst',
  url: 'whk',
  origin: 'http://x',
  destinationVersion: 1,
  state,
  why: 'failed',
  at: new Date(atMs).toISOString(),
});

describe('the outcome of an outage', () => {
  // Down from 100 to 200; the wall clock is ahead by 10,000.
  const times = { deadMs: 100, backMs: 200, backWallMs: 10_200 };
  const sentAt = new Map([
    ['before', 50],
    ['dead 1', 110],
    ['dead 2', 190],
    ['unknown yet', 205],
    ['fresh', 230],
    ['after', 330],
  ]);
  const arrivals = new Map([
    ['before', 53],
    ['dead 1', 220],
    ['unknown yet', 290],
    ['fresh', 237],
    ['dead 2', 320],
    ['after', 331],
  ]);
  const history = {
    hops: new Map([
      ['before', 0],
      ['dead 1', 1],
      ['dead 2', 4],
      ['fresh', 7],
    ]),
    circuits: [
      circuit('open', 10_120),
      circuit('closed', 10_220),
      circuit('open', 10_240),
      circuit('closed', 10_250),
    ],
  };

  test('an outage is drained when the last call sent during it has arrived', () => {
    expect(outcome(sentAt, arrivals, history, times)).toMatchObject({
      firstMs: 20,
      drainMs: 120,
      missing: 0,
    });
  });

  test('only calls sent during the outage count for the waits', () =>
    expect(outcome(sentAt, arrivals, history, times).hops).toEqual({ mean: 2.5, most: 4 }));

  test('calls sent after the first delivery and before the last are fresh', () => {
    const { before, fresh } = outcome(sentAt, arrivals, history, times);
    expect(before).toEqual({ count: 1, p50Ms: 3, p99Ms: 3, maxMs: 3 });
    expect(fresh).toEqual({ count: 1, p50Ms: 7, p99Ms: 7, maxMs: 7 });
  });

  test('only circuits that opened after the return of the endpoint count', () =>
    expect(outcome(sentAt, arrivals, history, times).reopened).toBe(1));

  test('calls that never arrived are missing', () => {
    const some = new Map([...arrivals].filter(([id]) => id !== 'dead 2'));
    expect(outcome(sentAt, some, history, times)).toMatchObject({ missing: 1, drainMs: 20 });
  });
});

describe('mostWithin', () => {
  test.each([
    [[], 10, 0],
    [[1], 10, 1],
    [[30, 1, 5, 12, 10], 10, 3],
    [[0, 10], 10, 1],
  ])('of %j in %d ms is %d', (times, ms, most) => expect(mostWithin(times, ms)).toBe(most));
});
