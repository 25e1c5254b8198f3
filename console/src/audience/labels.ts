import { type Audience, type ComputedTrait, type Preview } from '../../../shared/api/operations';
import { count, counted } from '../lib/labels';
import { type Kind, type Rule, type Subject, type Test, type Unit } from './rows';

/** Labels for audiences. Pure. */

export const SUBJECT_WORDS: Readonly<Record<Subject, string>> = {
  trait: 'a trait',
  count: 'did an event',
  sum: 'the sum of a property',
  last: 'the last value of a property',
  first: 'the first value of a property',
};

const VALUE_WORDS: Readonly<Record<Test, string>> = {
  is: 'is',
  is_not: 'is not, or is not set',
  contains: 'contains',
  set: 'is set',
  unset: 'is not set',
  greater: 'is more than',
  at_least: 'is at least',
  less: 'is less than',
  at_most: 'is at most',
};
const COUNT_WORDS: Readonly<Partial<Record<Test, string>>> = {
  is: 'exactly',
  greater: 'more than',
  at_least: 'at least',
  less: 'less than',
  at_most: 'at most',
};

export function testInWords(subject: Subject, test: Test): string {
  return (subject === 'count' ? COUNT_WORDS[test] : undefined) ?? VALUE_WORDS[test];
}

export const KIND_WORDS: Readonly<Record<Kind, string>> = { text: 'text', number: 'a number', boolean: 'yes or no' };
export const UNIT_WORDS: Readonly<Record<Unit, string>> = { days: 'days', hours: 'hours', minutes: 'minutes' };

/** Returns a hint for a value that looks like another type. */
export function valueHint({ value, kind }: Pick<Rule, 'value' | 'kind'>): string | undefined {
  const text = value.trim();
  if (kind !== 'text' || text === '') return undefined;
  if (Number.isFinite(Number(text))) return 'Compared as text. Choose number if the value is a number';
  return text === 'true' || text === 'false'
    ? 'Compared as text. Choose yes or no if the value is a boolean'
    : undefined;
}

/** Describes the size in a preview, as far as it is computed. */
export function sizeInWords({ phase, members, exact, plusMinus, of, looked }: Preview): string {
  if (phase === 'counting' && looked === 0) return 'Counting …';
  const size = exact && phase === 'done' ? counted(members, 'user') : `about ${counted(members, 'user')}`;
  const give = plusMinus > 0 ? `, give or take ${count(plusMinus)}` : '';
  if (phase === 'counting') return `So far ${size}${give}`;
  return exact || of === 0 ? size : `${size}${give} (estimate)`;
}

/** Describes how much data the size is based on. */
export function basisInWords({ phase, looked, of, failed, detail }: Preview): string {
  const seen = phase === 'counting' ? `${count(looked)} of ${counted(of, 'profile')}` : counted(looked, 'profile');
  const without = failed === 0 ? '' : ` ${count(failed)} could not be evaluated and do not match.`;
  return `${seen} checked.${without}${detail === null ? '' : ` ${detail}.`}`;
}

type Status = Audience['status'];

const PHASES: Readonly<Record<Status['phase'], string>> = {
  none: 'not begun',
  counting: 'counting',
  first_sync: 'first sync',
  live: 'live',
};

export function phaseInWords(phase: Status['phase']): string {
  return PHASES[phase];
}

/** Describes the current phase and the next one. */
export function statusInWords({ phase, counted: looked, of }: Status): string {
  switch (phase) {
    case 'none':
      return 'Nothing has been counted yet. Counting starts within seconds if the service audiences runs.';
    case 'counting':
      return 'The retained messages are counted first. Nothing is sent before this is done.';
    case 'first_sync':
      return `Sending each member once: ${count(looked)} of ${count(of)} profiles checked.`;
    case 'live':
      return 'Changes are sent to receivers.';
  }
}

/** @returns 0 to 100; undefined without progress to show */
export function progressOf({ phase, counted: looked, of }: Status): number | undefined {
  if (phase !== 'first_sync') return undefined;
  return of === 0 ? 0 : Math.min(100, Math.floor((looked / of) * 100));
}

export const COMPUTE_WORDS: Readonly<Record<ComputedTrait['compute'], string>> = {
  count: 'how many there were',
  sum: 'the sum of a property',
  min: 'the least value of a property',
  max: 'the greatest value of a property',
  first: 'the first value of a property',
  last: 'the last value of a property',
  most_frequent: 'the most frequent value of a property',
  unique: 'all values of a property, each once',
};

/** Formats a value on one line. */
export function valueInWords(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
