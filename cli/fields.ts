import { ALERTS_ID } from '../shared/model/config';
import { Option } from 'commander';
import { MESSAGE_TYPES } from '../shared/model/message';
import { type CommandOption, decimal, oneOf, type Session } from './command';
import { find, idsOf, type NamedKind } from './entries';
import { timeOf } from './time';

/** Options that set the fields of a query or of a body. */

interface Field<V> {
  flags: string;
  help: string;
  /**
   * @param given by commander: text; true for an option without a value; a list for an option that
   *   may be repeated
   * @param name the option, for errors
   * @throws CliError
   */
  read(given: never, name: string, session: Session): V | Promise<V>;
}

/** By name of the field. */
export type Fields<T> = { [K in keyof T]?: Field<T[K]> };

/** Lists the options for the help. */
export function optionsOf(fields: object): CommandOption[] {
  return listed(fields).map(([, { flags, help }]) => [flags, help]);
}

/** Reads the given options, in the order of the table. Options that are not given set no field. */
export async function readFields<T>(
  session: Session,
  options: object,
  fields: Fields<T>,
): Promise<Partial<T>> {
  const read: Record<string, unknown> = {};
  for (const [key, field] of listed(fields)) {
    const option = new Option(field.flags);
    const given = (options as Record<string, unknown>)[option.attributeName()];
    if (given !== undefined) {
      read[key] = await field.read(given as never, option.long ?? '', session);
    }
  }
  return read as Partial<T>;
}

function listed(fields: object): [string, Field<unknown>][] {
  return Object.entries(fields as Record<string, Field<unknown>>);
}

export function textField(flags: string, help: string): Field<string> {
  return { flags, help, read: (given: string) => given };
}

/** An option without a value. */
export function flagField<const V>(flags: string, help: string, value: V): Field<V> {
  return { flags, help, read: () => value };
}

export function choiceField<const T extends string>(
  flags: string,
  choices: readonly T[],
  help?: string,
): Field<T> {
  return {
    flags,
    help: help ?? choices.join(', '),
    read: (given: string, name) => oneOf(given, name, choices),
  };
}

export const messageTypeField = choiceField('--type <type>', MESSAGE_TYPES);

export function timeField(flags: string, help: string): Field<string> {
  return { flags, help, read: (given: string, name) => timeOf(given, name, Date.now()) };
}

export function numberField(
  flags: string,
  help: string,
  range: [min: number, max: number],
): Field<number> {
  return { flags, help, read: (given: string, name) => decimal(given, name, range) };
}

interface Reference {
  help?: string;
  /** a text that is sent as it is, without a look-up */
  isId?: (text: string) => boolean;
}

/** The id of an entry that is given by id or name. */
export function idField(
  flags: string,
  kind: NamedKind,
  { help = 'by id or name', isId = () => false }: Reference = {},
): Field<string> {
  const read = async (given: string, _: string, { api }: Session) =>
    isId(given) ? given : (await find(api(), kind, given)).id;
  return { flags, help, read };
}

/** A destination of deliveries. */
export const destinationField = idField('--destination <destination>', 'destination', {
  help: `by id or name; ${ALERTS_ID}: the alerts`,
  // They have deliveries, but are not in the list of destinations.
  isId: (name) => name === ALERTS_ID,
});

/** The ids of entries, for an option that may be repeated. */
export function idsField(flags: string, kind: NamedKind, help: string): Field<string[]> {
  return { flags, help, read: (given: string[], _, { api }) => idsOf(api(), kind, given) };
}

type WithoutNulls<T> = { [K in keyof T]: Exclude<T[K], null> };

/**
 * Removes the fields that are null, which means the default: a body that creates an entry omits
 * them.
 */
export function withoutNulls<T extends object>(fields: T): WithoutNulls<T> {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== null),
  ) as WithoutNulls<T>;
}
