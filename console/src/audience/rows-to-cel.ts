import { compact } from '../../../shared/collections/defined';
import {
  type Group,
  isGroup,
  kindOf,
  rowProblems,
  type Rule,
  type Test,
  windowSeconds,
} from './rows';

/**
 * Converts rows to a CEL condition. Pure.
 *
 * A value that a user lacks is not a failure: each row first tests whether the value exists. So "is
 * not" also matches users without the value.
 */

const OPERATORS: Readonly<Partial<Record<Test, string>>> = {
  is: '==',
  is_not: '!=',
  greater: '>',
  at_least: '>=',
  less: '<',
  at_most: '<=',
};

/** @returns undefined while a field is missing */
export function celOf(group: Group): string | undefined {
  return rowProblems(group).size > 0 ? undefined : groupText(group, '\n').text;
}

/** A text, and its operator, which needs parentheses beside another operator. */
interface ConditionPart {
  text: string;
  joins: '&&' | '||' | undefined;
}

/** @param gap between a row and the operator of the next row */
function groupText({ join, rows }: Group, gap: string): ConditionPart {
  const parts = rows.map((row) => (isGroup(row) ? groupText(row, ' ') : ruleText(row)));
  const [only] = parts;
  if (only && parts.length === 1) return only;
  const joins = join === 'all' ? '&&' : '||';
  const texts = parts.map((part) =>
    part.joins === undefined || part.joins === joins ? part.text : `(${part.text})`,
  );
  return { text: texts.join(`${gap}${joins} `), joins };
}

function ruleText(rule: Rule): ConditionPart {
  const text = rule.subject === 'trait' ? traitText(rule) : eventText(rule);
  return { text, joins: mayLack(rule) ? '&&' : undefined };
}

function traitText(rule: Rule): string {
  const trait = rule.trait.trim();
  const plain = /^[A-Za-z_]\w*$/.test(trait) && !RESERVED.has(trait);
  const there = plain ? `has(user.traits.${trait})` : `${quoted(trait)} in user.traits`;
  const value = plain ? `user.traits.${trait}` : `user.traits[${quoted(trait)}]`;
  if (rule.test === 'set') return there;
  if (rule.test === 'unset') return plain ? `!${there}` : `!(${there})`;
  if (rule.test === 'is_not') return `!(${there} && ${value} == ${literalOf(rule)})`;
  return `${there} && ${compared(value, rule)}`;
}

function eventText(rule: Rule): string {
  const seconds = windowSeconds(rule);
  const args = compact([
    quoted(rule.event.trim()),
    rule.subject === 'count' ? undefined : quoted(rule.property.trim()),
    (rule.subject === 'count' || rule.subject === 'sum') && seconds !== undefined
      ? `duration("${durationText(seconds)}")`
      : undefined,
  ]);
  const value = `${rule.subject}(${args.join(', ')})`;
  if (rule.test === 'set') return `${value} != null`;
  if (rule.test === 'unset') return `${value} == null`;
  return mayLack(rule) ? `${value} != null && ${compared(value, rule)}` : compared(value, rule);
}

/**
 * Returns whether the condition must first test that a value exists: a missing value is null, which
 * equals nothing and cannot be compared.
 */
export function mayLack({ subject, test }: Pick<Rule, 'subject' | 'test'>): boolean {
  if (subject === 'count' || subject === 'sum' || test === 'set' || test === 'unset') return false;
  return subject === 'trait' ? test !== 'is_not' : test !== 'is' && test !== 'is_not';
}

function compared(value: string, rule: Rule): string {
  if (rule.test === 'contains') return `${value}.contains(${quoted(rule.value)})`;
  return `${value} ${OPERATORS[rule.test] ?? '=='} ${literalOf(rule)}`;
}

function literalOf(rule: Rule): string {
  switch (kindOf(rule)) {
    case 'number':
      return numberText(Number(rule.value));
    case 'boolean':
      return rule.value.trim();
    case 'text':
    case 'none':
      return quoted(rule.value);
  }
}

/** Formats a whole number beyond the exact integers as a double, as in JSON. */
function numberText(number: number): string {
  if (!Number.isInteger(number) || Number.isSafeInteger(number)) {
    return String(Object.is(number, -0) ? 0 : number);
  }
  return number.toExponential();
}

/** Quotes a text for CEL: JSON's escapes are a subset of CEL's. CEL has no lone surrogates. */
function quoted(text: string): string {
  return JSON.stringify(text.replace(/\p{Cs}/gu, '\ufffd'));
}

function durationText(seconds: number): string {
  return seconds % 3_600 === 0 ? `${seconds / 3_600}h` : `${seconds / 60}m`;
}

/** Reserved words, which cannot be names of fields. */
const RESERVED = new Set(
  (
    'as break const continue else false for function if import in let loop namespace null ' +
    'package return true var void while'
  ).split(' '),
);
