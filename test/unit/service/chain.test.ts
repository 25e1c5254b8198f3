import fc from 'fast-check';
import { Chain, type Link } from '../../../shared/service/chain';

interface Entry extends Link<Entry> {
  readonly name: number;
}

const anEntry = (name: number): Entry => ({ name });

test('a chain has the same content as an array after any additions and removals', () => {
  const step = fc.tuple(fc.constantFrom('push', 'delete', 'shift', 'pop'), fc.nat(9));
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const chain = new Chain<Entry>();
      const entries = Array.from({ length: 10 }, (_, name) => anEntry(name));
      let expected: Entry[] = [];
      for (const [kind, nth] of steps) {
        const named = entries[nth]!;
        if (kind === 'push' && !chain.has(named)) {
          chain.push(named);
          expected.push(named);
          continue;
        }
        const removed = kind === 'shift' ? chain.first : kind === 'pop' ? chain.last : named;
        expect(removed === undefined ? false : chain.delete(removed)).toBe(
          expected.includes(removed!),
        );
        expected = expected.filter((entry) => entry !== removed);
      }
      expect(chain.entries()).toEqual(expected);
      expect(chain.size).toBe(expected.length);
      expect([chain.first, chain.last]).toEqual([expected[0], expected.at(-1)]);
    }),
  );
});

test('a removed entry has no links to its former neighbours', () => {
  const chain = new Chain<Entry>();
  const [a, b, c] = [anEntry(1), anEntry(2), anEntry(3)];
  for (const entry of [a, b, c]) chain.push(entry);
  chain.delete(b);
  expect(b).toEqual({ name: 2, before: undefined, after: undefined, chain: undefined });
});

test('removing an entry of another chain changes neither chain', () => {
  const [own, other] = [new Chain<Entry>(), new Chain<Entry>()];
  const entry = anEntry(1);
  other.push(entry);
  expect(own.delete(entry)).toBe(false);
  expect([own.size, other.size]).toEqual([0, 1]);
});
