import { ExactNumber } from '../json/json';
import { celList, celMap, type CelInput } from '@bufbuild/cel';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { type Json, type JsonObject, type Message } from '../model/message';

/**
 * Presents JSON to expressions. Only the parts that an expression reads are converted; nothing is
 * copied as a whole.
 *
 * The library's own conversion copies each object into a Map and refuses a key `constructor`, which
 * a client may send. Numbers are doubles, which compare with int literals. A whole number that no
 * double holds is an int.
 */
export type Value = CelInput;

/**
 * @param json undefined: null
 * @param exact remembers the exact numbers that became doubles; needed if the values are written as
 *   JSON again
 */
export function toValue(json: Json | undefined, exact?: ExactDoubles): Value {
  if (typeof json !== 'object' || json === null) return json ?? null;
  if (json instanceof ExactNumber) {
    return wholeOf(json) ?? exact?.toDouble(json) ?? Number(json.digits);
  }
  if (Array.isArray(json)) return celList(json.map((item) => toValue(item, exact)));
  return celMap(new ObjectMap(json, exact));
}

const WHOLE = /^-?[0-9]{1,19}$/;

/** Returns a whole number as an int, which CEL limits to 64 bits; undefined for other numbers. */
function wholeOf({ digits }: ExactNumber): bigint | undefined {
  const whole = WHOLE.test(digits) ? BigInt(digits) : undefined;
  return whole !== undefined && BigInt.asIntN(64, whole) === whole ? whole : undefined;
}

/**
 * The digits of the exact numbers of a message that became doubles, so that a template that passes
 * a double on writes its digits. A number whose nearest double is infinite, or stands for another
 * number of the message, gets a double beside it: such numbers differ by less than expressions can
 * tell, and must not be written as each other.
 */
export class ExactDoubles {
  readonly #doubles = new Map<string, number>();
  readonly #digits = new Map<number, string>();
  /** the last double that stands for a number with this nearest double */
  readonly #lastOf = new Map<number, number>();
  /** the numbers of the message that are doubles themselves */
  #plain: Set<number> | undefined;

  constructor(private readonly message: object) {}

  toDouble({ digits }: ExactNumber): number {
    const known = this.#doubles.get(digits);
    if (known !== undefined) return known;
    const nearest = Number(digits);
    // A zero may be any zero: 1e-400 is written as 0.
    if (nearest === 0) return nearest;
    let double = this.#lastOf.get(nearest) ?? nearest;
    while (!this.#isFree(double)) double = doubleBeside(double);
    this.#doubles.set(digits, double);
    this.#digits.set(double, digits);
    this.#lastOf.set(nearest, double);
    return double;
  }

  digitsOf(double: number): string | undefined {
    return this.#digits.get(double);
  }

  #isFree(double: number): boolean {
    this.#plain ??= numbersIn(this.message);
    return Number.isFinite(double) && !this.#digits.has(double) && !this.#plain.has(double);
  }
}

function numbersIn(value: unknown, found = new Set<number>()): Set<number> {
  if (typeof value === 'number') found.add(value);
  else if (typeof value === 'object' && value !== null && !(value instanceof ExactNumber)) {
    for (const each of Object.values(value)) numbersIn(each, found);
  }
  return found;
}

const doubles = new Float64Array(1);
const bits = new BigInt64Array(doubles.buffer);

/** Returns the next double in the direction of 1, or of -1: it is neither zero nor infinite. */
function doubleBeside(double: number): number {
  doubles[0] = double;
  bits[0] = (bits[0] ?? 0n) + (Math.abs(double) > 1 ? -1n : 1n);
  return doubles[0];
}

/**
 * An object by its own keys. Converted values are cached, since a loop reads the same list at every
 * step.
 */
class ObjectMap implements ReadonlyMap<string, Value> {
  readonly #read = new Map<string, Value>();

  constructor(
    private readonly object: JsonObject,
    private readonly exact: ExactDoubles | undefined,
  ) {}

