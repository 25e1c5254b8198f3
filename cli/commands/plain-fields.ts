import { type Destination, type Operations } from '../../shared/api/operations';
import { compact } from '../../shared/collections/defined';
import { PLAIN_FIELDS, type PlainField } from '../../shared/model/destination-fields';
import { decimal, listOf, oneOf, whole } from '../command';
import { type Fields } from '../fields';

/** The options and the lines of a destination's plain fields, from their table. */

type Change = Operations['PATCH /destinations/{id}']['body'];

export const PLAIN_OPTIONS = Object.fromEntries(
  PLAIN_FIELDS.flatMap(([name, field]) => {
    const { option } = field;
    if (!option) return [];
    const read = (given: string, flag: string) =>
      given === option.unset ? null : valueOf(given, flag, field);
    return [[name, { flags: option.flags, help: option.help, read }]];
  }),
) as Fields<Change>;

/** @throws CliError */
function valueOf(given: string, flag: string, field: PlainField): string | string[] | number {
  switch (field.kind) {
    case 'number':
      return decimal(given, flag, [field.least, field.most]);
    case 'integer':
      return whole(given, flag, [field.least, field.most]);
    case 'choices':
      return listOf(given).map((choice) => oneOf(choice, flag, field.of));
    case 'switch':
    case 'duration':
    case 'expression':
      return given;
  }
}

/** For `Printer.thing`. */
export function plainLines(
  destination: Destination,
): [string, string | number | boolean | undefined][] {
  return compact(
    PLAIN_FIELDS.map(([name, { line }]) => {
      const value = destination[name];
      const shown = Array.isArray(value) ? value.join(' ') : value;
      return line && [line.title, shown ?? line.unset];
    }),
  );
}
