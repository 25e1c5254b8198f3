import { z } from 'zod';
import { MESSAGE_TYPES } from '../model/message';
import { DELIVERY_STATUSES } from '../model/reasons';
import { count, list, pageParameters, time, timeParameter } from './fields';
import { type OperationsOf } from './operation';

/** Deliveries and their attempts: requests, responses and operations. */

const text = z.string().min(1).max(500);
/** Records of older versions contain longer ids than ingest accepts now. A query with a longer one is refused. */
const MAX_USER_CHARACTERS = 8_000;

/** The scope of a replay uses the same words. */
const deliveryFilter = z.strictObject({
  destination: text.optional(),
  source: text.optional(),
  status: z.enum(DELIVERY_STATUSES).optional(),
  message: text.optional().meta({ description: "The message's id" }),
  user: z.string().min(1).max(MAX_USER_CHARACTERS).optional().meta({ description: "The user's id" }),
  type: z.enum(MESSAGE_TYPES).optional(),
  since: timeParameter.optional().meta({ description: 'Accepted at this time or later' }),
  until: timeParameter.optional().meta({ description: 'Accepted before this time' }),
});

const outcome = z.enum(['delivered', 'retry', 'rejected']);
const url = z.object({
  url: z.string().meta({ description: "The webhook's id" }),
  origin: z.string(),
  outcome,
  status: z.int().optional(),
  durationMs: z.number(),
  phases: z
    .partialRecord(z.enum(['dns', 'connect', 'tls', 'headers', 'body']), z.number())
    .optional()
    .meta({ description: 'ms by phase. Phases without time are omitted' }),
  destinationVersion: z.number().optional().meta({
    description: 'Reserved for the version of the destination whose webhook was called. No attempt has it yet',
  }),
  resent: z.literal(true).optional().meta({
    description: 'A kept connection broke before a response, and the request was sent again over a new one',
  }),
  batch: z
    .object({ id: z.string(), size: z.int(), index: z.int() })
    .optional()
    .meta({ description: 'The batch that it was sent in, and its place there' }),
  error: z.object({ code: z.string(), phase: z.string().optional(), message: z.string() }).optional(),
  response: z
    .object({ headers: z.record(z.string(), z.string()), body: z.string(), truncated: z.boolean() })
    .optional(),
});
/** An attempt of a test. */
export const testAttempt = z.strictObject({
  n: z.int(),
  at: time,
  durationMs: z.number(),
  outcome,
  urls: z.array(url),
});

const attempt = z.strictObject({
  n: z.int(),
  replay: z.int(),
  at: time,
  durationMs: z.number(),
  outcome,
  urls: z.array(
    url.extend({
      address: z.string().nullable().optional().meta({ description: 'The full current URL; null if unknown' }),
      request: z
        .strictObject({ rebuilt: z.literal(true), headers: z.record(z.string(), z.string()) })
        .optional()
        .meta({
          description:
            'Rebuilt from the current destination, not stored. Secrets and values specific to the attempt are ***',
        }),
    }),
  ),
});
const delivery = z.strictObject({
  id: z.string(),
  messageId: z.string(),
  source: z.string(),
  destination: z.string(),
  type: z.enum(MESSAGE_TYPES),
  userId: z.string().nullable(),
  status: z.enum(DELIVERY_STATUSES),
  reason: z.string().nullable().meta({ description: 'Why the delivery waits or ended' }),
  acceptedAt: time,
  expiresAt: time,
  nextAttemptAt: time.nullable(),
  settledAt: time.nullable().meta({ description: 'When it was delivered, dead-lettered or cancelled' }),
  replay: count.meta({ description: 'Number of replays' }),
  attemptsMade: count.meta({ description: 'Attempts since it was first sent or last replayed' }),
  test: z.boolean(),
  attempts: z.array(attempt),
});

export const DELIVERY_RESPONSES = {
  Deliveries: list(delivery),
  Delivery: delivery.extend({
    budget: z.strictObject({
      attemptsMade: count,
      nextAttemptAt: time.nullable(),
      expiresAt: time,
      waitsFor: z.string().nullable(),
    }),
    body: z.unknown().meta({ description: 'The JSON body of the POST; null if Kafka no longer has it' }),
  }),
  ReplayedDelivery: z.strictObject({ id: z.string(), replay: z.int(), status: z.literal('waiting') }),
};

export const DELIVERY_OPERATIONS = {
  'GET /deliveries': {
    summary: 'List deliveries, newest first',
    ok: [200, 'Deliveries'],
    query: deliveryFilter.extend(pageParameters.shape),
  },
  'GET /deliveries/{id}': {
    summary: 'Get a delivery with its body, attempts and remaining time',
    ok: [200, 'Delivery'],
  },
  'POST /deliveries/{id}/replay': {
    act: { kind: 'delivery', action: 'replayed' },
    summary: 'Replay a delivery',
    ok: [202, 'ReplayedDelivery'],
  },
} as const satisfies OperationsOf<'deliveries'>;