  get size(): number {
    return Object.keys(this.object).length;
  }

  get(key: string): Value | undefined {
    // JSON has only text keys.
    if (typeof key !== 'string' || !Object.hasOwn(this.object, key)) return undefined;
    const json = this.object[key];
    if (typeof json !== 'object' || json === null) return json ?? null;
    let value = this.#read.get(key);
    if (value === undefined) this.#read.set(key, (value = toValue(json, this.exact)));
    return value;
  }

  has(key: string): boolean {
    return this.get(key) !== undefined;
  }

  *entries(): MapIterator<[string, Value]> {
    for (const key of this.keys()) yield [key, this.get(key) ?? null];
  }

  keys(): MapIterator<string> {
    return Object.keys(this.object).values();
  }

  *values(): MapIterator<Value> {
    for (const [, value] of this.entries()) yield value;
  }

  [Symbol.iterator](): MapIterator<[string, Value]> {
    return this.entries();
  }

  forEach(callback: (value: Value, key: string, map: ReadonlyMap<string, Value>) => void): void {
    for (const [key, value] of this.entries()) callback(value, key, this);
  }
}

/**
 * The values of an expression's names during evaluation. Created once for a message, for all
 * filters.
 */
export type Variables = { readonly [name: string]: Value };

/**
 * Presents a message to a filter or a template. Missing fields are empty, as in protocol buffers:
 * '' for text, {} for an object. A filter on `event` is therefore false for an identify, and does
 * not fail.
 */
export function messageVariables(message: Message): Variables {
  return new MessageVariables(message) as unknown as Variables;
}

/**
 * Returns the digits of a message's exact numbers; undefined for the variables of a user, which are
 * never written.
 */
export function exactDoublesOf(variables: Variables): ExactDoubles | undefined {
  return variables instanceof MessageVariables ? variables.exact : undefined;
}

/** Presents a user to a condition: `user.traits`, and `user.id` if it is given. */
export function userVariables(user: { id?: string; traits: JsonObject }): Variables {
  return { user: toValue({ ...user }) };
}

/** Uses getters, since most filters read two or three names of a message. */
class MessageVariables {
  readonly #message: Message;
  /** No name of an expression reaches it: the type checker knows the names. */
  readonly exact: ExactDoubles;
  #whole: Value | undefined;
  readonly #objects: Partial<Record<'properties' | 'traits' | 'context' | 'integrations', Value>> =
    {};

  constructor(message: Message) {
    this.#message = message;
    this.exact = new ExactDoubles(message);
  }

  get type(): Value {
    return this.#message.type;
  }
  get event(): Value {
    return this.#message.event ?? '';
  }
  get userId(): Value {
    return this.#message.userId ?? '';
  }
  get anonymousId(): Value {
    return this.#message.anonymousId ?? '';
  }
  get groupId(): Value {
    return this.#message.groupId ?? '';
  }
  get previousId(): Value {
    return this.#message.previousId ?? '';
  }
  get messageId(): Value {
    return this.#message.messageId;
  }
  get name(): Value {
    return this.#message.name ?? '';
  }
  get category(): Value {
    return this.#message.category ?? '';
  }
  get properties(): Value {
    return this.#object('properties');
  }
  get traits(): Value {
    return this.#object('traits');
  }
  get context(): Value {
    return this.#object('context');
  }
  get integrations(): Value {
    return this.#object('integrations');
  }
  get timestamp(): Value {
    return timestampFromMs(Date.parse(this.#message.timestamp));
  }
  get receivedAt(): Value {
    return timestampFromMs(Date.parse(this.#message.receivedAt));
  }
  get message(): Value {
    return (this.#whole ??= toValue(this.#message as unknown as JsonObject, this.exact));
  }

  #object(name: 'properties' | 'traits' | 'context' | 'integrations'): Value {
    return (this.#objects[name] ??= toValue(this.#message[name] ?? {}, this.exact));
  }
}
