import { createRequire } from 'node:module';
import { RE2JS } from '@bufbuild/re2';
import { compileExpression } from '../../../shared/cel/compile';
import { messageVariables } from '../../../shared/cel/json-values';
import { instructionsOf, Patterns, usePatterns } from '../../../shared/cel/patterns';
import { refill } from '../../../shared/cel/work-limit';
import { randomOf } from '../../../tools/harness/random';

/** The size of patterns is known before they are compiled, and their automata are bounded. */

afterEach(() => {
  jest.restoreAllMocks();
});

test.each([
  'a',
  'Order',
  '^https?://[a-z.]+/(cart|checkout)',
  '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{12}',
  '(?i)order (completed|refunded)$',
  '(a{1,30}){2,5}',
  '(a?){40}',
  '((a|b)*c+)?',
  '(a*)*',
  '(|a)*',
  '(?:ab|cd|ef){3,}',
  'a{0,7}b{0}c{5}',
  '\\bword\\B\\d\\D\\pL\\p{Greek}[^a-z]',
  '(?P<name>x{10}){10}',
  '\\Q(a{9}){9}\\E',
  '.*foo.*bar.*',
  'abc|abd|abe',
  '',
])('the size of %j is known from its parse tree', (pattern) => {
  const size = RE2JS.compile(pattern).re2().prog.numInst();
  expect(instructionsOf(pattern)).toBeGreaterThanOrEqual(size);
  expect(instructionsOf(pattern)).toBeLessThanOrEqual(size * 1.5 + 5);
});

const filterOf = (pattern: string) =>
  compileExpression(`event.matches(r"""${pattern}""")`, 'filter');
/** Compiling it would take 0.5 s and 90 MB. */
const HUGE = '(a|bb|c){1000}'.repeat(34);

test.each([
  ['counts that multiply', HUGE, /too large/],
  ['a large count', 'a{1000}', /too large/],
  ['Unicode classes', '\\pL'.repeat(51), /at most 20 classes/],
  ['wide ranges without regard to case', '(?i)[!-\\x{ffff}][!-\\x{fffe}]', /at most 100000/],
  ['such ranges behind a class', '(?si)[\\d-!-\\x{01ffff}]', /at most 100000/],
  ['such ranges of plain characters', '(?s-m:(?i)[\n-\u{1ffff}])', /at most 100000/],
])('%s: the pattern is refused before it is compiled', (_, pattern, message) => {
  const compile = jest.spyOn(RE2JS, 'compile');
  expect(filterOf(pattern)).toMatchObject({
    kind: 'mistake',
    message: expect.stringMatching(message),
  });
  expect(compile).not.toHaveBeenCalled();
});

test('the patterns of an expression are bounded together', () => {
  const compile = jest.spyOn(RE2JS, 'compile');
  const text = Array.from({ length: 40 }, (_, i) => `event.matches("a{98${i % 10}}${i}")`);
  expect(compileExpression(text.join(' || '), 'filter')).toMatchObject({
    kind: 'mistake',
    message: expect.stringContaining('too large together'),
  });
  expect(compile.mock.calls.length).toBeLessThan(6);
});

test('an ordinary pattern in another script or without regard to case is accepted', () => {
  for (const pattern of ['(?i)[\\x{4e00}-\\x{9fff}]+', '(?i)[a-zà-ÿ]+', '\\p{Greek}+ \\pN']) {
    expect(filterOf(pattern)).toMatchObject({ kind: 'expression' });
  }
});

test('a refused pattern is not parsed again', () => {
  const load = createRequire(createRequire(__filename).resolve('@bufbuild/re2'));
  const { Parser } = load('./Parser.js') as { Parser: { parse: () => unknown } };
  const parse = jest.spyOn(Parser, 'parse');
  const text = `${HUGE}again`;
  const [first, second] = [filterOf(text), filterOf(text)];
  expect(second).toEqual(first);
  expect(parse).toHaveBeenCalledTimes(1);
});

/** Makes patterns that have been evaluated before: the first evaluation makes no automata. */
function usedPatterns(...texts: string[]): Patterns {
  const patterns = new Patterns();
  for (const text of texts) patterns.add(text);
  usePatterns(patterns);
  usePatterns(patterns);
  return patterns;
}

/** What the automaton of a compiled pattern holds now. */
function statesOf(compile: jest.SpyInstance): number {
  const regexes = compile.mock.results.map(({ value }) => value as RE2JS);
  return regexes.reduce((sum, regex) => sum + regex.re2().dfa.stateCount, 0);
}

test('the automata of one expression stay bounded, and find the same', () => {
  const compile = jest.spyOn(RE2JS, 'compile');
  const texts = ['[0-9a-f]*[0-7][0-9a-f]{14}[g-z]', '[0-9a-f]*[8-f][0-9a-f]{12}[g-z]'];
  const patterns = usedPatterns(...texts);
  let most = 0;
  for (let i = 0; i < 300; i++) {
    refill(1e9);
    const value = Array.from({ length: 40 }, (_, at) => ((i * 7 + at * at * 13) % 16).toString(16));
    const text = value.join('') + (i % 3 === 0 ? 'g' : '');
    for (const pattern of texts) {
      expect(patterns.get(pattern)?.test(text)).toBe(new RegExp(pattern).test(text));
    }
    most = Math.max(most, statesOf(compile));
  }
  expect(most).toBeGreaterThan(100);
  expect(most).toBeLessThan(350);
});

