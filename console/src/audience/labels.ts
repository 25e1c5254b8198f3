import { stringifyJson } from '../../../shared/json/json';
import { type Audience, type ComputedTrait, type Preview } from '../../../shared/api/operations';
import { count } from '../lib/labels';
import { type Kind, type Rule, type Subject, type Test, type Unit } from './rows';
import { text } from '../texts';

const words = text.condition.labels;

/** Labels for audiences. Pure. */

export const SUBJECT_WORDS: Readonly<Record<Subject, string>> = words.subjectWords;

const VALUE_WORDS: Readonly<Record<Test, string>> = words.valueWords;
const COUNT_WORDS: Readonly<Partial<Record<Test, string>>> = words.countWords;

export function testInWords(subject: Subject, test: Test): string {
  return (subject === 'count' ? COUNT_WORDS[test] : undefined) ?? VALUE_WORDS[test];
}

export const KIND_WORDS: Readonly<Record<Kind, string>> = words.kindWords;
export const UNIT_WORDS: Readonly<Record<Unit, string>> = words.unitWords;

/** Returns a hint for a value that looks like another type. */
export function valueHint({ value, kind }: Pick<Rule, 'value' | 'kind'>): string | undefined {
  const text = value.trim();
  if (kind !== 'text' || text === '') return undefined;
  if (Number.isFinite(Number(text))) return words.looksLikeNumber;
  return text === 'true' || text === 'false' ? words.looksLikeBoolean : undefined;
}

/** Describes the size in a preview, as far as it is computed. */
export function sizeInWords({ phase, members, exact, plusMinus, of, looked }: Preview): string {
  if (phase === 'counting' && looked === 0) return words.counting;
  const size = exact && phase === 'done' ? words.users(members) : words.about(words.users(members));
  const give = plusMinus > 0 ? words.giveOrTake(count(plusMinus)) : '';
  if (phase === 'counting') return words.soFar(size, give);
  return exact || of === 0 ? size : words.estimate(size, give);
}

/** Describes how much data the size is based on. */
export function basisInWords({ phase, looked, of, failed, detail }: Preview): string {
  const seen =
    phase === 'counting' ? words.of(count(looked), words.profiles(of)) : words.profiles(looked);
  const without = failed === 0 ? '' : words.notEvaluated(count(failed));
  return words.checked(seen, without, detail === null ? '' : ` ${detail}.`);
}

type Status = Audience['status'];

const PHASES: Readonly<Record<Status['phase'], string>> = words.phases;

export function phaseInWords(phase: Status['phase']): string {
  return PHASES[phase];
}

/** Describes the current phase and the next one. */
export function statusInWords({
  status,
  destinations,
}: Pick<Audience, 'status' | 'destinations'>): string {
  const { phase, counted: looked, of } = status;
  if (destinations.length === 0 && (phase === 'first_sync' || phase === 'live')) {
    return words.noDestination;
  }
  switch (phase) {
    case 'none':
      return words.nothingCounted;
    case 'counting':
      return words.countingFirst;
    case 'first_sync':
      return words.firstSync(count(looked), count(of));
    case 'live':
      return words.sendingChanges;
  }
}

/** @returns 0 to 100; undefined without progress to show */
export function progressOf({ phase, counted: looked, of }: Status): number | undefined {
  if (phase !== 'first_sync') return undefined;
  return of === 0 ? 0 : Math.min(100, Math.floor((looked / of) * 100));
}

export const COMPUTE_WORDS: Readonly<Record<ComputedTrait['compute'], string>> = words.computeWords;

/** Formats a value on one line. */
export function valueInWords(value: unknown): string {
  return typeof value === 'string' ? value : stringifyJson(value);
}
