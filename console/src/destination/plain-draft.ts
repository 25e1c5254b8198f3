import { type Destination } from '../../../shared/api/operations';
import {
  FORM_FIELDS,
  type FormName,
  type PlainField,
  type PlainValue,
} from '../../../shared/model/destination-fields';
import { parseDuration } from '../../../shared/model/time';
import { same } from './field-values';
import { text } from '../texts';
import { count } from '../texts/counts';

const words = text.destination.plainDraft;

export const DURATION_PROBLEM = words.durationProblem;

/** The plain fields of a destination while somebody edits them, from their table. Pure. */

/** A text is as entered, and empty if the field is not set. A list of choices is null then. */
export type PlainDraft = {
  [Name in FormName]: PlainValue<Name> extends string[] ? PlainValue<Name> | null : string;
};

type Values = { [Name in FormName]: PlainValue<Name> | null };

/** @param values absent ones are not set */
export function plainDraft(values: Partial<Values>): PlainDraft {
  const drafts = FORM_FIELDS.map(([name, { kind }]) => {
    const value = values[name] ?? null;
    return [name, kind === 'choices' ? value : String(value ?? '')];
  });
  return Object.fromEntries(drafts) as PlainDraft;
}

/** Returns a sentence for each field that is wrong. */
export function plainProblems(draft: PlainDraft): [FormName, string][] {
  return FORM_FIELDS.flatMap(([name, field]): [FormName, string][] => {
    const problem = problemOf(draft[name], field);
    return problem === undefined ? [] : [[name, problem]];
  });
}

function problemOf(
  entered: string | readonly string[] | null,
  field: PlainField,
): string | undefined {
  if (entered === null || entered === '') return undefined;
  switch (field.kind) {
    case 'choices':
      return entered.length === 0 ? words.chooseOne : undefined;
    case 'number':
    case 'integer': {
      const number = Number(entered);
      const isGood =
        field.least <= number &&
        number <= field.most &&
        (field.kind === 'number' || Number.isInteger(number));
      return isGood ? undefined : words.numberProblem(count(field.least), count(field.most));
    }
    case 'duration':
      return parseDuration(String(entered)) === undefined ? words.durationProblem : undefined;
    case 'switch':
    case 'expression':
      return undefined;
  }
}

/** Returns the fields that are set, for a request that creates a destination. */
export function plainCreation(draft: PlainDraft): { [Name in FormName]?: PlainValue<Name> } {
  return Object.fromEntries(
    Object.entries(plainValues(draft)).filter(([, value]) => value !== null),
  );
}

/** Returns the values of the draft; null for a field that is not set. */
function plainValues(draft: PlainDraft): Values {
  const values = FORM_FIELDS.map(([name, { kind }]) => {
    const entered = trimmed(draft[name]);
    if (entered === '') return [name, null];
    return [name, kind === 'number' || kind === 'integer' ? Number(entered) : entered];
  });
  return Object.fromEntries(values) as Values;
}

/** Returns the fields that the user changed. */
export function plainPatch(before: Destination, draft: PlainDraft): Partial<Values> {
  const old = plainDraft(before);
  const values = plainValues(draft);
  const changed = FORM_FIELDS.filter(([name]) => !same(trimmed(draft[name]), old[name]));
  return Object.fromEntries(changed.map(([name]) => [name, values[name]]));
}

function trimmed<Entered>(entered: Entered): Entered | string {
  return typeof entered === 'string' ? entered.trim() : entered;
}