test('the automata of all expressions together stay bounded, and find the same', () => {
  const compile = jest.spyOn(RE2JS, 'compile');
  const random = randomOf(7);
  const hex = Array.from({ length: 250 }, () => random.between(0, 15).toString(16)).join('');
  // As a router keeps the filters of its destinations. A text makes a state of each character.
  const kept = Array.from({ length: 300 }, (_, i) => {
    const text = `[0-9a-f]*[0-7][0-9a-f]{${10 + (i % 8)}}[g-z]${i}?`;
    return { pattern: usedPatterns(text).get(text)!, text };
  });
  const findsTheSame = ({ pattern, text }: (typeof kept)[number], value: string) => {
    refill(1e9);
    expect(pattern.test(value)).toBe(new RegExp(text).test(value));
  };
  let most = 0;
  for (const each of kept) {
    findsTheSame(each, hex);
    most = Math.max(most, statesOf(compile));
  }
  // 64 MB
  expect(most).toBeGreaterThan(20_000);
  expect(most).toBeLessThan(40_000);
  // The automata of some have ended, although nothing has used them since.
  expect(statesOf(compile)).toBeLessThan(most);
  for (const each of kept.slice(0, 5)) findsTheSame(each, `${hex}g`);
  // Those that are left find all that they need.
  for (const each of kept) findsTheSame(each, hex);
  const made = compile.mock.results.map(({ value }) =>
    jest.spyOn((value as RE2JS).re2().dfa, 'getState'),
  );
  for (const each of kept) findsTheSame(each, hex);
  expect(made.filter((find) => find.mock.calls.length > 0)).toEqual([]);
});

test('an ordinary pattern keeps its automaton while others fill the memory', () => {
  const compile = jest.spyOn(RE2JS, 'compile');
  const random = randomOf(11);
  const hex = Array.from({ length: 250 }, () => random.between(0, 15).toString(16)).join('');
  const take = (text: string, value: string) => {
    const patterns = usedPatterns(text);
    refill(1e9);
    patterns.get(text)!.test(value);
    return patterns;
  };
  const ordinary = take('^/products/[a-z]+$', '/products/shoes');
  const { dfa } = (compile.mock.results[0]!.value as RE2JS).re2();
  const states = dfa.stateCount;
  expect(states).toBeGreaterThan(0);
  const others = Array.from({ length: 150 }, (_, i) =>
    take(`[0-9a-f]*[0-7][0-9a-f]{${10 + (i % 8)}}[g-z]${i}?`, hex),
  );
  const left = compile.mock.results.map(({ value }) => (value as RE2JS).re2().dfa.stateCount);
  expect([left.length, others.length + 1]).toEqual([151, 151]);
  expect(left.filter((count) => count === 0).length).toBeGreaterThan(0);
  expect([ordinary.size, dfa.stateCount]).toEqual([1, states]);
});

test('expressions that are used once end no automaton of those that are kept', () => {
  const compile = jest.spyOn(RE2JS, 'compile');
  const filter = compileExpression('event.matches("^/products/[a-z]+/(red|blue)$")', 'filter');
  const at = '2026-03-04T05:06:07.000Z';
  const message = {
    type: 'track' as const,
    messageId: 'm',
    event: '/products/shoes/red',
    timestamp: at,
    receivedAt: at,
  };
  const evaluate = (each: typeof filter) =>
    each.kind === 'expression' && each.evaluate(messageVariables(message));
  for (let i = 0; i < 3; i++) expect(evaluate(filter)).toBe(true);
  const { dfa } = (compile.mock.results[0]!.value as RE2JS).re2();
  const states = dfa.stateCount;
  expect(states).toBeGreaterThan(10);
  compile.mockRestore();
  // Each would make some states, fewer than the filter has, and together 64 MB.
  for (let i = 0; i < 3_500; i++) {
    expect(evaluate(compileExpression(`event.matches("^/products/sh|${i}")`, 'filter'))).toBe(true);
  }
  expect(evaluate(filter)).toBe(true);
  expect(dfa.stateCount).toBe(states);
});

test('distinct characters in one text do not fill an automaton either', () => {
  const compile = jest.spyOn(RE2JS, 'compile');
  const patterns = usedPatterns('[^a]$');
  refill(1e9);
  const text = String.fromCodePoint(...Array.from({ length: 20_000 }, (_, i) => 0x4e00 + i));
  expect(patterns.get('[^a]$')?.test(text)).toBe(true);
  const { dfa } = (compile.mock.results[0]!.value as RE2JS).re2();
  const transitions = [...dfa.stateCache.values()].flat().map(({ nextMap }) => nextMap.size);
  expect(Math.max(0, ...transitions)).toBeLessThan(9_000);
});

test('two expressions with the same pattern share nothing', () => {
  const compile = jest.spyOn(RE2JS, 'compile');
  const text = 'event.matches("^shared")';
  const [one, other] = [compileExpression(text, 'filter'), compileExpression(text, 'filter')];
  expect(compile).toHaveBeenCalledTimes(2);
  const at = '2026-03-04T05:06:07.000Z';
  const message = messageVariables({
    type: 'track',
    messageId: 'm',
    event: 'shared name',
    timestamp: at,
    receivedAt: at,
  });
  for (const each of [one, other, one]) {
    expect(each.kind === 'expression' && each.evaluate(message)).toBe(true);
  }
});
