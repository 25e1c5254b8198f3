import fc from 'fast-check';
import { measureJson, type Shape } from '../../../../services/ingest/calls/json-limits';

const LIMITS = {
  depth: 100,
  itemBytes: 32_768,
  containers: 1_000_000,
  keys: 1_000_000,
  newKeys: 1_000_000,
};
const measure = (text: string, limits = LIMITS) => measureJson(Buffer.from(text), limits);

/** Measures a text within the limits. */
function scan(text: string, limits = LIMITS): Shape {
  const shape = measure(text, limits);
  if (typeof shape === 'string') throw new Error(shape);
  return shape;
}

/** Returns a call of exactly `bytes` bytes. */
function callOf(bytes: number): string {
  const empty = '{"type":"track","pad":""}';
  return empty.replace('""}', `"${'x'.repeat(bytes - empty.length)}"}`);
}

function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}

describe('depth', () => {
  test.each([
    ['{}', 1],
    ['[]', 1],
    ['{"batch":[{}]}', 3],
    ['{"a":"[[[[{{{{"}', 1],
    ['{"a":"\\"[[[","b":[1]}', 2],
    ['{"a":"\\\\","b":[1]}', 2],
    ['3', 0],
    ['', 0],
  ])('%s nests %i deep', (text, depth) => {
    expect(scan(text).depth).toBe(depth);
  });

  test.each([101, 5_000, 250_000])('%i arrays are too deep, without recursion', (n) => {
    expect(measure('['.repeat(n) + ']'.repeat(n))).toBe('too_deep');
  });

  test('is allowed up to the limit', () => {
    expect(scan('['.repeat(100) + ']'.repeat(100)).depth).toBe(100);
  });

  test('is that of the parsed value', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 6 }), (text) => {
        expect(scan(text).depth).toBe(depthOf(JSON.parse(text)));
      }),
    );
  });

  test('ends on any text', () => {
    const brackets = fc.string({
      unit: fc.constantFrom('{', '}', '[', ']', '"', '\\', ',', ':', 'a', ' '),
    });
    fc.assert(
      fc.property(fc.oneof(fc.string(), brackets), (text) => expect(measure(text)).toBeDefined()),
    );
  });
});

describe('containers and keys', () => {
  test('are those of the parsed value', () => {
    const count = (value: unknown): [number, number] => {
      if (typeof value !== 'object' || value === null) return [0, 0];
      const inner = Object.values(value).map(count);
      const sum = (i: 0 | 1) => inner.reduce((total, each) => total + each[i], 0);
      return [1 + sum(0), (Array.isArray(value) ? 0 : inner.length) + sum(1)];
    };
    fc.assert(
      fc.property(fc.json({ maxDepth: 6 }), (text) => {
        const [containers, keys] = count(JSON.parse(text));
        expect(measure(text, { ...LIMITS, containers, keys })).toBeInstanceOf(Object);
        const ofFewer = (limit: 'containers' | 'keys', most: number) =>
          measure(text, { ...LIMITS, [limit]: most });
        if (containers > 0) expect(ofFewer('containers', containers - 1)).toBe('too_complex');
        if (keys > 0) expect(ofFewer('keys', keys - 1)).toBe('too_complex');
      }),
    );
  });
});

describe('size of items', () => {
  test.each([
    ['at the limit', [callOf(32_768)], []],
    ['a byte beyond', [callOf(32_769)], [0]],
    ['among others', ['{}', callOf(40_000), '{}', callOf(32_769)], [1, 3]],
    ['spaces around an item are not the item', [`${' '.repeat(40_000)}{}\n`], []],
    ['spaces within are', [`{"a":1${' '.repeat(40_000)}}`], [0]],
    ['escapes count as sent', [`{"a":"${'\\u00e9'.repeat(6_000)}"}`], [0]],
    ['bytes count, not characters', [`{"a":"${'é'.repeat(17_000)}"}`], [0]],
    ['a comma in a text ends nothing', [`{"a":"${','.repeat(32_000)}"}`, '{}', '3'], []],
    ['nothing', [], []],
  ])('%s', (_, items, large) => {
    expect([...scan(`{"batch":[${items.join(',')}],"sentAt":"x"}`).largeItems]).toEqual(large);
  });

  test.each([
    ['another key', `{"x":[${callOf(40_000)}]}`, []],
    ['a key in a call', `{"context":{"batch":[${callOf(40_000)}]}}`, []],
    ['an escaped key', `{"\\u0062atch":[${callOf(40_000)}]}`, [0]],
    ['the last of two', `{"batch":[${callOf(40_000)}],"batch":[{}]}`, []],
    ['the last of two, large', `{"batch":[{}],"batch":[{},${callOf(40_000)}]}`, [1]],
    ['a text that says batch', `{"type":"batch","x":[${callOf(40_000)}]}`, []],
  ])('%s', (_, text, large) => {
    expect([...scan(text).largeItems]).toEqual(large);
  });

  test('is that of each item as written', () => {
    const spaced = fc
      .tuple(fc.json({ maxDepth: 3 }), fc.constantFrom('', ' ', '\n  '))
      .map(([json, s]) => s + json + s);
    fc.assert(
      fc.property(fc.array(spaced), fc.integer({ min: 1, max: 60 }), (items, itemBytes) => {
        const { largeItems } = scan(`{"a":[1,[2]],"batch":[${items.join(',')}]}`, {
          ...LIMITS,
          itemBytes,
        });
        const expected = items.flatMap((item, i) =>
          Buffer.byteLength(item.trim()) > itemBytes ? [i] : [],
        );
        expect([...largeItems]).toEqual(expected);
      }),
    );
  });

  test('of the whole is from the first bracket to the last', () => {
    expect(scan(` \n${callOf(500)}\n `).bytes).toBe(500);
  });
});

test.each([
  ['{"context":{"a":[1,{}]},"batch":[{},{}]}', 2],
  ['{"\\u0062atch":[1,2,3],"integrations":{"All":true}}', 3],
  ['{"batch":[1,2],"batch":[]}', 1],
  ['{"items":[1,2]}', 0],
])('counts the calls of %s', (text, items) => expect(scan(text).items).toBe(items));

describe('different keys', () => {
  const isTooMany = (text: string) => measure(text, { ...LIMITS, newKeys: 100 }) === 'too_complex';
  const objectOf = (keys: string[]) => `{${keys.map((key) => `"${key}":"text"`).join()}}`;
  const different = (count: number) => Array.from({ length: count }, (_, i) => `key-${String(i)}`);

  const alone = different(201).map((key) => objectOf([key]));
  const repeated = Array<string>(50).fill(objectOf(different(20)));
  const values = different(500).map((text) => `"a":"${text}"`);

  test.each([
    ['twice as many as may be different', objectOf(different(200)), false],
    ['one more than that', objectOf(different(201)), true],
    ['one more than that, each in an object of its own', `[${alone.join()}]`, true],
    ['the same ones again and again', `[${repeated.join()}]`, false],
    ['different texts as values', `{${values.join()}}`, false],
  ])('%s', (_what, text, expected) => {
    expect(isTooMany(text)).toBe(expected);
  });
});
