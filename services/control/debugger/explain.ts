import { type ConfigView } from '../../../shared/config/types';
import { ALERTS_ID } from '../../../shared/model/config';
import { parseMessage } from '../../../shared/model/message-codec';
import { type RouteOutcome, routeOutcomeOf } from '../../../shared/model/route';
import { filtersOf } from '../../../shared/cel/filter';
import { type DebugEvent, type Entry } from './buffer';

/**
 * Why an accepted event went to a destination, or went no further: by the router's own rules, on the configuration as it is
 * now. What was changed since the event came in is judged anew.
 */
interface Reached {
  destination: string;
  name: string;
  outcome: RouteOutcome['outcome'];
  /** of a filter that failed */
  reason?: string;
}

export type ShownEvent = DebugEvent & {
  /** of the destinations that are connected to its source; with accepted events */
  destinations?: Reached[];
};

type Config = Pick<ConfigView, 'source' | 'destinationsOf'>;

/** A list that can be read; more than these are seldom connected to one source. */
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
