import { celList, celMap, type CelInput } from '@bufbuild/cel';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { type Json, type JsonObject, type Message } from '../model/message';

/**
 * Presents JSON to expressions. Only the parts that an expression reads are converted; nothing is
 * copied as a whole.
 *
 * The library's own conversion copies each object into a Map and refuses a key `constructor`, which
 * a client may send. Numbers are doubles, which compare with int literals.
 */
export type Value = CelInput;

/** @param json undefined: null */
export function toValue(json: Json | undefined): Value {
  if (typeof json !== 'object' || json === null) return json ?? null;
  return Array.isArray(json) ? celList(json.map(toValue)) : celMap(new ObjectMap(json));
}

/**
 * An object by its own keys. Converted values are cached, since a loop reads the same list at every
 * step.
 */
class ObjectMap implements ReadonlyMap<string, Value> {
  readonly #read = new Map<string, Value>();

  constructor(private readonly object: JsonObject) {}

  get size(): number {
    return Object.keys(this.object).length;
  }

  get(key: string): Value | undefined {
    // JSON has only text keys.
    if (typeof key !== 'string' || !Object.hasOwn(this.object, key)) return undefined;
    const json = this.object[key];
    if (typeof json !== 'object' || json === null) return json ?? null;
    let value = this.#read.get(key);
    if (value === undefined) this.#read.set(key, (value = toValue(json)));
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

/** Presents a user to a condition: `user.traits`, and `user.id` if it is given. */
export function userVariables(user: { id?: string; traits: JsonObject }): Variables {
  return { user: toValue({ ...user }) };
}

/** Uses getters, since most filters read two or three names of a message. */
class MessageVariables {
  readonly #message: Message;
  #whole: Value | undefined;
  readonly #objects: Partial<Record<'properties' | 'traits' | 'context' | 'integrations', Value>> =
    {};

  constructor(message: Message) {
    this.#message = message;
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
    return (this.#whole ??= toValue(this.#message as unknown as JsonObject));
  }

  #object(name: 'properties' | 'traits' | 'context' | 'integrations'): Value {
    return (this.#objects[name] ??= toValue(this.#message[name] ?? {}));
  }
}
