import * as fc from 'fast-check';
import {
  entriesOf,
  type Entry,
  find,
  inChunks,
  needlesOf,
  pack,
  unpack,
} from '../../../../services/control/search/chunk';

const text = fc.string({ unit: fc.constantFrom('a', 'B', 'é', 'ß', '"', '\\', ' ', '\n', '😀') });
const entry: fc.Arbitrary<Entry> = fc
  .record({ id: fc.nat().map(String), acceptedAt: fc.nat(), user: fc.option(text), text })
  .map((given) => ({ ...given, source: 's', anonymous: null, text: given.text.toLowerCase() }));
const entries = fc.uniqueArray(entry, { minLength: 1, selector: ({ id }) => id });

it('a chunk contains its entries and their times', async () => {
  await fc.assert(
    fc.asyncProperty(entries, async (given) => {
      const packed = await pack(given);
      expect(entriesOf(await unpack(packed.data))).toEqual(given);
      const times = given.map(({ acceptedAt }) => acceptedAt);
      expect([packed.from, packed.to]).toEqual([Math.min(...times), Math.max(...times)]);
    }),
  );
});

it('a search finds the same entries as a look at each text', async () => {
  await fc.assert(
    fc.asyncProperty(
      entries,
      fc.string({ unit: fc.constantFrom('a', 'b', 'É', '"', '😀'), minLength: 1 }),
      async (given, query) => {
        const needles = needlesOf(query);
        const found = find(await unpack((await pack(given)).data), needles).map(({ id }) => id);
        const naive = given.filter((each) => needles.some((needle) => each.text.includes(needle.toString())));
        expect(found.sort()).toEqual(naive.map(({ id }) => id).sort());
      },
    ),
  );
});

it('entries are split by the length of their texts, and none is lost', () => {
  fc.assert(
    fc.property(fc.array(entry), fc.integer({ min: 1, max: 20 }), (given, most) => {
      const chunks = inChunks(given, most);
      expect(chunks.flat()).toEqual(given);
      for (const chunk of chunks) {
        const length = chunk.reduce((sum, each) => sum + each.text.length, 0);
        expect(chunk.length === 1 || length <= most).toBe(true);
      }
    }),
  );
});

it.each([
  ['Order "A-17"', ['order "a-17"', 'order \\"a-17\\"']],
  ['plain', ['plain']],
])('the text %s is looked for as given and as JSON writes it', (query, expected) => {
  expect(needlesOf(query).map(String)).toEqual(expected);
});
