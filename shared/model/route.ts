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

/** What a destination's filter says of the message at hand; text: why it could not be evaluated, which is no match. */
export type FilterMatcher = (destination: Destination) => boolean | string;

/**
 * Why a message goes to a destination (`routed`), or goes no further. `blocked`: the source blocks this event.
 * `filter_failed` carries the reason; it counts as not matching.
 */
export type RouteOutcome =
  { outcome: Exclude<(typeof OUTCOMES)[number], 'filter_failed'> } | { outcome: 'filter_failed'; reason: string };
export const OUTCOMES = [
  'routed',
  'source_off',
  'blocked',
  'excluded',
  'off',
  'not_connected',
  'type',
  'filtered',
  'filter_failed',
] as const;

/** Where a message goes: those that get it, and what the filters of others said. */
export interface Routed {
  destinations: Destination[];
  /** whether the source blocks this event: then it goes nowhere */
  blocked: boolean;
  /** how many filters did not match, failures among them */
  filtered: number;
  /** those whose filter failed, with the reason */
  failed: readonly { destination: Destination; reason: string }[];
}

/**
 * The destinations that get the message: on, connected to the source, the source being on and not blocking the event, wanting
 * this type, matched by their filter, and not excluded by the caller. A paused destination is among them: what it gets waits.
 * @param destinations any; those that are not connected are left out
 * @param ask of those that have a filter, and of no others
 */
export function route(
  message: Message,
  source: Source,
  destinations: readonly Destination[],
  ask: FilterMatcher,
): Routed {
  const routed: Routed = { destinations: [], blocked: false, filtered: 0, failed: NONE };
  const atSource = sourceVerdict(message, source);
  if (atSource) return atSource.outcome === 'blocked' ? { ...routed, blocked: true } : routed;
  for (const destination of destinations) {
    const verdict = destinationVerdict(message, source, destination, ask);
    if (verdict === ROUTED) routed.destinations.push(destination);
    else if (verdict === FILTERED) routed.filtered++;
    else if (verdict.outcome === 'filter_failed') {
      routed.filtered++;
      routed.failed = [...routed.failed, { destination, reason: verdict.reason }];
    }
  }
  return routed;
}

/** The same rules for one destination, with the reason: for whoever asks why. */
export function routeOutcomeOf(
  message: Message,
  source: Source,
  destination: Destination,
  ask: FilterMatcher,
): RouteOutcome {
  return sourceVerdict(message, source) ?? destinationVerdict(message, source, destination, ask);
}

/** Whether the source blocks it: track calls alone, by the event's name. */
export function isBlocked({ type, event }: Pick<Message, 'type' | 'event'>, { blockedEvents }: Source): boolean {
  return blockedEvents !== undefined && type === 'track' && event !== undefined && blockedEvents.includes(event);
}

// One object each: what every message meets makes no garbage.
const ROUTED: RouteOutcome = { outcome: 'routed' };
const FILTERED: RouteOutcome = { outcome: 'filtered' };
const NONE: Routed['failed'] = [];

/** @returns why it goes nowhere at all, whatever the destination */
function sourceVerdict(message: Message, source: Source): RouteOutcome | undefined {
  if (!source.enabled) return { outcome: 'source_off' };
  if (isBlocked(message, source)) return { outcome: 'blocked' };
  return wantsWebhooks(message) ? undefined : { outcome: 'excluded' };
}

function destinationVerdict(
  message: Message,
  source: Source,
  destination: Destination,
  ask: FilterMatcher,
): RouteOutcome {
  if (!destination.enabled) return { outcome: 'off' };
  if (!destination.sources.includes(source.id)) return { outcome: 'not_connected' };
  if (destination.types !== undefined && !destination.types.includes(message.type)) return { outcome: 'type' };
  // A deletion tells receivers to forget a user: a filter on what users do must not keep it from them.
  if (destination.filter === undefined || message.type === 'delete') return ROUTED;
  const says = ask(destination);
  if (typeof says === 'string') return { outcome: 'filter_failed', reason: says };
  return says ? ROUTED : FILTERED;
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
