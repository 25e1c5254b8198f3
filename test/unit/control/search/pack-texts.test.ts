import * as fc from 'fast-check';
import {
  entriesOf,
  type SearchEntry,
  find,
  needlesOf,
  pack,
  unpack,
} from '../../../../services/control/search/pack-texts';

const text = fc.string({ unit: fc.constantFrom('a', 'B', 'é', 'ß', '"', '\\', ' ', '\n', '😀') });
const entry: fc.Arbitrary<SearchEntry> = fc
  .record({ id: fc.nat().map(String), acceptedAt: fc.nat(), user: fc.option(text), text })
  .map(({ text: line, ...given }) => ({
    ...given,
    source: 's',
    anonymous: null,
    text: line.toLowerCase(),
  }));

const unpackAll = async (given: readonly SearchEntry[], most = Infinity) =>
  Promise.all((await pack(given, most)).map(({ data }) => unpack(data)));

const entries = fc.uniqueArray(entry, { minLength: 1, selector: ({ id }) => id });

test('a chunk contains its entries and their times', async () => {
  await fc.assert(
    fc.asyncProperty(entries, async (given) => {
      const [packed] = await pack(given, Infinity);
      expect((await unpackAll(given)).map(entriesOf)).toEqual([given]);
      const times = given.map(({ acceptedAt }) => acceptedAt);
      expect([packed?.from, packed?.to]).toEqual([Math.min(...times), Math.max(...times)]);
    }),
  );
});

test('a search finds the same entries as a look at each text', async () => {
  await fc.assert(
    fc.asyncProperty(
      entries,
      fc.string({ unit: fc.constantFrom('a', 'b', 'É', '"', '😀'), minLength: 1 }),
      async (given, query) => {
        const needles = needlesOf(query);
        const found = (await unpackAll(given))
          .flatMap((chunk) => find(chunk, needles))
          .map(({ id }) => id);
        const naive = given.filter(({ text: own }) =>
          needles.some((needle) => own.includes(String(needle))),
        );
        expect(found.sort()).toEqual(naive.map(({ id }) => id).sort());
      },
    ),
  );
});

test('entries are split by the length of their texts, and none is lost', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(entry), fc.integer({ min: 1, max: 20 }), async (given, most) => {
      const chunks = (await unpackAll(given, most)).map(entriesOf);
      expect(chunks.flat()).toEqual(given);
      for (const chunk of chunks) {
        // A line break ends each text.
        const length = chunk.reduce((sum, { text: own }) => sum + own.length + 1, 0);
        expect(chunk.length === 1 || length <= most).toBe(true);
      }
    }),
  );
});

test.each([
  ['Order "A-17"', ['order "a-17"', 'order \\"a-17\\"']],
  ['plain', ['plain']],
])('the text %s is looked for as given and as JSON writes it', (query, expected) => {
  expect(needlesOf(query).map(String)).toEqual(expected);
});
