import { isJsonObject } from '../../../shared/model/message';
import { ExactNumber } from '../../../shared/json/json';
import { type Event as SourceEvent } from '../../../shared/api/operations';

/** Suggests names and values from recent events. Pure. */

export interface SeenNames {
  /** names of track calls, most frequent first */
  events: string[];
  traits: string[];
  /** of one event */
  propertiesOf: (event: string) => string[];
  valuesOf: (trait: string) => string[];
}

/** People do not read longer lists. */
const MAX = 50;
const MAX_VALUE_LENGTH = 60;

/**
 * @param counted events with their frequency; a name may appear once for each source
 * @param calls recent calls, of any shape
 */
export function suggestionsOf(
  counted: readonly { name: string; count: number }[],
  calls: readonly Pick<SourceEvent, 'accepted' | 'call'>[],
): SeenNames {
  const events = new Map<string, number>();
  const add = (name: string, n: number) => events.set(name, (events.get(name) ?? 0) + n);
  for (const { name, count } of counted) add(name, count);
  const traits = new Map<string, Set<string>>();
  const properties = new Map<string, Set<string>>();
  for (const { accepted, call } of calls) {
    const fields = objectOf(call);
    if (!accepted) continue;
    if (fields.type === 'identify') {
      for (const [name, value] of Object.entries(objectOf(fields.traits))) {
        const values = traits.get(name) ?? new Set();
        traits.set(name, values);
        const text = simple(value);
        if (text !== undefined) values.add(text);
      }
    }
    if (fields.type !== 'track' || typeof fields.event !== 'string') continue;
    if (!events.has(fields.event)) add(fields.event, 0);
    const names = properties.get(fields.event) ?? new Set();
    properties.set(fields.event, names);
    for (const name of namesIn(objectOf(fields.properties))) names.add(name);
  }
  const byCount = [...events]
    .sort(([a, n], [b, m]) => m - n || (a < b ? -1 : 1))
    .map(([name]) => name);
  return {
    events: byCount.slice(0, MAX),
    traits: sorted(traits.keys()),
    propertiesOf: (event) => sorted(properties.get(event) ?? []),
    valuesOf: (trait) => sorted(traits.get(trait) ?? []),
  };
}

/** Lists properties, including nested ones: `a.b`. */
function namesIn(properties: Record<string, unknown>): string[] {
  return Object.entries(properties).flatMap(([name, value]) => {
    const inner = Object.keys(objectOf(value)).map((key) => `${name}.${key}`);
    return inner.length > 0 ? inner : [name];
  });
}

function simple(value: unknown): string | undefined {
  if (typeof value === 'number' || typeof value === 'boolean' || value instanceof ExactNumber) {
    return String(value);
  }
  return typeof value === 'string' && value.length <= MAX_VALUE_LENGTH ? value : undefined;
}

function objectOf(value: unknown): Record<string, unknown> {
  return isJsonObject(value) ? value : {};
}

function sorted(names: Iterable<string>): string[] {
  return [...names].sort().slice(0, MAX);
}
