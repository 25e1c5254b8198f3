import fc from 'fast-check';
import { LinkedList, type Link } from '../../../shared/collections/linked-list';

interface Entry extends Link<Entry> {
  readonly name: number;
}

const anEntry = (name: number): Entry => ({ name });

test('a list has the same content as an array after any additions and removals', () => {
  const step = fc.tuple(fc.constantFrom('push', 'delete', 'shift', 'pop'), fc.nat(9));
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const list = new LinkedList<Entry>();
      const entries = Array.from({ length: 10 }, (_, name) => anEntry(name));
      let expected: Entry[] = [];
      for (const [kind, nth] of steps) {
        const named = entries[nth]!;
        if (kind === 'push' && !list.has(named)) {
          list.push(named);
          expected.push(named);
          continue;
        }
        const removed = kind === 'shift' ? list.first : kind === 'pop' ? list.last : named;
        expect(removed === undefined ? false : list.delete(removed)).toBe(
          expected.includes(removed!),
        );
        expected = expected.filter((entry) => entry !== removed);
      }
      expect(list.entries()).toEqual(expected);
      expect(list.size).toBe(expected.length);
      expect([list.first, list.last]).toEqual([expected[0], expected.at(-1)]);
    }),
  );
});

test('a removed entry has no links to its former neighbours', () => {
  const list = new LinkedList<Entry>();
  const [a, b, c] = [anEntry(1), anEntry(2), anEntry(3)];
  for (const entry of [a, b, c]) list.push(entry);
  list.delete(b);
  expect(b).toEqual({ name: 2, before: undefined, after: undefined, list: undefined });
});

test('removing an entry of another list changes neither list', () => {
  const [own, other] = [new LinkedList<Entry>(), new LinkedList<Entry>()];
  const entry = anEntry(1);
  other.push(entry);
  expect(own.delete(entry)).toBe(false);
  expect([own.size, other.size]).toEqual([0, 1]);
});
