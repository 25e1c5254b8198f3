import { z } from 'zod';
import { TRUSTS } from '../../../shared/model/config';
import { MESSAGE_TYPES } from '../../../shared/model/message';
import { OUTCOMES } from '../../../shared/model/route';
import { audit, session, token } from '../auth/responses';
import { notice } from '../alerts/responses';
import { sourceEvents, trial } from '../debugger/responses';
import { calls, overview } from '../overview/responses';
import { audience, computedTrait, member, preview, sizes, sync, uploadedMembers } from '../audiences/responses';
import { ORIGINS } from '../replays/scope';
import { STATUSES } from '../history/delivery-row';

/** Response schemas for the OpenAPI document. A test checks real responses against them. */

const time = z.iso.datetime();
const changed = { version: z.int(), createdAt: time, updatedAt: time };

const source = z.strictObject({
  id: z.string(),
  name: z.string(),
  enabled: z.boolean(),
  writeKey: z.string().nullable(),
  blockedEvents: z.array(z.string()).meta({ description: 'Names of blocked track events' }),
  limits: z
    .strictObject({
      maxPerSecond: z.number().nullable(),
      maxBytesPerSecond: z.int().nullable(),
      burst: z.string().nullable(),
    })
    .nullable()
    .meta({ description: 'null means default, for the object and for each field' }),
  trust: z.enum(TRUSTS),
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
  filter: z.string().nullable(),
  maxPerSecond: z.number().nullable(),
  shards: z.int(),
  switchOffAfter: z.string().nullable(),
  ...changed,
});

const rotated = {
  sharedSecret: z.string().optional().meta({ description: 'The generated secret, only in this response' }),
};

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

const count = z.int().min(0);
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
  status: z.enum(STATUSES),
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
const deliveryDetail = delivery.extend({
  budget: z.strictObject({
    attemptsMade: count,
    nextAttemptAt: time.nullable(),
    expiresAt: time,
    waitsFor: z.string().nullable(),
  }),
  body: z.unknown().meta({ description: 'The JSON body of the POST; null if Kafka no longer has it' }),
});

const reached = z.strictObject({
  destination: z.string(),
  name: z.string(),
  outcome: z.enum(OUTCOMES),
  reason: z.string().optional().meta({ description: 'Why the filter failed' }),
});
const event = z.strictObject({
  id: z.string(),
  at: time,
  source: z.string(),
  accepted: z.boolean(),
  call: z.unknown().meta({ description: 'The message as accepted, or the call as it was rejected' }),
  code: z.string().optional().meta({ description: 'Machine-readable rejection code' }),
  message: z.string().optional().meta({ description: 'Human-readable rejection message' }),
  destinations: z
    .array(reached)
    .optional()
    .meta({ description: 'Destinations of an accepted event, or why it skips them, by the current configuration' }),
});

const deletion = z.strictObject({
  id: z.string(),
  at: time,
  users: count,
  visitors: count.meta({ description: 'Number of deleted `anonymousIds`' }),
  userIds: z.array(z.string()).meta({ description: 'The first 20 in list responses' }),
  anonymousIds: z.array(z.string()).meta({ description: 'The first 20 in list responses' }),
  sources: z.array(z.string()).nullable().meta({ description: 'null: all sources' }),
  affected: z.array(z.string()).meta({ description: 'The sources with a `delete` message' }),
  messages: count,
});

const replay = z.strictObject({
  id: z.string(),
  status: z.enum(['counting', 'running', 'done', 'cancelled', 'failed']),
  matched: count,
  sent: count,
  from: time.nullable(),
  to: time,
  destination: z.string(),
  origin: z.enum(ORIGINS),
  deliveryStatus: z.enum(STATUSES).nullable(),
  type: z.enum(MESSAGE_TYPES).nullable(),
  includeDelivered: z.boolean(),
  preview: z.boolean(),
  maxPerSecond: z.number(),
  pass: z.enum(['counting', 'running']),
  progress: z.number().meta({ description: 'Progress of the current pass, 0 to 1' }),
  error: z.string().nullable(),
  waitingFor: z
    .enum(['history'])
    .nullable()
    .meta({ description: 'history: the replay starts when the history has read all events up to the request' }),
  createdAt: time,
  updatedAt: time,
});

const alerts = destination
  .pick({ enabled: true, webhooks: true, hasSharedSecret: true, secretRotation: true, switchOffAfter: true })
  .extend({ failingFor: z.string(), deadLettersEvery: z.string(), ...changed, version: count });
const about = z.strictObject({
  ingest: z.strictObject({
    url: z.string().nullable().meta({ description: 'Public URL of ingest (WAYPOST_INGEST_URL), if set' }),
    port: z.int().meta({ description: 'The port of ingest' }),
  }),
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

/** By the names in the OpenAPI document. */
export const ANSWERS = {
  Source: source,
  Sources: list(source),
  SourceEvents: sourceEvents,
  Destination: destination,
  Destinations: list(destination),
  Audience: audience,
  Audiences: list(audience),
  UploadedMembers: uploadedMembers,
  Members: list(member),
  Preview: preview,
  Syncs: list(sync),
  Sizes: sizes,
  ComputedTrait: computedTrait,
  ComputedTraits: list(computedTrait),
  RotatedDestination: destination.extend(rotated),
  Test: test,
  Deliveries: list(delivery),
  Delivery: deliveryDetail,
  Events: list(event),
  Event: event,
  Trial: trial,
  Deletion: deletion,
  Deletions: list(deletion),
  ReplayedDelivery: z.strictObject({ id: z.string(), replay: z.int(), status: z.literal('waiting') }),
  Replay: replay,
  Replays: list(replay),
  Alerts: alerts,
  RotatedAlerts: alerts.extend(rotated),
  Notice: notice,
  Notices: list(notice),
  Token: token,
  Tokens: list(token),
  NewToken: token.extend({ token: z.string().meta({ description: 'The token, only in this response' }) }),
  Session: session,
  Audit: list(audit),
  Overview: overview,
  Calls: calls,
  About: about,
  Catalog: list(integration),
  OpenApi: z.looseObject({ openapi: z.string() }),
  Problem: problem,
} as const;
export type AnswerName = keyof typeof ANSWERS;
