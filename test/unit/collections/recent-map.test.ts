import { RecentMap } from '../../../shared/collections/recent-map';

test('an entry is kept for its time after it was last set', () => {
  const map = new RecentMap<string, number>(1_000);
  map.set('a', 1, 0);
  map.set('b', 2, 500);
  map.set('a', 3, 900);
  map.set('c', 4, 1_501);
  expect([map.get('a'), map.has('b'), map.get('c'), map.size]).toEqual([3, false, 4, 2]);
  map.delete('a');
  expect([map.get('a'), map.size]).toEqual([undefined, 1]);
});

test('keys that are never seen again do not add up', () => {
  const map = new RecentMap<string, true>(1_000);
  for (let i = 0; i < 100_000; i++) map.set(`k${String(i)}`, true, i * 10);
  expect(map.size).toBeLessThanOrEqual(101);
});
