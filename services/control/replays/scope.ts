import { DEAD, MESSAGES } from '../../../shared/kafka/topics';
import { z } from 'zod';
import { type ConfigView } from '../../../shared/config/types';
import { MESSAGE_TYPES, type MessageType } from '../../../shared/model/message';
import { type FieldError, pointer, Problem } from '../http/problem';
import { invalidFields, parseBody } from '../http/fields';
import { type Status, STATUSES } from '../history/delivery-row';

/** Validates what a replay should send. Pure. */

export const ORIGINS = ['dead_letters', 'messages'] as const;
export type Origin = (typeof ORIGINS)[number];

const MAX_PER_SECOND = 10_000;
/** Slow enough that a replay after an outage does not cause the next one. */
const DEFAULT_PER_SECOND = 200;

const time = z.iso.datetime({ offset: true, error: 'must be a time such as 2026-01-31T12:00:00Z' });

export const replaySchema = z.strictObject({
  destination: z.string().min(1),
  from: time.optional().meta({ description: 'Accepted at this time or later. Omit for everything retained' }),
  to: time.optional().meta({ description: 'Accepted before this time. Default: now' }),
  status: z.enum(STATUSES).optional().meta({ description: 'Only deliveries with this status in the history' }),
  type: z.enum(MESSAGE_TYPES).optional(),
  origin: z.enum(ORIGINS).optional().meta({
    description: 'dead_letters, or messages: all accepted messages, also from before the destination existed',
  }),
  includeDelivered: z.boolean().default(false).meta({ description: 'Include deliveries that were delivered' }),
  preview: z.boolean().default(false).meta({ description: 'Count only; send nothing' }),
  maxPerSecond: z.number().min(0.1).max(MAX_PER_SECOND).default(DEFAULT_PER_SECOND),
});

/** Times are ms since 1970. */
export interface Scope {
  destination: string;
  origin: Origin;
  from: number | null;
  to: number;
  status: Status | null;
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
  const fields = parseBody(replaySchema, body);
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
