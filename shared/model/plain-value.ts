import { z } from 'zod';
import { type PlainField } from './destination-fields';

/**
 * Returns the schema of a plain field's value, if it is set: as responses and export files have it.
 */
export function plainValue(field: PlainField): z.ZodType {
  switch (field.kind) {
    case 'switch':
      return z.boolean();
    case 'number':
      return z.number();
    case 'integer':
      return z.int();
    case 'choices':
      return z.array(z.enum(field.of));
    case 'duration':
    case 'expression':
      return z.string();
  }
}
