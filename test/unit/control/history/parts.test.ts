import { newPart, partOf, partsToDrop, partToEnd, type SizedPart } from '../../../../services/control/history/parts';

const DAY = 86_400_000;
const HOUR = 3_600_000;
const part = (from: number, to: number, bytes = 0): SizedPart => ({ name: `p${from}`, from, to, bytes });

describe('a new part', () => {
  it.each<[string, SizedPart[], number, [from: number, to: number]]>([
    ['covers the day', [], DAY + HOUR, [DAY, 2 * DAY]],
    ['begins where the one before was ended', [part(DAY, DAY + 2 * HOUR)], DAY + 3 * HOUR, [DAY + 2 * HOUR, 2 * DAY]],
    ['ends where the next one begins', [part(DAY + 5 * HOUR, 2 * DAY)], DAY + HOUR, [DAY, DAY + 5 * HOUR]],
    [
      'fills a gap between two',
      [part(DAY, DAY + HOUR), part(DAY + 3 * HOUR, 2 * DAY)],
      DAY + 2 * HOUR,
      [DAY + HOUR, DAY + 3 * HOUR],
    ],
    ['does not heed other days', [part(0, HOUR), part(3 * DAY, 4 * DAY)], DAY, [DAY, 2 * DAY]],
  ])('%s', (_, parts, at, [from, to]) => {
    const made = newPart(parts, at);
    expect([made.from, made.to]).toEqual([from, to]);
    expect(partOf([...parts, made], at)).toBe(made);
  });
});

describe('what is dropped', () => {
  const parts = [part(2 * DAY, 3 * DAY, 30), part(0, DAY, 10), part(DAY, 2 * DAY, 20)];
  it.each<[string, { sinceMs: number; maxBytes: number }, string[]]>([
    ['nothing, where there is time and room', { sinceMs: 0, maxBytes: 60 }, []],
    ['what is wholly too old', { sinceMs: DAY, maxBytes: 1_000 }, ['p0']],
    ['not what is too old in part', { sinceMs: DAY - 1, maxBytes: 1_000 }, []],
    ['the oldest, until the rest has room', { sinceMs: 0, maxBytes: 55 }, ['p0']],
    ['several', { sinceMs: 0, maxBytes: 30 }, ['p0', `p${DAY}`]],
    ['never the last for its size', { sinceMs: 0, maxBytes: 1 }, ['p0', `p${DAY}`]],
    ['the last for its age', { sinceMs: 9 * DAY, maxBytes: 1_000 }, ['p0', `p${DAY}`, `p${2 * DAY}`]],
  ])('%s', (_, keep, names) => {
    expect(partsToDrop(parts, keep).map(({ name }) => name)).toEqual(names);
  });
});

it('ends the newest part early when it has had its share', () => {
  const parts = [part(DAY, 2 * DAY, 101), part(0, DAY, 900)];
  expect(partToEnd(parts, { maxBytes: 1_600 })?.name).toBe(`p${DAY}`);
  expect(partToEnd(parts, { maxBytes: 1_616 })).toBeUndefined();
  expect(partToEnd([], { maxBytes: 1 })).toBeUndefined();
});
