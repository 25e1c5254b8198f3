import { z } from 'zod';
import {
  type AlwaysSet,
  PLAIN_FIELDS,
  type PlainField,
  type PlainName,
  type PlainValue,
  type StoredValue,
  type SwitchName,
} from '../model/destination-fields';
import { plainValue } from '../model/plain-value';
import { durationField } from './fields';

/** The schemas of a destination's plain fields, from their table. */

/** In requests. Durations are read as ms. */
export const plainBody = Object.fromEntries(
  PLAIN_FIELDS.map(([name, field]) => [
    name,
    bodySchema(field).meta({ description: field.description }),
  ]),
) as {
  [Name in PlainName]: Name extends SwitchName
    ? z.ZodDefault<z.ZodBoolean>
    : z.ZodOptional<z.ZodType<StoredValue<Name>, PlainValue<Name>>>;
};

/** In responses. */
export const plainView = Object.fromEntries(
  PLAIN_FIELDS.map(([name, field]) => [
    name,
    field.kind === 'switch' || 'default' in field
      ? plainValue(field)
      : plainValue(field).nullable(),
  ]),
) as unknown as {
  [Name in PlainName]: z.ZodType<
    Name extends AlwaysSet ? PlainValue<Name> : PlainValue<Name> | null
  >;
};

function bodySchema(field: PlainField): z.ZodType {
  switch (field.kind) {
    case 'switch':
      return z.boolean().default(false);
    case 'number':
      return z.number().min(field.least).max(field.most).optional();
    case 'integer':
      return z.int().min(field.least).max(field.most).optional();
    case 'duration':
      return durationField(z.string(), { mostMs: field.mostMs }).optional();
    case 'choices':
      return z.array(z.enum(field.of)).min(1).optional();
    case 'expression':
      return z.string().optional().meta({ maxLength: field.maxLength });
  }
}
