import fc from 'fast-check';
import { ExactNumber, parseJson, stringifyJson } from '../../../shared/json/json';
import { replacementsOf } from '../../support/replacements';

/** Numbers as JSON writes them: many digits, fractions, exponents. */
const digits = (max: number) => fc.stringMatching(new RegExp(`^[0-9]{1,${max}}$`));
const jsonNumber = fc
  .tuple(
    fc.boolean(),
    fc.oneof(fc.constant('0'), fc.stringMatching(/^[1-9][0-9]{0,40}$/)),
    fc.option(digits(40)),
    fc.option(fc.tuple(fc.constantFrom('e', 'E'), fc.constantFrom('', '+', '-'), digits(4))),
  )
  .map(([negative, whole, fraction, exponent]) => {
    const sign = negative ? '-' : '';
    return `${sign}${whole}${fraction === null ? '' : `.${fraction}`}${exponent === null ? '' : exponent.join('')}`;
  });

/**
 * The value of a number, exact: its digits without outer zeros, and the power of ten of the last
 * one.
 */
function valueOf(number: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([-+]?\d+))?$/.exec(number) ?? [];
  const all = (whole + fraction).replace(/^0+/, '');
  const significant = all.replace(/0+$/, '');
  if (significant === '') return '0';
  return `${sign}${significant}e${Number(exponent) - fraction.length + all.length - significant.length}`;
}

test.each([
  '7615917337495251231',
  '-7615917337495251231',
  '9007199254740993',
  '18446744073709551616',
  '1e400',
  '-1E+400',
  '1e-400',
  '123456789012345678e300',
  '0.1234567890123456789',
  '19.989999999999998436805981327779591083526611328125',
  '1234567.12345678901',
])('%s keeps its digits', (number) => {
  for (const text of [number, `[${number}]`, `{"id":${number}}`, `{"a":[{"b":${number}}],"c":1}`]) {
    expect(stringifyJson(parseJson(text))).toBe(text);
  }
  expect(parseJson(`{"id":${number}}`)).toEqual({ id: new ExactNumber(number) });
});

test.each([
  ['0', 0],
  ['1.0', 1],
  ['1E2', 100],
  ['1e300', 1e300],
  ['5e-324', 5e-324],
  ['0e999', 0],
  ['9007199254740991', 9007199254740991],
  ['0.30000000000000004', 0.30000000000000004],
  ['100000000000000000000', 1e20],
  ['1.500000000000000000000', 1.5],
  ['1700000000000', 1_700_000_000_000],
])('%s is a number that a double holds', (text, value) => {
  expect(parseJson(`[${text}]`)).toEqual([value]);
  expect(parseJson(text)).toBe(value);
});

test('every number keeps its value', () => {
  fc.assert(
    fc.property(jsonNumber, (number) => {
      const [written = ''] = /[^[\]]+/.exec(stringifyJson(parseJson(`[${number}]`))) ?? [];
      expect(valueOf(written)).toBe(valueOf(number));
    }),
    { numRuns: 2_000 },
  );
});

test('what has no such number reads as by JSON.parse', () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 5 }), (text) => {
      expect(parseJson(text)).toEqual(JSON.parse(text));
      expect(stringifyJson(parseJson(text))).toBe(JSON.stringify(JSON.parse(text)));
    }),
    { numRuns: 500 },
  );
});

test('beside an exact number all else reads as by JSON.parse, and other texts are refused', () => {
  const pieces = fc.constantFrom(
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    '"',
    '\\',
    ' ',
    '\n',
    '\u0000',
    'a',
    'e',
    'E',
    '-',
    '+',
    '.',
    '0',
    '1',
    '12345678901234567890',
    '1e400',
    '"k":',
    '"\\""',
    '"12345678901234567890"',
    '"__proto__":',
    'null',
    '\\u00e9',
  );
  // JSON.stringify writes -0 as 0.
  const unsignedZero = (_key: string, value: unknown) => (value === 0 ? 0 : value);
  const withDoubles = (value: unknown): unknown => JSON.parse(JSON.stringify(value)) as unknown;
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 14 }), (parts) => {
      for (const text of [parts.join(''), `[${parts.join('')}]`, `{"k":${parts.join('')}}`]) {
        let expected: unknown;
        try {
          expected = JSON.parse(text, unsignedZero);
        } catch {
          expect(() => parseJson(text)).toThrow(SyntaxError);
          continue;
        }
        expect(withDoubles(parseJson(text))).toEqual(withDoubles(expected));
        expect(JSON.parse(stringifyJson(parseJson(text)), unsignedZero)).toEqual(expected);
      }
    }),
    { numRuns: 1_000 },
  );
});

test('strings that look like such numbers stay strings', () => {
  const value = {
    a: '12345678901234567890',
    b: 'x, 12345678901234567890 ',
    c: '":12345678901234567890,"',
    d: ' 1e400 ',
  };
  const text = JSON.stringify(value);
  expect(parseJson(text)).toEqual(value);
  expect(stringifyJson(parseJson(`[${text},1e400]`))).toBe(`[${text},1e400]`);
});

test('one long number does not make each of many strings cost', () => {
  const text = `[${'"",'.repeat(10_000)}12345678901234567890]`;
  expect(replacementsOf(() => void parseJson(text))).toBe(0);
  expect(stringifyJson(parseJson(text))).toBe(text);
});

test('the keys __proto__ and constructor are keys, and the last of two equal keys counts', () => {
  const text = '{"__proto__":{"id":12345678901234567890},"constructor":1e400}';
  const read = parseJson(text) as object;
  expect(Object.getPrototypeOf(read)).toBe(Object.prototype);
  expect(Object.keys(read)).toEqual(['__proto__', 'constructor']);
  expect(stringifyJson(read)).toBe(text);
  expect(parseJson('{"a":12345678901234567890,"a":1}')).toEqual({ a: 1 });
  expect(parseJson('{"a":1,"a":12345678901234567890}')).toEqual({
    a: new ExactNumber('12345678901234567890'),
  });
});

test('an exact number is written with spaces, in texts, and as a double by JSON', () => {
  const value = parseJson('{"id":12345678901234567890}') as { id: ExactNumber };
  expect(stringifyJson(value, 2)).toBe('{\n  "id": 12345678901234567890\n}');
  expect(String(value.id)).toBe('12345678901234567890');
  expect(JSON.stringify(value)).toBe('{"id":12345678901234567000}');
  expect(stringifyJson('text')).toBe('"text"');
});

test('a value that cannot be written leaves the next one as it is', () => {
  const loop: Record<string, unknown> = { id: new ExactNumber('1e400') };
  loop.self = loop;
  expect(() => stringifyJson(loop)).toThrow(TypeError);
  expect(JSON.stringify(new ExactNumber('12345678901234567890'))).toBe('12345678901234567000');
});

test('deep nesting does not overflow the stack', () => {
  const text = `${'['.repeat(50_000)}12345678901234567890${']'.repeat(50_000)}`;
  let value = parseJson(text);
  for (let depth = 0; depth < 50_000; depth++) [value] = value as unknown[];
  expect(value).toEqual(new ExactNumber('12345678901234567890'));
});
