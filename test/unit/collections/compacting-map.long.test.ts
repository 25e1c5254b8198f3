import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { CompactingMap } from '../../../shared/collections/compacting-map';

type Small = Pick<CompactingMap<number, unknown>, 'delete'> & {
  set(key: number, value: unknown): unknown;
};

test('a compacting map behaves like a Map', () => {
  const key = fc.nat({ max: 20 });
  const step = fc.oneof(
    { weight: 6, arbitrary: fc.tuple(fc.constant('set' as const), key) },
    { weight: 6, arbitrary: fc.tuple(fc.constant('delete' as const), key) },
    { weight: 1, arbitrary: fc.tuple(fc.constant('clear' as const), key) },
  );
  fc.assert(
    // Long enough for the map to rebuild its table during the steps.
    fc.property(fc.array(step, { minLength: 50, maxLength: 600 }), (steps) => {
      const [map, passing] = [new Map<number, number>(), new CompactingMap<number, number>()];
      for (const [i, [what, number]] of steps.entries()) {
        if (what === 'set') for (const each of [map, passing]) each.set(number, i);
        else if (what === 'delete') expect(passing.delete(number)).toBe(map.delete(number));
        else for (const each of [map, passing]) each.clear();
        expect([passing.size, passing.has(number), passing.get(number)]).toEqual([
          map.size,
          map.has(number),
          map.get(number),
        ]);
      }
      const entries: [number, number][] = [];
      passing.forEach((value, at) => entries.push([at, value]));
      expect(entries).toEqual([...map]);
      expect([[...passing.keys()], [...passing.values()]]).toEqual([
        [...map.keys()],
        [...map.values()],
      ]);
    }),
  );
});

test('an iteration visits each entry once while the table is rebuilt', () => {
  const passing = new CompactingMap<number, number>();
  for (let i = 0; i < 500; i++) passing.set(i, i);
  const met: number[] = [];
  for (const each of passing.keys()) {
    met.push(each);
    passing.delete(each);
  }
  expect([met, passing.size]).toEqual([Array.from({ length: 500 }, (_, i) => i), 0]);
});

const ITEMS = 4_000;
const ITEM_BYTES = 8_000;

/** Returns the MB of deleted values that remain in memory after collections of young objects. */
function left(map: Small): number {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as (options?: { type: 'minor' }) => void;
  const used = () =>
    getHeapSpaceStatistics().reduce((sum, space) => sum + space.space_used_size, 0) / 1e6;
  const make = () => new Array<number>(ITEM_BYTES / 8).fill(0.5);
  // The first entries and their table become old here.
  for (let i = 0; i < 20; i++) map.set(i, make());
  collect();
  collect();
  const before = used();
  for (let i = 20; i < ITEMS; i++) {
    map.set(i, make());
    map.delete(i - 20);
    if (i % 500 === 0) collect({ type: 'minor' });
  }
  collect({ type: 'minor' });
  collect({ type: 'minor' });
  return used() - before;
}

test('a compacting map frees the memory of deleted entries, which a Map does not', () => {
  const allMb = (ITEMS * ITEM_BYTES) / 1e6;
  expect(left(new CompactingMap())).toBeLessThan(allMb / 8);
  // If this fails, V8 has mended the fault, and a plain Map is enough.
  expect(left(new Map())).toBeGreaterThan(allMb / 4);
});
