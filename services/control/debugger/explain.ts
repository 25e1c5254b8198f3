import { type ConfigView } from '../../../shared/config/types';
import { ALERTS_ID } from '../../../shared/model/config';
import { parseMessage } from '../../../shared/model/message-codec';
import { type RouteOutcome, routeOutcomeOf } from '../../../shared/model/route';
import { filtersOf } from '../../../shared/cel/filter';
import { type DebugEvent, type Entry } from './buffer';

/**
 * Explains where an accepted event went, by the router's rules and the current configuration. So changes since the
 * event are part of the result.
 */
interface Reached {
  destination: string;
  name: string;
  outcome: RouteOutcome['outcome'];
  /** reason of a filter error */
  reason?: string;
}

export type ShownEvent = DebugEvent & {
  /** results for the destinations of its source; only for accepted events */
  destinations?: Reached[];
};

type Config = Pick<ConfigView, 'source' | 'destinationsOf'>;

/** Keeps the list readable. Few sources have more destinations. */
const MAX_SHOWN = 50;

export function showEvent(entry: Entry, config: Config): ShownEvent {
  const event = entry.view();
  return entry.accepted ? { ...event, destinations: reached(entry, config) } : event;
}

function reached({ source: id, value }: Entry, config: Config): Reached[] {
  const source = config.source(id)?.data;
  const message = parseMessage(value);
  if (!source || typeof message === 'string') return [];
  const ask = filtersOf(message);
  return config
    .destinationsOf(id)
    .filter(({ data }) => data.id !== ALERTS_ID)
    .slice(0, MAX_SHOWN)
    .map(({ data }) => ({ destination: data.id, name: data.name, ...routeOutcomeOf(message, source, data, ask) }));
}
