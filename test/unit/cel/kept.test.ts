import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Kept, Room } from '../../../shared/cel/kept';
import { eventually } from '../../support/eventually';

/** Compiled expressions of all destinations share the memory of a process. */

const MB = 1024 * 1024;
const KB = 1024;
const anEntry = (bytes: number) => ({ bytes });
const entries = (count: number, bytes: number) =>
  Array.from({ length: count }, () => anEntry(bytes));

function keptIn(room: Room) {
  const compile = jest.fn(({ bytes }: { bytes: number }) => ({ kind: 'compiled' as const, bytes }));
  const kept = new Kept(compile, room);
  /** Uses each entry once, and returns how many were compiled for that. */
  const compiledOf = (used: { bytes: number }[]) => {
    compile.mockClear();
    for (const entry of used) kept.of(entry);
    return compile.mock.calls.length;
  };
  return { kept, compile, compiledOf };
}

test('what is kept is compiled once, and never takes more than the room', () => {
  const { compiledOf } = keptIn(new Room(64 * MB));
  const all = entries(10_000, MB / 2);
  expect(compiledOf(all)).toBe(10_000);
  expect(compiledOf(all)).toBe(10_000 - 128);
});

test.each([
  ['small ones, then large ones', (small: object[], large: object[]) => [...small, ...large]],
  ['large ones, then small ones', (small: object[], large: object[]) => [...large, ...small]],
])('%s: the small ones are kept', (_, order) => {
  const { compiledOf } = keptIn(new Room(64 * MB));
  const small = entries(1_000, 12 * KB);
  const large = entries(10_000, 30 * KB);
  compiledOf(order(small, large) as { bytes: number }[]);
  expect(compiledOf(small)).toBe(0);
  // The large ones have the rest.
  expect(compiledOf(large)).toBeLessThan(10_000 - 1_700);
});

test('who found no room, or lost it, pays for each use, by its size, until there is room', () => {
  const { kept, compiledOf } = keptIn(new Room(64 * MB));
  const [large, larger] = [anEntry(40 * MB), anEntry(50 * MB)];
  expect(kept.priceOf(large)).toBe(0);
  compiledOf([large]);
  expect(kept.priceOf(large)).toBe(0);
  compiledOf([larger]);
  expect(kept.priceOf(larger)).toBeCloseTo((50 * MB) / 60);
  compiledOf(entries(30, MB));
  expect(kept.priceOf(large)).toBeCloseTo((40 * MB) / 60);
});

test('the room of an entry that is gone is used again', async () => {
  const { kept, compiledOf } = keptIn(new Room(64 * MB));
  compiledOf(entries(64, MB));
  const waiting = anEntry(MB);
  compiledOf([waiting]);
  expect(kept.priceOf(waiting)).toBeGreaterThan(0);
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  await eventually(() => {
    collect();
    expect(kept.priceOf(waiting)).toBe(0);
  });
  expect([compiledOf([waiting]), compiledOf([waiting])]).toEqual([1, 0]);
});

test('a mistake is kept too', () => {
  const compile = jest.fn(() => ({ kind: 'mistake' as const }));
  const kept = new Kept(compile, new Room(MB));
  const entry = {};
  expect(kept.of(entry)).toBe(kept.of(entry));
  expect(compile).toHaveBeenCalledTimes(1);
});
