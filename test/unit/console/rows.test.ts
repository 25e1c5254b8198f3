import fc from 'fast-check';
import { celOf } from '../../../console/src/audience/rows-to-cel';
import { rowsOf } from '../../../console/src/audience/rows-from-cel';
import {
  aRule,
  emptyGroup,
  type Group,
  isGroup,
  KINDS,
  MAX_DEPTH,
  type Row,
  rowProblems,
  type Rule,
  SUBJECTS,
  testsOf,
  UNITS,
  withRow,
  withSubject,
} from '../../../console/src/audience/rows';
import { defined } from '../../../shared/collections/defined';
import { type Json, type JsonObject } from '../../../shared/model/message';
import { compileExpression } from '../../../shared/cel/compile';
import { type CounterCall } from '../../../shared/cel/aggregate-functions';
import { userVariables } from '../../../shared/cel/json-values';
import { cases } from '../../support/cases';

const all = (...rows: Row[]): Group => ({ join: 'all', rows });
const any = (...rows: Row[]): Group => ({ join: 'any', rows });
const pro = aRule({ trait: 'plan', test: 'is', value: 'pro' });
const often = aRule({
  subject: 'count',
  event: 'Order Completed',
  test: 'at_least',
  value: '3',
  window: '30',
});

describe('rows as a condition', () => {
  test.each<[Row, string]>([
    [pro, 'has(user.traits.plan) && user.traits.plan == "pro"'],
    [
      aRule({ trait: 'plan', test: 'is_not', value: 'pro' }),
      '!(has(user.traits.plan) && user.traits.plan == "pro")',
    ],
    [
      aRule({ trait: 'age', value: '42', kind: 'number' }),
      'has(user.traits.age) && user.traits.age == 42',
    ],
    [
      aRule({ trait: 'age', test: 'less', value: '-1.5' }),
      'has(user.traits.age) && user.traits.age < -1.5',
    ],
    [
      aRule({ trait: 'vip', value: 'true', kind: 'boolean' }),
      'has(user.traits.vip) && user.traits.vip == true',
    ],
    [aRule({ trait: 'email', test: 'set' }), 'has(user.traits.email)'],
    [aRule({ trait: 'email', test: 'unset' }), '!has(user.traits.email)'],
    [
      aRule({ trait: 'email', test: 'contains', value: '@x"' }),
      'has(user.traits.email) && user.traits.email.contains("@x\\"")',
    ],
    [aRule({ trait: 'first name', test: 'set' }), '"first name" in user.traits'],
    [aRule({ trait: 'in', test: 'unset' }), '!("in" in user.traits)'],
    [aRule({ trait: 'a.b', value: 'x' }), '"a.b" in user.traits && user.traits["a.b"] == "x"'],
    [often, 'count("Order Completed", duration("720h")) >= 3'],
    [aRule({ subject: 'count', event: 'A', test: 'is', value: '0' }), 'count("A") == 0'],
    [
      aRule({
        subject: 'sum',
        event: 'A',
        property: 'total',
        test: 'greater',
        value: '99.5',
        window: '90',
        unit: 'minutes',
      }),
      'sum("A", "total", duration("90m")) > 99.5',
    ],
    [aRule({ subject: 'last', event: 'A', property: 'p', value: 'x' }), 'last("A", "p") == "x"'],
    [
      aRule({ subject: 'last', event: 'A', property: 'p', test: 'is_not', value: 'x' }),
      'last("A", "p") != "x"',
    ],
    [
      aRule({ subject: 'first', event: 'A', property: 'p', test: 'unset' }),
      'first("A", "p") == null',
    ],
    [
      aRule({ subject: 'first', event: 'A', property: 'p', test: 'greater', value: '1' }),
      'first("A", "p") != null && first("A", "p") > 1',
    ],
    [
      all(pro, often),
      'has(user.traits.plan) && user.traits.plan == "pro"\n&& count("Order Completed", ' +
        'duration("720h")) >= 3',
    ],
    [
      any(pro, often),
      '(has(user.traits.plan) && user.traits.plan == "pro")\n|| count("Order Completed", ' +
        'duration("720h")) >= 3',
    ],
    [all(often, any(often, pro)), `${textOf(often)}\n&& (${textOf(often)} || (${textOf(pro)}))`],
  ])('%j is the condition %s', (row, text) => {
    expect(celOf(isGroup(row) ? row : all(row))).toBe(text);
    expect(rowsOf(text)).toEqual(isGroup(row) ? row : all(row));
  });
});

function textOf(rule: Rule): string {
  return celOf(all(rule))!;
}

