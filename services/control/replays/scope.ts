import { type DeliveryStatus } from '../../../shared/api/deliveries';
import { replayBody, type Origin } from '../../../shared/api/replays';
import { type ConfigView } from '../../../shared/config/types';
import { DEAD, MESSAGES } from '../../../shared/kafka/topics';
import { type MessageType } from '../../../shared/model/message';
import { type FieldError, pointer, Problem } from '../http/problem';
import { invalidFields, parseBody } from '../http/validate';

/** Validates what a replay should send. Pure. */

/** Times are ms since 1970. */
export interface Scope {
  destination: string;
  origin: Origin;
  from: number | null;
  to: number;
  status: DeliveryStatus | null;
  type: MessageType | null;
  includeDelivered: boolean;
}

export interface Wanted {
  scope: Scope;
  preview: boolean;
  maxPerSecond: number;
}

/** @throws Problem `invalid_fields`, or `conflict` if the destination is off and would cancel the deliveries */
export function readReplay(body: unknown, config: Pick<ConfigView, 'destination'>, now: Date): Wanted {
  const fields = parseBody(replayBody, body);
  const { destination, status, type, preview, maxPerSecond } = fields;
  const errors: FieldError[] = [];
  const wrong = (field: string, detail: string) => errors.push({ pointer: pointer([field]), detail });
  if (!config.destination(destination)) wrong('destination', 'unknown destination');
  const from = fields.from === undefined ? null : Date.parse(fields.from);
  // Messages accepted from now on are delivered anyway.
  const to = Math.min(fields.to === undefined ? Infinity : Date.parse(fields.to), now.getTime());
  if (from !== null && from >= to) wrong('to', 'must be later than `from`');
  if (status === 'waiting' || status === 'retrying') wrong('status', 'deliveries in progress cannot be replayed');
  // Only deliveries with status dead have dead letters.
  const origin = fields.origin ?? (status === undefined || status === 'dead' ? 'dead_letters' : 'messages');
  if (errors.length > 0) throw invalidFields(errors);
  requireOn(config, destination);
  const includeDelivered = fields.includeDelivered || status === 'delivered';
  const scope = { destination, origin, from, to, status: status ?? null, type: type ?? null, includeDelivered };
  return { scope, preview, maxPerSecond };
}

/** @throws Problem `conflict` */
export function requireOn(config: Pick<ConfigView, 'destination'>, id: string): void {
  if (config.destination(id)?.data.enabled) return;
  throw new Problem('conflict', 'The destination is off and would cancel its deliveries. Switch it on first');
}

/** Returns the topic that a replay of this scope reads. */
export function topicOf({ origin }: Scope): string {
  return origin === 'dead_letters' ? DEAD : MESSAGES;
}
