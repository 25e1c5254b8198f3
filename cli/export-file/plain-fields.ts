import { type z } from 'zod';
import {
  type AlwaysSet,
  PLAIN_FIELDS,
  type PlainField,
  type PlainName,
  type PlainValue,
  type SwitchName,
} from '../../shared/model/destination-fields';
import { plainValue } from '../../shared/model/plain-value';

/** The plain fields of a destination in an export file, from their table. */

type InFile = {
  [Name in PlainName]: Name extends SwitchName
    ? z.ZodDefault<z.ZodBoolean>
    : Name extends AlwaysSet
      ? z.ZodOptional<z.ZodType<PlainValue<Name>>>
      : z.ZodDefault<z.ZodNullable<z.ZodType<PlainValue<Name>>>>;
};

export const plainInFile = Object.fromEntries(
  PLAIN_FIELDS.map(([name, field]) => [name, schemaOf(field)]),
) as unknown as InFile;

/** An import resets what the file lacks. But a field with a default stays then. */
function schemaOf(field: PlainField): z.ZodType {
  const value = plainValue(field);
  if (field.kind === 'switch') return value.default(false);
  return 'default' in field ? value.optional() : value.nullable().default(null);
}

type PlainFields = z.output<z.ZodObject<InFile>>;

/**
 * Returns the plain fields of a destination, in the order of the table.
 * @param file has the fields to return
 */
export function plainOf<D extends PlainFields>(
  destination: D,
  file: PlainFields = destination,
): Pick<D, PlainName> {
  const given = PLAIN_FIELDS.filter(([name]) => file[name] !== undefined);
  return Object.fromEntries(given.map(([name]) => [name, destination[name]])) as Pick<D, PlainName>;
}
