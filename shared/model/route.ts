import { type Destination, type Source } from './config';
import { isJsonObject, type Json, type JsonObject, type Message } from './message';

/**
 * Decides which destinations get a message.
 *
 * Clients choose by `integrations`, at the top level or in `context`. For each key the top level
 * wins, `all` is read as `All` (Go clients write it this way), and other names count exactly as
 * written. Then, for webhooks:
 *
 * | `Webhooks`       | `All`   | delivered |
 * | ---------------- | ------- | --------- |
 * | false            | any     | no        |
 * | true, an object  | any     | yes       |
 * | absent           | false   | no        |
 * | absent           | else    | yes       |
 *
 * A choice is a boolean or an object (the options of a destination). Any other value (null, text, a
 * number, a list), and an `integrations` that is not an object, counts as absent: a client's
 * mistake should not silently stop a customer's events.
 */
const NAME = 'Webhooks';

/**
 * Evaluates a destination's filter for the message. A text is the reason why it failed, which
 * counts as no match.
 */
export type FilterMatcher = (destination: Destination) => boolean | string;

/**
 * Why a message goes to a destination (`routed`), or is dropped. `blocked`: the source blocks this
 * event. `filter_failed` carries the reason, and counts as no match. `created_later`: there was no
 * such destination yet.
 */
export type RouteOutcome =
  | { outcome: Exclude<(typeof OUTCOMES)[number], 'filter_failed'> }
  | { outcome: 'filter_failed'; reason: string };
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
  'created_later',
] as const;

/** The fields of a message that decide where it goes, beside those that filters ask for. */
export type RoutedFields = Pick<Message, 'type' | 'event' | 'integrations' | 'context'>;

/** The destinations of a message, and the results of the filters of others. */
export interface Routed {
  destinations: Destination[];
  /** the source blocks this event, and no destination gets it */
  blocked: boolean;
  /** number of filters that did not match, failures included */
  filtered: number;
  /** destinations whose filter failed, with the reason */
  failed: readonly { destination: Destination; reason: string }[];
}

/**
 * Returns the destinations that get the message. Each is on, is connected to the source, accepts
 * the type, has a matching filter or none, and is not excluded by the caller. The source must be on
 * and must not block the event. A paused destination is included: its deliveries wait.
 * @param destinations any; unconnected ones are left out
 * @param ask called only for destinations with a filter
 */
export function route(
  message: RoutedFields,
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

/** Applies the same rules to one destination, and returns the reason. */
export function routeOutcomeOf(
  message: RoutedFields,
  source: Source,
  destination: Destination,
  ask: FilterMatcher,
): RouteOutcome {
  return sourceVerdict(message, source) ?? destinationVerdict(message, source, destination, ask);
}

/**
 * Explains by the rules of today what became of a message of the past. A router that had fallen
 * behind may have known a destination that was created later: a delivery that exists says so.
 */
export function outcomeInThePast(
  message: RoutedFields & Pick<Message, 'receivedAt'>,
  source: Source,
  destination: Destination,
  ask: FilterMatcher,
): RouteOutcome {
  const today = routeOutcomeOf(message, source, destination, ask);
  const isLater = Date.parse(destination.createdAt) > Date.parse(message.receivedAt);
  return today === ROUTED && isLater ? { outcome: 'created_later' } : today;
}

/** Returns whether the source blocks it: only track calls, by the event's name. */
export function isBlocked(
  { type, event }: Pick<Message, 'type' | 'event'>,
  { blockedEvents }: Source,
): boolean {
  return (
    blockedEvents !== undefined &&
    type === 'track' &&
    event !== undefined &&
    blockedEvents.includes(event)
  );
}

// Shared objects, so that common results allocate nothing.
const ROUTED: RouteOutcome = { outcome: 'routed' };
const FILTERED: RouteOutcome = { outcome: 'filtered' };
const NONE: Routed['failed'] = [];

/** @returns why no destination gets it, if that does not depend on the destination */
function sourceVerdict(message: RoutedFields, source: Source): RouteOutcome | undefined {
  if (!source.enabled) return { outcome: 'source_off' };
  if (isBlocked(message, source)) return { outcome: 'blocked' };
  return wantsWebhooks(message) ? undefined : { outcome: 'excluded' };
}

function destinationVerdict(
  message: RoutedFields,
  source: Source,
  destination: Destination,
  ask: FilterMatcher,
): RouteOutcome {
  if (!destination.enabled) return { outcome: 'off' };
  if (!destination.sources.includes(source.id)) return { outcome: 'not_connected' };
  if (destination.types !== undefined && !destination.types.includes(message.type)) {
    return { outcome: 'type' };
  }
  // A deletion asks receivers to forget a user. A filter on events must not hold it back.
  if (destination.filter === undefined || message.type === 'delete') return ROUTED;
  const says = ask(destination);
  if (typeof says === 'string') return { outcome: 'filter_failed', reason: says };
  return says ? ROUTED : FILTERED;
}

/** Returns the caller's choice for integration `Webhooks` (table above); true without a choice. */
export function wantsWebhooks(message: Pick<Message, 'integrations' | 'context'>): boolean {
  const top = asObject(message.integrations);
  const inner = asObject(message.context?.integrations);
  if (top === undefined && inner === undefined) return true;
  return choice(top, NAME) ?? choice(inner, NAME) ?? allChoice(top) ?? allChoice(inner) ?? true;
}

/** With `All` and `all` at one level, `All` wins. */
function allChoice(integrations: JsonObject | undefined): boolean | undefined {
  return choice(integrations, 'All') ?? choice(integrations, 'all');
}

function choice(integrations: JsonObject | undefined, name: string): boolean | undefined {
  // Own keys only: a prototype must never decide.
  if (integrations === undefined || !Object.hasOwn(integrations, name)) return undefined;
  const value = integrations[name];
  if (typeof value === 'boolean') return value;
  return asObject(value) === undefined ? undefined : true;
}

function asObject(value: Json | undefined): JsonObject | undefined {
  return isJsonObject(value) ? value : undefined;
}
