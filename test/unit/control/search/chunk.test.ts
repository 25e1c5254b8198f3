import * as fc from 'fast-check';
import {
  Chunks,
  entriesOf,
  type Entry,
  find,
  needlesOf,
  unpack,
} from '../../../../services/control/search/chunk';

const text = fc.string({ unit: fc.constantFrom('a', 'B', 'é', 'ß', '"', '\\', ' ', '\n', '😀') });
const entry: fc.Arbitrary<Entry> = fc
  .record({ id: fc.nat().map(String), acceptedAt: fc.nat(), user: fc.option(text), text })
  .map(({ text: line, ...given }) => ({
    ...given,
    source: 's',
    anonymous: null,
    lines: [line.toLowerCase()],
  }));

/** Packs entries into chunks of at most so many characters. */
function pack(given: readonly Entry[], most = Infinity) {
  const chunks = new Chunks(most);
  for (const each of given) chunks.add(each);
  return chunks.pack();
}

const unpackAll = async (given: readonly Entry[], most?: number) =>
  Promise.all((await pack(given, most)).map(({ data }) => unpack(data)));

const entries = fc.uniqueArray(entry, { minLength: 1, selector: ({ id }) => id });

test('a chunk contains its entries and their times', async () => {
  await fc.assert(
    fc.asyncProperty(entries, async (given) => {
      const [packed] = await pack(given);
      expect((await unpackAll(given)).map(entriesOf)).toEqual([given]);
      const times = given.map(({ acceptedAt }) => acceptedAt);
      expect([packed?.from, packed?.to]).toEqual([Math.min(...times), Math.max(...times)]);
    }),
  );
});

test('the lines of an entry are one text', async () => {
  const entry = {
    id: 'a',
    acceptedAt: 1,
    source: 's',
    user: null,
    anonymous: null,
    lines: ['', 'm', 'Ä', '{}'],
  };
  const [chunk] = await unpackAll([entry]);
  expect(chunk && entriesOf(chunk)).toEqual([{ ...entry, lines: ['\nm\nÄ\n{}'] }]);
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
        const naive = given.filter(({ lines }) =>
          needles.some((needle) => lines.join('\n').includes(String(needle))),
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
        const length = chunk.reduce((sum, { lines }) => sum + lines.join('\n').length + 1, 0);
        expect(chunk.length === 1 || length <= most).toBe(true);
      }
    }),
  );
});

test('a long text needs room for UTF-8', async () => {
  const entry = {
    id: 'a',
    acceptedAt: 1,
    source: 's',
    user: null,
    anonymous: null,
    lines: ['€'.repeat(64 * 1024)],
  };
  expect((await unpackAll([entry, entry])).flatMap(entriesOf)).toEqual([entry, entry]);
});

test('a chunk reserves at most twice the memory that its texts may take', () => {
  const reserved = jest.spyOn(Buffer, 'allocUnsafe');
  const chunks = new Chunks(Infinity);
  const entry = {
    id: 'a',
    acceptedAt: 1,
    source: 's',
    user: null,
    anonymous: null,
    lines: ['д'.repeat(1_024)],
  };
  for (let i = 0; i < 1_000; i++) chunks.add(entry);
  const sizes = reserved.mock.calls.map(([size]) => size);
  reserved.mockRestore();
  expect(Math.max(...sizes)).toBeLessThanOrEqual(2 * 1_000 * 3 * 1_024);
});

test.each([
  ['Order "A-17"', ['order "a-17"', 'order \\"a-17\\"']],
  ['plain', ['plain']],
])('the text %s is looked for as given and as JSON writes it', (query, expected) => {
  expect(needlesOf(query).map(String)).toEqual(expected);
});
