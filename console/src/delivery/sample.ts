import { isJsonObject, type Json } from '../../../shared/model/message';
import { parseJson, stringifyJson } from '../../../shared/json/json';
import { type Delivery, type Operations } from '../../../shared/api/operations';
import { CALL_TYPES } from '../lib/labels';
import { text } from '../texts';

const words = text.delivery.sample;

/** A delivered message as the text of a test, and back. Pure. */

export type Sample = Operations['POST /destinations/{id}/test']['body'];

/** The fields of a message that a test may set. */
const FIELDS = [
  'type',
  'userId',
  'event',
  'name',
  'groupId',
  'previousId',
  'properties',
  'traits',
] as const;

/** Returns the editable text for a message; undefined if a test cannot have its type. */
export function sampleText({ body, type }: Pick<Delivery, 'body' | 'type'>): string | undefined {
  if (!CALL_TYPES.some((each) => each === type) || typeof body !== 'object' || body === null) {
    return undefined;
  }
  const message = body as Record<string, unknown>;
  const fields = FIELDS.filter((field) => message[field] !== undefined && message[field] !== null);
  return stringifyJson(Object.fromEntries(fields.map((field) => [field, message[field]])), 2);
}

/** Parses an edited text. The API checks its fields. */
export function sampleOf(text: string): { sample: Sample } | { problem: string } {
  try {
    const value = parseJson(text) as Json;
    if (isJsonObject(value)) return { sample: value };
    return { problem: words.enterJsonObject };
  } catch (error) {
    return { problem: words.notValidJson((error as Error).message) };
  }
}
