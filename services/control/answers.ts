import { z } from 'zod';
import { MESSAGE_TYPES } from '../../shared/domain/message';

/** The shapes of answers, for the OpenAPI document; a test holds real answers against them. */

const time = z.iso.datetime();
const changed = { version: z.int(), createdAt: time, updatedAt: time };

const source = z.strictObject({
  id: z.string(),
  name: z.string(),
  enabled: z.boolean(),
  writeKey: z.string().nullable(),
  oldWriteKeys: z.array(z.strictObject({ key: z.string(), until: time })),
  ...changed,
});

const destination = z.strictObject({
  id: z.string(),
  name: z.string(),
  type: z.literal('webhooks'),
  enabled: z.boolean(),
  paused: z.boolean(),
  sources: z.array(z.string()),
  webhooks: z.array(
    z.strictObject({
      id: z.string(),
      url: z.string().nullable(),
      headers: z.record(z.string(), z.strictObject({ keep: z.literal(true) })),
    }),
  ),
  hasSharedSecret: z.boolean(),
  secretRotation: z.strictObject({ overlapUntil: time, switchAt: time }).nullable(),
  types: z.array(z.enum(MESSAGE_TYPES)).nullable(),
  maxPerSecond: z.number().nullable(),
  shards: z.int(),
  ...changed,
});

const outcome = z.enum(['delivered', 'retry', 'rejected']);
const url = z.object({
  url: z.string().meta({ description: "The webhook's id" }),
  origin: z.string(),
  outcome,
  status: z.int().optional(),
  durationMs: z.number(),
  error: z.object({ code: z.string(), phase: z.string().optional(), message: z.string() }).optional(),
  response: z
    .object({ headers: z.record(z.string(), z.string()), body: z.string(), truncated: z.boolean() })
    .optional(),
});
const test = z.strictObject({
  delivery: z.string(),
  status: z.enum(['delivered', 'dead', 'cancelled']),
  reason: z.string().nullable(),
  attempt: z.strictObject({ n: z.int(), at: time, durationMs: z.number(), outcome, urls: z.array(url) }).nullable(),
});

const problem = z.looseObject({
  type: z.string(),
  title: z.string(),
  status: z.int(),
  detail: z.string(),
  instance: z.string(),
  errors: z
    .array(z.strictObject({ pointer: z.string().optional(), parameter: z.string().optional(), detail: z.string() }))
    .optional(),
});

const list = <T extends z.ZodType>(item: T) => z.strictObject({ data: z.array(item), next: z.string().nullable() });
const integration = z.strictObject({
  type: z.string(),
  name: z.string(),
  description: z.string(),
  settings: z.looseObject({}).meta({ description: 'JSON Schema' }),
});

/** By the name that the document gives them. */
export const ANSWERS = {
  Source: source,
  Sources: list(source),
  Destination: destination,
  Destinations: list(destination),
  RotatedDestination: destination.extend({
    sharedSecret: z.string().optional().meta({ description: 'Where it was made here: shown this once' }),
  }),
  Test: test,
  Catalog: list(integration),
  Problem: problem,
} as const;
export type AnswerName = keyof typeof ANSWERS;
