import { text } from '../texts';

const words = text.condition.rows;

/**
 * The condition of an audience as rows that a person fills in. Pure: the form shows them,
 * `rows-to-cel.ts` converts them to text.
 */

/** The value that a row tests. */
export const SUBJECTS = ['trait', 'count', 'sum', 'last', 'first'] as const;
export type Subject = (typeof SUBJECTS)[number];

/** The comparison of a row. */
export type Test =
  'is' | 'is_not' | 'contains' | 'greater' | 'at_least' | 'less' | 'at_most' | 'set' | 'unset';
const NUMBER_TESTS: readonly Test[] = ['at_least', 'greater', 'at_most', 'less', 'is'];
const VALUE_TESTS: readonly Test[] = [
  'is',
  'is_not',
  'contains',
  'set',
  'unset',
  'greater',
  'at_least',
  'less',
  'at_most',
];

/** A value is text unless the user chooses another kind: "42" and 42 are never equal. */
export const KINDS = ['text', 'number', 'boolean'] as const;
export type Kind = (typeof KINDS)[number];

export const UNITS = ['days', 'hours', 'minutes'] as const;
export type Unit = (typeof UNITS)[number];
export const UNIT_SECONDS: Readonly<Record<Unit, number>> = {
  days: 86_400,
  hours: 3_600,
  minutes: 60,
};

/**
 * One row, as entered. It keeps fields that its subject does not use, so that nothing is lost while
 * the user tries another subject.
 */
export interface Rule {
  subject: Subject;
  trait: string;
  event: string;
  property: string;
  test: Test;
  value: string;
  kind: Kind;
  /** length of the time window of `count` and `sum`; empty: all known events */
  window: string;
  unit: Unit;
}

/** Rows that must all hold, or any one of them. */
export interface Group {
  join: 'all' | 'any';
  rows: Row[];
}

export type Row = Rule | Group;

/** The deepest nesting of groups. Deeper conditions need the text form. */
export const MAX_DEPTH = 3;

const MAX_NAME = 200;
const MAX_WINDOW_SECONDS = 366 * 86_400;

/** Returns a new row with these fields. */
export function aRule(given: Partial<Rule> = {}): Rule {
  const empty = {
    trait: '',
    event: '',
    property: '',
    value: '',
    kind: 'text',
    window: '',
    unit: 'days',
  } as const;
  const subject = given.subject ?? 'trait';
  return { ...empty, subject, test: testsOf(subject)[0] ?? 'is', ...given };
}

export function emptyGroup(): Group {
  return { join: 'all', rows: [aRule()] };
}

export function isGroup(row: Row): row is Group {
  return 'join' in row;
}

/** Lists the comparisons of a subject. */
export function testsOf(subject: Subject): readonly Test[] {
  return subject === 'count' || subject === 'sum' ? NUMBER_TESTS : VALUE_TESTS;
}

/** Changes the subject, and keeps the comparison if the new subject has it. */
export function withSubject(rule: Rule, subject: Subject): Rule {
  const tests = testsOf(subject);
  return {
    ...rule,
    subject,
    test: tests === testsOf(rule.subject) ? rule.test : (tests[0] ?? 'is'),
  };
}

/** Returns the required kind of the value. */
export function kindOf({ subject, test, kind }: Rule): Kind | 'none' {
  if (test === 'set' || test === 'unset') return 'none';
  if (subject === 'count' || subject === 'sum') return 'number';
  if (test === 'contains') return 'text';
  return test === 'is' || test === 'is_not' ? kind : 'number';
}

/** Returns which fields a row uses. */
export function usesOf({ subject }: Pick<Rule, 'subject'>) {
  return {
    event: subject !== 'trait',
    property: subject !== 'trait' && subject !== 'count',
    window: subject === 'count' || subject === 'sum',
  };
}

/**
 * Validates the rows.
 * @returns a sentence by position and field, such as `0/event` or `2/1/value`
 */
export function rowProblems(group: Group, path = ''): Map<string, string> {
  const problems = new Map<string, string>();
  if (group.rows.length === 0) problems.set(path, words.emptyGroup);
  group.rows.forEach((row, i) => {
    const at = path === '' ? String(i) : `${path}/${i}`;
    const found = isGroup(row) ? rowProblems(row, at) : ruleProblems(row, at);
    for (const [field, problem] of found) problems.set(field, problem);
  });
  return problems;
}

function ruleProblems(rule: Rule, at: string): Map<string, string> {
  const problems = new Map<string, string>();
  const named = (field: 'trait' | 'event' | 'property', needed: string) => {
    const name = rule[field].trim();
    if (name === '') problems.set(`${at}/${field}`, needed);
    else if (name.length > MAX_NAME) problems.set(`${at}/${field}`, words.tooLong(MAX_NAME));
  };
  const uses = usesOf(rule);
  if (rule.subject === 'trait') named('trait', words.enterTrait);
  if (uses.event) named('event', words.enterEvent);
  if (uses.property) named('property', words.enterProperty);
  const wrong = valueProblem(rule);
  if (wrong !== undefined) problems.set(`${at}/value`, wrong);
  if (uses.window && rule.window !== '' && windowSeconds(rule) === undefined) {
    problems.set(`${at}/window`, words.windowProblem);
  }
  return problems;
}

function valueProblem(rule: Rule): string | undefined {
  const value = rule.value.trim();
  switch (kindOf(rule)) {
    case 'number':
      if (value === '' || !Number.isFinite(Number(value))) return words.enterNumber;
      if (rule.subject === 'count' && !/^\d{1,15}$/.test(value)) return words.enterWholeNumber;
      return undefined;
    case 'boolean':
      return value === 'true' || value === 'false' ? undefined : words.chooseYesOrNo;
    case 'text':
      // An empty field means that the user has not reached it. An empty text as a value needs the
      // text form.
      return rule.value === '' ? words.enterValue : undefined;
    case 'none':
      return undefined;
  }
}

/** @returns seconds; undefined if it is invalid or empty */
export function windowSeconds({ window, unit }: Pick<Rule, 'window' | 'unit'>): number | undefined {
  if (!/^\d{1,8}$/.test(window.trim())) return undefined;
  const seconds = Number(window) * UNIT_SECONDS[unit];
  return seconds > 0 && seconds <= MAX_WINDOW_SECONDS ? seconds : undefined;
}

/**
 * Replaces the row at a position (`[2, 0]` is the first row of the third row, a group), or removes
 * it if there is no new row.
 */
export function withRow(
  group: Group,
  [first, ...rest]: readonly number[],
  row: Row | undefined,
): Group {
  const rows = group.rows.flatMap((old, i) => {
    if (i !== first) return [old];
    if (rest.length > 0) return isGroup(old) ? [withRow(old, rest, row)] : [old];
    return row ? [row] : [];
  });
  return { ...group, rows };
}
