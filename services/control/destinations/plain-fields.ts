import { type z } from 'zod';
import { durationText } from '../../../shared/api/fields';
import { type plainBody, type plainView } from '../../../shared/api/plain-fields';
import { defined } from '../../../shared/collections/defined';
import {
  PLAIN_FIELDS,
  type PlainField,
  type StoredFields,
} from '../../../shared/model/destination-fields';
import { type Json, type JsonObject } from '../../../shared/model/message';

/**
 * Converts the plain fields of a destination (shared/model/destination-fields.ts) between their
 * stored form and that of the API. Pure.
 */

type Given = z.output<z.ZodObject<typeof plainBody>>;
type View = z.output<z.ZodObject<typeof plainView>>;

/** @param given as the schema read them, with durations in ms */
export function storedPlain(given: Given): StoredFields {
  const stored = PLAIN_FIELDS.map(([name, field]) => {
    const value = given[name];
    return [storedName(name, field), Array.isArray(value) ? [...new Set(value)] : value];
  });
  return defined(Object.fromEntries(stored) as StoredFields);
}

/** Returns those that are set, as a request writes them. */
export function patchablePlain(stored: StoredFields): JsonObject {
  return defined(writtenPlain(stored)) as JsonObject;
}

/** Returns all of them for a response: null, or its default, for one that is not set. */
export function viewPlain(stored: StoredFields): View {
  const written = writtenPlain(stored);
  const shown = PLAIN_FIELDS.map(([name, field]) => [
    name,
    written[name] ?? ('default' in field ? field.default : null),
  ]);
  return Object.fromEntries(shown) as View;
}

function writtenPlain(stored: StoredFields): Record<string, Json | undefined> {
  const written = PLAIN_FIELDS.map(([name, field]) => {
    const value = (stored as unknown as Record<string, Json | undefined>)[storedName(name, field)];
    return [
      name,
      field.kind === 'duration' && typeof value === 'number' ? durationText(value) : value,
    ];
  });
  return Object.fromEntries(written) as Record<string, Json | undefined>;
}

function storedName(name: string, { kind }: PlainField): string {
  return kind === 'duration' ? `${name}Ms` : name;
}
