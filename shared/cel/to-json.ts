import { type CelMap, celType, type CelValue, isCelList, isCelMap, isCelUint } from '@bufbuild/cel';
import { toJson } from '@bufbuild/protobuf';
import { isReflectMessage } from '@bufbuild/protobuf/reflect';
import {
  type Duration,
  DurationSchema,
  type Timestamp,
  timestampDate,
  TimestampSchema,
} from '@bufbuild/protobuf/wkt';
import { UnusableResult } from './evaluation-error';
import { type ExactDoubles } from './json-values';
import { nameOf } from './type-check';
import { charge, TEXT_PER_UNIT } from './work-limit';

/**
 * Converts values of an expression to JSON text. Keys keep their order; an object of JavaScript
 * would move keys such as "10" to its front. Its work is charged to the evaluation
 * (`work-limit.ts`).
 *
 * | value     | JSON                                                   |
 * | --------- | ------------------------------------------------------ |
 * | double    | shortest form, so that 5.0 is 5; infinite and NaN fail; |
 * |           | a number of the message that no double holds: its digits |
 * | int, uint | all digits                                             |
 * | bytes     | base64                                                 |
 * | timestamp | RFC 3339 in UTC with milliseconds                      |
 * | duration  | seconds, such as "5400s"                               |
 */

/** Cost of an item of a list or a map beside its text. */
const ITEM_UNITS = 0.1;

/**
 * @param exact the digits of the message's exact numbers
 * @throws UnusableResult for a value that JSON cannot hold; TooMuchWork beyond the budget
 */
export function jsonText(value: CelValue, exact?: ExactDoubles): string {
  if (typeof value === 'string') return quoted(value);
  if (typeof value === 'number') return numberText(value, exact);
  if (typeof value === 'bigint') return value.toString();
  if (typeof value === 'boolean' || value === null) return String(value);
  if (isCelList(value)) return listText(value, exact);
  if (isCelMap(value)) return mapText(value, exact);
  if (isCelUint(value)) return value.value.toString();
  if (value instanceof Uint8Array) return quoted(Buffer.from(value).toString('base64'));
  if (isReflectMessage(value, TimestampSchema)) return quoted(timeText(value.message as Timestamp));
  if (isReflectMessage(value, DurationSchema)) {
    return JSON.stringify(toJson(DurationSchema, value.message as Duration));
  }
  throw new UnusableResult(`the result contains ${nameOf(celType(value))}, which JSON cannot hold`);
}

function quoted(text: string): string {
  charge(text.length / TEXT_PER_UNIT);
  return JSON.stringify(text);
}

function numberText(value: number, exact: ExactDoubles | undefined): string {
  const digits = exact?.digitsOf(value);
  if (digits !== undefined) {
    charge(digits.length / TEXT_PER_UNIT);
    return digits;
  }
  if (!Number.isFinite(value)) {
    throw new UnusableResult('the result contains a number that is infinite or not a number');
  }
  return JSON.stringify(value);
}

/** Times of messages have milliseconds. A finer time keeps its digits. */
function timeText(time: Timestamp): string {
  return time.nanos % 1_000_000 === 0
    ? timestampDate(time).toISOString()
    : toJson(TimestampSchema, time);
}

function listText(list: Iterable<CelValue>, exact: ExactDoubles | undefined): string {
  let text = '';
  for (const item of list) {
    charge(ITEM_UNITS);
    text += text === '' ? jsonText(item, exact) : `,${jsonText(item, exact)}`;
  }
  return `[${text}]`;
}

function mapText(map: CelMap, exact: ExactDoubles | undefined): string {
  const seen = new Set<string>();
  let text = '';
  for (const [key, item] of map) {
    charge(ITEM_UNITS);
    const name = typeof key === 'object' ? key.value.toString() : String(key);
    if (seen.has(name)) {
      throw new UnusableResult(
        'the result contains two keys with the same text, such as 1 and "1"',
      );
    }
    seen.add(name);
    text += `${text === '' ? '' : ','}${quoted(name)}:${jsonText(item, exact)}`;
  }
  return `{${text}}`;
}
