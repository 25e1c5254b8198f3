import { createContext, Script } from 'node:vm';
import fc from 'fast-check';
import { compileExpression } from '../../../shared/cel/compile';
import { messageVariables } from '../../../shared/cel/json-values';
import { type JsonObject, type Message } from '../../../shared/model/message';
import { cases } from '../../support/cases';
import { anyText } from '../../support/any-text';

/**
 * No text of an expression, and no message of a client, causes an exception or blocks the process.
 */

/** Ends an evaluation that would never end: a millisecond is usual. */
const HANGS_MS = 60_000;
const WATCHED = new Script('run()');
const CONTEXT = createContext({});

function messageWith(properties: JsonObject): Message {
  const at = '2026-03-04T05:06:07.000Z';
  return { type: 'track', messageId: 'm', event: 'e', timestamp: at, receivedAt: at, properties };
}

function runs(text: string, properties: JsonObject = {}): unknown {
  const run = () => {
    const expression = compileExpression(text, 'filter');
    return expression.kind === 'mistake'
      ? expression
      : expression.evaluate(messageVariables(messageWith(properties)));
  };
  return WATCHED.runInContext(Object.assign(CONTEXT, { run }), { timeout: HANGS_MS });
}

const WORDS = (
  'type event properties traits context has( ( ) [ ] { } . , : ? && || ! - + * / % == != < ' +
  '> in "a" "" 1 1.5 -1 1u null true x .all(x, .exists(x, .map(x, .filter(x, .matches( ' +
  '.size() timestamp( duration( string( int( . b"a" r"\\" \'\'\' // \n 😀 é @ $'
).split(' ');

test('every text is an expression, or a mistake with a position inside the text', () => {
  const text = fc.oneof(
    anyText({ maxLength: 60 }),
    fc.array(fc.constantFrom(...WORDS), { maxLength: 14 }).map((words) => words.join('')),
    fc.array(fc.constantFrom(...WORDS), { maxLength: 14 }).map((words) => words.join(' ')),
  );
  fc.assert(
    fc.property(text, fc.constantFrom('filter' as const, 'audience' as const), (written, name) => {
      const found = compileExpression(written, name);
      if (found.kind === 'expression') return;
      expect(found.message).not.toBe('');
      expect(found.position.offset).toBeGreaterThanOrEqual(0);
      expect(found.position.offset).toBeLessThanOrEqual(written.length);
      expect(found.position.line).toBeGreaterThan(0);
      expect(found.position.column).toBeGreaterThan(0);
    }),
    { numRuns: cases(800) },
  );
});

test('every message gives a match, no match, or a failure with a reason', () => {
  const filters = [
    'properties.a > 1 || properties.a.b == "x"',
    'properties.all(k, properties[k] != null)',
    'properties.a.exists(x, x == properties.b) || size(properties.a) > 2',
    'string(properties.a) + "x" == properties["__proto__"]',
    'properties == traits || properties.a in properties.b',
  ].map((text) => compileExpression(text, 'filter'));
  const key = fc.oneof(
    fc.constantFrom('a', 'b', '__proto__', 'constructor', 'toString'),
    fc.string({ maxLength: 3 }),
  );
  const { json } = fc.letrec((tie) => ({
    json: fc.oneof(
      { depthSize: 'small' },
      fc.jsonValue({ maxDepth: 0 }),
      fc.array(tie('json'), { maxLength: 4 }),
      fc.dictionary(key, tie('json'), { maxKeys: 4 }),
    ),
  }));
  fc.assert(
    fc.property(fc.dictionary(key, json, { maxKeys: 5 }), (properties) => {
      for (const filter of filters) {
        if (filter.kind === 'mistake') throw new Error(filter.message);
        const outcome = filter.evaluate(messageVariables(messageWith(properties as JsonObject)));
        if (typeof outcome !== 'boolean') expect(outcome.message).not.toBe('');
      }
    }),
    { numRuns: cases(300) },
  );
});

const many = { list: Array.from({ length: 5_000 }, (_, i) => i), text: 'a'.repeat(30_000) };

test.each([
  ['open brackets', '('.repeat(1_999)],
  ['nested brackets', `${'('.repeat(999)}1${')'.repeat(999)}`],
  ['nested lists', `${'['.repeat(900)}${']'.repeat(900)}`],
  ['nested loops in text', `${'properties.all(x, '.repeat(80)}true${')'.repeat(80)}`],
  ['long sum', `1${'+1'.repeat(999)} > 0`],
  ['long choice', `${'true ? (false) : '.repeat(100)}true`],
  ['backslashes', `"${'\\'.repeat(1_990)}`],
  ['too long', 'event == "x" || '.repeat(1_000)],
  ['a pattern that grows', `event.matches("${'(a{1,30}){1,30}'.repeat(4)}")`],
  ['lists that are not closed', '['.repeat(700)],
  ['maps that are not closed', '{1:'.repeat(400)],
  ['brackets beside texts that close them', '[")",'.repeat(300)],
  ['brackets behind a raw text', `r"\\" == "" || ${'['.repeat(700)}`],
  ['brackets behind a comment', `// "\n${'['.repeat(700)}`],
])('%s: the text is refused quickly', (_, text) => {
  expect(runs(text)).toMatchObject({ kind: 'mistake' });
});

