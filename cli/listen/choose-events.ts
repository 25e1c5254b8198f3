import { stringifyJson } from '../../shared/json/json';
import { type Destination, type Event } from '../../shared/api/operations';
import { renderBody } from '../../shared/model/webhook-body';
import { deliveryId } from '../../shared/model/delivery';
import { parseMessage } from '../../shared/model/message-codec';
import { wantsWebhooks } from '../../shared/model/route';

/**
 * Decides which events a listener forwards, and renders each request, with the rules and the bytes
 * of the router. A disabled destination counts too: its owner wants to see the events.
 */

/** A request to forward, without its timestamp and signature. */
export interface Forward {
  /** `webhook-id`: the same as in production */
  id: string;
  body: Buffer;
  event: Event;
}

export type Choice = { kind: 'forward'; forward: Forward } | { kind: 'left_out'; why: LeftOut };
export type LeftOut =
  'rejected' | 'blocked' | 'filter' | 'integrations' | 'type' | 'duplicate' | 'unreadable';

export interface ListenRules {
  /** its rules apply; undefined: the listener follows a source alone */
  destination: Pick<Destination, 'id' | 'types'> | undefined;
  /** returns whether this message of this source is new */
  isNew: (source: string, messageId: string) => boolean;
}

/** Stands in for a destination when there is none. */
const NOBODY = 'listen';

export function choose(event: Event, { destination, isNew }: ListenRules): Choice {
  if (!event.accepted) return leftOut('rejected');
  const message = parseMessage(Buffer.from(stringifyJson(event.call)));
  if (typeof message === 'string') return leftOut('unreadable');
  if (!isNew(event.source, message.messageId)) return leftOut('duplicate');
  if (destination && !wantsWebhooks(message)) return leftOut('integrations');
  if (destination?.types && !destination.types.includes(message.type)) return leftOut('type');
  const kept = destination && keptBack(event, destination.id);
  if (kept) return leftOut(kept);
  const id = deliveryId(event.source, message.messageId, destination?.id ?? NOBODY);
  return { kind: 'forward', forward: { id, body: Buffer.from(renderBody(message)), event } };
}

/**
 * Returns the router's reason against it, from the event. The router does not evaluate the filter
 * of a disabled destination.
 */
function keptBack({ destinations }: Event, id: string): LeftOut | undefined {
  const outcome = destinations?.find(({ destination }) => destination === id)?.outcome;
  if (outcome === 'blocked') return 'blocked';
  return outcome === 'filtered' || outcome === 'filter_failed' ? 'filter' : undefined;
}

function leftOut(why: LeftOut): Choice {
  return { kind: 'left_out', why };
}
