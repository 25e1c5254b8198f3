import { type Destination, type Source } from './config';
import { type Json, type JsonObject, type Message } from './message';

/**
 * Which destinations a message goes to.
 *
 * A caller steers by `integrations`, at the top level or in `context`. Per key the top level wins, `all` is read as
 * `All` (Go clients write it so) and other names count exactly as written. Then, for webhooks:
 *
 * | `Webhooks`       | `All`   | delivered |
 * | ---------------- | ------- | --------- |
 * | false            | any     | no        |
 * | true, an object  | any     | yes       |
 * | absent           | false   | no        |
 * | absent           | else    | yes       |
 *
 * A choice is a boolean or an object (the options of a destination). Whatever else stands there (null, text, a number,
 * a list), and an `integrations` that is no object, is no choice and counts as absent: a slip of the pen should not
 * silently stop a customer's events.
 */
const NAME = 'Webhooks';

/**
 * The destinations that get the message: on, connected to the source, the source being on, wanting this type, and not
 * excluded by the caller. A paused destination is among them: what it gets waits.
 * @param destinations any; those that are not connected are left out
 */
export function route(message: Message, source: Source, destinations: readonly Destination[]): Destination[] {
  if (!source.enabled || !wantsWebhooks(message)) return [];
  return destinations.filter(
    (destination) =>
      destination.enabled &&
      destination.sources.includes(source.id) &&
      (destination.types === undefined || destination.types.includes(message.type)),
  );
}

/** What the caller chose for integration `Webhooks` (table above); true where nothing was chosen. */
export function wantsWebhooks(message: Pick<Message, 'integrations' | 'context'>): boolean {
  const top = asObject(message.integrations);
  const inner = asObject(message.context?.integrations);
  if (top === undefined && inner === undefined) return true;
  return choice(top, NAME) ?? choice(inner, NAME) ?? allChoice(top) ?? allChoice(inner) ?? true;
}

/** `All` and `all` at one level: the proper spelling wins. */
function allChoice(integrations: JsonObject | undefined): boolean | undefined {
  return choice(integrations, 'All') ?? choice(integrations, 'all');
}

function choice(integrations: JsonObject | undefined, name: string): boolean | undefined {
  // Own keys only: an object of a client has no other, and a prototype must never decide.
  if (integrations === undefined || !Object.hasOwn(integrations, name)) return undefined;
  const value = integrations[name];
  if (typeof value === 'boolean') return value;
  return asObject(value) === undefined ? undefined : true;
}

function asObject(value: Json | undefined): JsonObject | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined;
}