test.each([
  ['a loop in a loop', 'properties.list.all(a, properties.list.all(b, a != -1 && b != -1))'],
  [
    'a loop that hides its failures',
    'properties.list.all(a, properties.list.all(b, a + b >= 0) || true)',
  ],
  ['a list that grows', 'properties.list.map(a, properties.list).map(b, b + b + b + b).size() > 0'],
  [
    'doubling lists',
    `[1]${'.map(a, a).map(b, [b, b, b, b, b, b, b, b])'.repeat(10)}${'.map(l, l + l)'.repeat(10)} ` +
      '== [1]',
  ],
  ['doubling text', `["aaaaaaaaaaaaaaaa"]${'.map(s, s + s + s + s)'.repeat(20)}[0].size() > 0`],
  [
    'long text at each step',
    'properties.list.exists(i, properties.text.contains("aaab") || properties.text == "b" ' +
      '+ properties.text)',
  ],
  [
    'lists compared at each step',
    'properties.list.exists(i, properties.list == [1] + properties.list || i in ' +
      'properties.list.map(x, -x))',
  ],
  ['a pattern on long text', 'properties.text.matches("(a?){200}$")'],
  [
    'a time zone at each step',
    'properties.list.exists(i, timestamp.getHours("Europe/Berlin") == 25)',
  ],
])('%s: the evaluation exceeds its work limit quickly', (_, text) => {
  expect(runs(text, many)).toMatchObject({ code: 'work' });
});

test.each([
  [
    'a list searched many times',
    Array(70).fill('!(2 in properties.list)').join(' && '),
    { list: Array(15_000).fill(1) },
  ],
  [
    'objects compared many times',
    Array(70).fill('properties == properties').join(' && '),
    keyed(1_500),
  ],
  [
    'lists compared many times',
    Array(45).fill('properties.list == properties.list').join(' && '),
    many,
  ],
  [
    'a long text searched for in a long text',
    'properties.text.lastIndexOf(properties.part) == 7',
    { text: 'a'.repeat(30_000), part: `b${'a'.repeat(15_000)}` },
  ],
])('%s, without a loop: the evaluation exceeds its work limit quickly', (_, text, properties) => {
  expect(runs(text, properties)).toMatchObject({ code: 'work' });
});

function keyed(count: number): JsonObject {
  return Object.fromEntries(Array.from({ length: count }, (_, i) => [`key${String(i)}`, i]));
}

test.each([
  ['texts', `event in [${Array(20).fill('"(((((", r"[[[[\\", \'{{{{\'').join()}]`],
  ['triple quotes', `event == """${'("'.repeat(70)} """ || event == '''${"{'".repeat(70)} '''`],
])('%s: brackets in texts are not nested', (_, text) => {
  expect(runs(text)).toBe(false);
});

test.each(['\n', '\r'])('a comment ends at %j, and brackets behind it count', (end) => {
  expect(runs(`// ${end}${'(-'.repeat(340)}`)).toMatchObject({
    kind: 'mistake',
    message: expect.stringContaining('nested more than 60 levels'),
  });
});

test('brackets are refused before they are parsed, at the one that is too deep', () => {
  expect(runs(`true || ${'['.repeat(61)}`)).toMatchObject({
    kind: 'mistake',
    message: expect.stringContaining('nested more than 60 levels'),
    position: { offset: 68 },
  });
});

test('a reasonable expression stays within the work limit', () => {
  const products = Array.from({ length: 300 }, (_, i) => ({
    sku: `sku-${String(i)}`,
    price: i,
    tags: ['a', 'b'],
  }));
  expect(runs('properties.products.exists(p, p.price == 299 && "b" in p.tags)', { products })).toBe(
    true,
  );
  expect(
    runs('properties.products.map(p, p.price).filter(p, p > 100).size() > 100', { products }),
  ).toBe(true);
  expect(
    runs('context == {} && properties.url.matches("^https?://[a-z.]+/(cart|checkout)")', {
      url: `https://a.b/cart?${'x'.repeat(1_500)}`,
    }),
  ).toBe(true);
});
