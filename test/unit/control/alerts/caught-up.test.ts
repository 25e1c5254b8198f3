import { CaughtUp, isBehind } from '../../../../services/control/alerts/caught-up';
import { type Range } from '../../../../shared/kafka/port';

const range = (partition: number, low: number, high: number): Range => ({ partition, low, high });

it.each<[string, Range[], [number, number][], boolean]>([
  ['an empty topic', [range(0, 0, 0)], [], false],
  ['nothing was read yet', [range(0, 0, 5)], [], true],
  [
    'all was read',
    [range(0, 0, 5), range(1, 2, 7)],
    [
      [0, 5],
      [1, 7],
    ],
    false,
  ],
  ['more was read than there was then', [range(0, 0, 5)], [[0, 9]], false],
  [
    'one partition lags',
    [range(0, 0, 5), range(1, 0, 7)],
    [
      [0, 5],
      [1, 6],
    ],
    true,
  ],
  ['all that was not read is gone', [range(0, 5, 5)], [[0, 3]], false],
  ['a partition that is new', [range(0, 0, 5), range(1, 0, 1)], [[0, 5]], true],
])('whether the history is behind: %s', (_, ends, positions, behind) => {
  expect(isBehind(ends, new Map(positions))).toBe(behind);
});

it('waits for the end as it was when it was first asked', async () => {
  let high = 5;
  let asked = 0;
  const ranges = () => Promise.resolve((asked++, [range(0, 0, high)]));
  const caughtUp = new CaughtUp({ ranges }, () => 0);
  const reached = (next: number) => caughtUp.reached(() => Promise.resolve(new Map([[0, next]])));
  expect(await reached(3)).toBe(false);
  high = 100;
  expect(await reached(5)).toBe(true);
  expect(asked).toBe(1);
  expect(await reached(6)).toBe(false);
  expect(asked).toBe(2);
});