describe('a faulty row', () => {
  test.each<[Row, Record<string, string>]>([
    [aRule(), { '0/trait': 'Enter a trait', '0/value': 'Enter a value' }],
    [
      aRule({ subject: 'count', test: 'at_least' }),
      { '0/event': 'Enter an event', '0/value': 'Enter a number' },
    ],
    [{ ...often, value: '1.5' }, { '0/value': 'Enter a whole number' }],
    [{ ...often, window: '367' }, { '0/window': 'up to 366 days' }],
    [{ ...often, window: '0' }, { '0/window': 'up to 366 days' }],
    [aRule({ subject: 'sum', event: 'A', value: '1' }), { '0/property': 'Enter a property' }],
    [{ ...pro, test: 'contains', value: '' }, { '0/value': 'Enter a value' }],
    [{ ...pro, kind: 'boolean' }, { '0/value': 'Choose yes or no' }],
    [any(aRule()), { '0/0/trait': 'Enter a trait', '0/0/value': 'Enter a value' }],
    [any(), { '0': 'Add a condition' }],
    [{ ...pro, trait: 'x'.repeat(201) }, { '0/trait': 'At most 200' }],
  ])('%j gives no condition, and a problem for each wrong field', (row, expected) => {
    const found = Object.fromEntries(rowProblems(all(row)));
    expect(Object.keys(found)).toEqual(Object.keys(expected));
    for (const [field, words] of Object.entries(expected)) expect(found[field]).toContain(words);
    expect(celOf(all(row))).toBeUndefined();
  });
});

describe('a condition written by hand', () => {
  test.each([
    [
      'user.traits.plan == "pro" && count("Order Completed", duration("720h")) >= 3',
      all(pro, often),
    ],
    ['(count("Order Completed", duration("43200m")) >= 3)', all(often)],
    [
      'has(user.traits.plan) && user.traits.plan != "pro"',
      all(aRule({ trait: 'plan', test: 'set' }), { ...pro, test: 'is_not' }),
    ],
    ['user.traits["plan"] == "pro"', all(pro)],
  ])('%s is read as rows', (text, rows) => {
    expect(rowsOf(text)).toEqual(rows);
  });

  test.each([
    ['text with a mistake', 'count('],
    ['an operator that rows lack', 'count("A") + count("B") > 3'],
    ['"is not" of a trait that may be missing', 'user.traits.plan != "pro"'],
    ['a negation of a group', '!(count("A") > 1 && count("B") > 1)'],
    ['a field of a trait', 'user.traits.address.city == "Bern"'],
    ['a window with a part of a minute', 'count("A", duration("90s")) > 1'],
    ['a comparison with its sides swapped', '3 <= count("A")'],
    ['a comparison with an empty text', 'has(user.traits.plan) && user.traits.plan == ""'],
    ['a list', 'user.traits.plan in ["pro", "team"]'],
    ['a name with a space before it', 'count(" A") > 1'],
    ['a number beyond exact doubles', 'user.traits.id == 9007199254740993'],
    [
      'groups beyond the maximum depth',
      'a && (b || c)'.replace(/[abc]/g, 'count("A") > 1').replace(/$/, deep(MAX_DEPTH)),
    ],
  ])('stays text if it contains %s', (_, text) => {
    expect(rowsOf(text)).toBeUndefined();
  });
});

function deep(levels: number): string {
  const row = 'count("A") > 1';
  const nested = Array.from({ length: levels }).reduce<string>(
    (inner, _, i) => `(${row} ${i % 2 === 0 ? '||' : '&&'} ${inner})`,
    row,
  );
  return ` && ${nested}`;
}

describe('editing rows', () => {
  test('a new subject keeps the entered values, and the comparison if the subject has it', () => {
    expect(withSubject(pro, 'last')).toMatchObject({ test: 'is', trait: 'plan', value: 'pro' });
    expect(withSubject({ ...often, test: 'less' }, 'sum')).toMatchObject({ test: 'less' });
    expect(withSubject(pro, 'count')).toMatchObject({ test: 'at_least', trait: 'plan' });
  });

  test('a row is replaced or removed at its place', () => {
    const group = all(pro, any(pro, often));
    expect(withRow(group, [1, 0], often)).toEqual(all(pro, any(often, often)));
    expect(withRow(group, [1, 0], undefined)).toEqual(all(pro, any(often)));
    expect(withRow(group, [0], undefined)).toEqual(all(any(pro, often)));
  });

  test('a new group has one row with a problem for each missing field', () => {
    expect([...rowProblems(emptyGroup()).keys()]).toEqual(['0/trait', '0/value']);
  });
});

