import { barAt, barsOf, endsOf } from '../../../console/src/deliveries/bars';
import { checked, parseSearch } from '../../../console/src/deliveries/search';

describe('the search field of deliveries', () => {
  test.each([
    ['', [], ''],
    ['A-17', [], 'A-17'],
    ['"A-17"', [], '"A-17"'],
    ['order A-17', [], 'order A-17'],
    ['status:dead ', [['status', 'dead']], ''],
    ['Status:dead A-17', [['status', 'dead']], 'A-17'],
    [
      'status:dead destination:acme code:5xx user:u-17 since:1h "A-17"',
      [
        ['status', 'dead'],
        ['destination', 'acme'],
        ['code', '5xx'],
        ['user', 'u-17'],
        ['since', '1h'],
      ],
      '"A-17"',
    ],
    ['event:"Order Completed" u-1', [['event', 'Order Completed']], 'u-1'],
    ['event:"Order Completed"', [['event', 'Order Completed']], ''],
    // A value may hold colons, and other words before a colon are no filters.
    ['user:urn:x:1 ', [['user', 'urn:x:1']], ''],
    ['http://shop.example:8080', [], 'http://shop.example:8080'],
    ['colour:red', [], 'colour:red'],
    // A filter without a value is dropped.
    ['status: A-17', [], 'A-17'],
  ])('reads %j', (text, tokens, words) => {
    expect(parseSearch(text)).toEqual({
      tokens: tokens.map(([key, value]) => ({ key, value })),
      words,
      open: undefined,
    });
  });

  test.each([
    ['status:', 'status', ''],
    ['A-17 code:5', 'code', '5'],
    ['event:"Order Comp', 'event', 'Order Comp'],
  ])('keeps the filter open that is still being typed: %j', (text, key, value) => {
    expect(parseSearch(text)).toMatchObject({ tokens: [], open: { key, value } });
  });

  test.each([
    ['status', 'Dead', { key: 'status', value: 'dead' }],
    ['status', 'gone', { problem: 'status' }],
    ['type', 'track', { key: 'type', value: 'track' }],
    ['type', 'trick', { problem: 'type' }],
    ['code', '5XX', { key: 'code', value: '5xx' }],
    ['code', '700', { problem: 'code' }],
    ['since', '15m', { key: 'since', value: '15m' }],
    ['since', '2026-01-31', { key: 'since', value: '2026-01-31' }],
    ['until', 'noon', { problem: 'time' }],
    ['user', 'Ann', { key: 'user', value: 'Ann' }],
  ] as const)('takes %s:%s as it should', (key, value, result) => {
    expect(checked({ key, value })).toEqual(result);
  });
});

describe('the bars above the list of deliveries', () => {
  test.each([
    ['', ['delivered', 'dead', 'cancelled']],
    ['destination=dst_1&since=1h', ['delivered', 'dead', 'cancelled']],
    ['status=dead&counted=true&endedSince=2026-01-01T00%3A00%3A00.000Z', ['dead']],
    ['status=partly_delivered', ['partlyDelivered']],
    // The numbers know neither users nor codes, and count ends only.
    ['user=u-1', []],
    ['status=dead&code=422', []],
    ['status=pending', []],
  ])('count for the filters "%s": %j', (filters, ends) => {
    expect(endsOf(filters)).toEqual(ends);
  });

  test('have the numbers of the ends, in every step until now', () => {
    const totals = { ...ZERO, delivered: 5, dead: 2 };
    const counted = { since: at(0), stepSeconds: 60, series: [{ at: at(1), ...totals }] };
    expect(
      barsOf(counted, ['dead', 'delivered'], Date.parse(at(2))).map(({ counts }) => counts),
    ).toEqual([
      [0, 0],
      [2, 5],
    ]);
  });

  test.each([
    [-0.1, 0],
    [0, 0],
    [0.49, 1],
    [0.5, 2],
    [1, 3],
  ])('of four, the one at %s of the width has the index %s', (share, index) => {
    expect(barAt(share, 4)).toBe(index);
  });
});

const ZERO = {
  delivered: 0,
  partlyDelivered: 0,
  dead: 0,
  cancelled: 0,
  attempts: 0,
  failedAttempts: 0,
  latencyMs: { p50: null, p95: null },
};

function at(minutes: number): string {
  return new Date(Date.UTC(2026, 0, 1) + minutes * 60_000).toISOString();
}
