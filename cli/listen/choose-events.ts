import { type Destination, type Event } from '../../shared/api/operations';
import { renderBody } from '../../shared/model/webhook-body';
import { deliveryId } from '../../shared/model/delivery';
import { parseMessage } from '../../shared/model/message-codec';
import { wantsWebhooks } from '../../shared/model/route';

/**
 * Which events a listener forwards, and as which request: by the rules and with the bytes of the router. Whether the
 * destination is on does not matter here: who listens wants to see.
 */

/** A request to be made, but for what is of the moment it is sent. */
export interface Forward {
  /** `webhook-id`: the one that production has for it */
  id: string;
  body: Buffer;
  event: Event;
}

export type Choice = { kind: 'forward'; forward: Forward } | { kind: 'left_out'; why: LeftOut };
export type LeftOut = 'rejected' | 'blocked' | 'filter' | 'integrations' | 'type' | 'duplicate' | 'unreadable';

export interface Wanted {
  /** whose rules hold; undefined: a source alone is listened to */
  destination: Pick<Destination, 'id' | 'types'> | undefined;
  /** whether this message of this source is seen for the first time */
  isNew: (source: string, messageId: string) => boolean;
}

/** Stands in the place of a destination where there is none. */
const NOBODY = 'listen';

export function choose(event: Event, { destination, isNew }: Wanted): Choice {
  if (!event.accepted) return leftOut('rejected');
  const message = parseMessage(Buffer.from(JSON.stringify(event.call)));
  if (typeof message === 'string') return leftOut('unreadable');
  if (!isNew(event.source, message.messageId)) return leftOut('duplicate');
  if (destination && !wantsWebhooks(message)) return leftOut('integrations');
  if (destination?.types && !destination.types.includes(message.type)) return leftOut('type');
  const kept = destination && keptBack(event, destination.id);
  if (kept) return leftOut(kept);
  const id = deliveryId(event.source, message.messageId, destination?.id ?? NOBODY);
  return { kind: 'forward', forward: { id, body: Buffer.from(renderBody(message)), event } };
}

/** What the router says of it, as the event tells. A destination that is off is not asked for its filter. */
function keptBack({ destinations }: Event, id: string): LeftOut | undefined {
  const outcome = destinations?.find(({ destination }) => destination === id)?.outcome;
  if (outcome === 'blocked') return 'blocked';
  return outcome === 'filtered' || outcome === 'filter_failed' ? 'filter' : undefined;
}

function leftOut(why: LeftOut): Choice {
  return { kind: 'left_out', why };
}