describe('any rows', () => {
  const name = fc.constantFrom('plan', 'first name', 'in', 'a"b', 'ünï', '\u2028\\');
  const rule: fc.Arbitrary<Rule> = fc.constantFrom(...SUBJECTS).chain((subject) =>
    fc.record({
      subject: fc.constant(subject),
      test: fc.constantFrom(...testsOf(subject)),
      trait: name,
      event: fc.constantFrom('A', 'Order "x"'),
      property: fc.constantFrom('p', 'a.b'),
      value: fc.constantFrom('0', '2', '-3', '1.5', 'true', 'false', 'x', '', 'pro', '1e30'),
      kind: fc.constantFrom(...KINDS),
      window: fc.constantFrom('', '1', '24', '60', '366'),
      unit: fc.constantFrom(...UNITS),
    }),
  );
  const group = (depth: number): fc.Arbitrary<Group> =>
    fc.record({
      join: fc.constantFrom('all' as const, 'any' as const),
      rows: fc.array(depth === 1 ? rule : fc.oneof(rule, rule, group(depth - 1)), {
        minLength: 1,
        maxLength: 3,
      }),
    });
  const json: fc.Arbitrary<Json> = fc.constantFrom<Json[]>(
    'pro',
    'x',
    '',
    'an x',
    0,
    2,
    1.5,
    -3,
    true,
    false,
    '2',
  );
  const user = fc.record({
    traits: fc.dictionary(name, json),
    counts: fc.dictionary(fc.string(), fc.nat()),
    seed: fc.nat(),
  });

  test('become a valid condition that selects just the described users, read back as rows', () => {
    fc.assert(
      fc.property(
        group(MAX_DEPTH),
        fc.array(user, { minLength: 1, maxLength: 4 }),
        (rows, users) => {
          const text = celOf(rows);
          fc.pre(text !== undefined);
          const compiled = compileExpression(text, 'audience');
          if (compiled.kind === 'mistake') throw new Error(`${text}: ${compiled.message}`);
          const again = rowsOf(text);
          // The same condition may need fewer rows: nested groups with the same join become one.
          expect(again && celOf(again)?.replace(/\s+/g, ' ')).toBe(text.replace(/\s+/g, ' '));
          for (const { traits, seed } of users) {
            const read = (call: CounterCall) => counterOf(call, seed);
            const outcome = compiled.evaluate(userVariables({ id: 'u', traits }), read);
            expect(outcome === true).toBe(holds(rows, traits, seed));
          }
        },
      ),
      { numRuns: cases(300) },
    );
  });
});

/** Returns a value for what a user did, always the same one. */
function counterOf(
  { name, event, property = '', windowMs = 0 }: CounterCall,
  seed: number,
): Json | undefined {
  const n = (seed + event.length * 7 + property.length * 3 + windowMs / 60_000) % 6;
  if (name === 'count' || name === 'sum') return n;
  return [undefined, 'x', 2, true, 'pro', 'an x'][n];
}

/** Evaluates the rows as a person reads them. */
function holds(row: Row, traits: JsonObject, seed: number): boolean {
  if (isGroup(row)) {
    return row.join === 'all'
      ? row.rows.every((each) => holds(each, traits, seed))
      : row.rows.some((each) => holds(each, traits, seed));
  }
  const seconds = { days: 86_400, hours: 3_600, minutes: 60 }[row.unit] * Number(row.window);
  const windowed = (row.subject === 'count' || row.subject === 'sum') && seconds > 0;
  const value =
    row.subject === 'trait'
      ? Object.hasOwn(traits, row.trait.trim())
        ? traits[row.trait.trim()]
        : undefined
      : counterOf(
          {
            name: row.subject,
            event: row.event,
            ...defined({
              property: row.subject !== 'count' ? row.property : undefined,
              windowMs: windowed ? seconds * 1_000 : undefined,
            }),
          },
          seed,
        );
  const number = row.subject === 'count' || row.subject === 'sum' || row.kind === 'number';
  const wanted = number
    ? Number(row.value)
    : row.kind === 'boolean'
      ? row.value === 'true'
      : row.value;
  switch (row.test) {
    case 'set':
      return value !== undefined;
    case 'unset':
      return value === undefined;
    case 'is':
      return value === wanted;
    case 'is_not':
      return value !== wanted;
    case 'contains':
      return typeof value === 'string' && value.includes(row.value);
    case 'greater':
      return typeof value === 'number' && value > Number(row.value);
    case 'at_least':
      return typeof value === 'number' && value >= Number(row.value);
    case 'less':
      return typeof value === 'number' && value < Number(row.value);
    case 'at_most':
      return typeof value === 'number' && value <= Number(row.value);
  }
}
