import { z } from 'zod';
import { type DestinationField } from '../model/destination-fields';
import { CALL_TYPES, type Json } from '../model/message';
import { proxyBody, retryBody, retryResponse } from './delivery-options';
import { batchBody, batchView } from './batch';
import { testAttempt } from './deliveries';
import { signature, signatureView } from './endpoint-auth';
import {
  changed,
  count,
  idList,
  list,
  name,
  namePart,
  pageParameters,
  patchOf,
  sortBy,
  time,
  timeParameter,
} from './fields';
import { type OperationsOf } from './operation';
import { destinationState, lastError, successRate, totals } from './overview';
import { plainBody, plainView } from './plain-fields';
import { previewBody, renderedRequest, requestBody, requestView } from './request';
import {
  MAX_WEBHOOKS,
  rotated,
  rotateSecretBody,
  sharedSecret,
  webhookBody,
  webhookFields,
} from './webhooks';

/** Destinations: requests, responses and operations. */

const MAX_SOURCES = 1_000;

export const destinationBody = z.strictObject({
  name,
  type: z.literal('webhooks'),
  sources: z
    .array(z.string())
    .max(MAX_SOURCES)
    .meta({ description: 'Ids of the connected sources' }),
  webhooks: z.array(webhookBody).min(1).max(MAX_WEBHOOKS),
  sharedSecret: sharedSecret.optional(),
  signature: signature.optional(),
  request: requestBody.nullish(),
  batch: batchBody.optional(),
  retry: retryBody.optional(),
  proxy: proxyBody.optional(),
  ...plainBody,
} satisfies Record<DestinationField, z.ZodType>);

const text = z.string().min(1).max(200);
/** Any JSON object: the body was parsed from JSON. */
const object = z.record(z.string(), z.custom<Json>());

export const testBody = z.strictObject({
  type: z.enum(CALL_TYPES).default('track'),
  userId: text.default('test-user'),
  event: text.optional(),
  name: text.optional(),
  groupId: text.optional(),
  previousId: text.optional(),
  properties: object.optional(),
  traits: object.optional(),
});

const destination = z.strictObject({
  id: z.string(),
  name: z.string(),
  type: z.literal('webhooks'),
  sources: z.array(z.string()),
  ...webhookFields,
  signature: signatureView.nullable(),
  request: requestView,
  batch: batchView.nullable(),
  retry: retryResponse.nullable(),
  proxy: z.string().nullable(),
  ...plainView,
  ...changed,
} satisfies Record<Exclude<DestinationField, 'sharedSecret'>, z.ZodType> &
  Record<string, z.ZodType>);

const test = z.strictObject({
  delivery: z.string(),
  status: z.enum(['delivered', 'dead', 'cancelled']),
  reason: z.string().nullable(),
  attempt: testAttempt.nullable(),
});

const publicKeys = z.strictObject({
  data: z.array(
    z.strictObject({
      key: z.string().meta({ description: '`whpk_` and the Ed25519 public key as base64' }),
      createdAt: time,
      until: time.nullable().meta({ description: 'When the key stops signing; null: not planned' }),
    }),
  ),
});

const health = z.strictObject({
  state: destinationState.meta({
    description: 'From the attempts of the last 15 minutes, or since then if there are none',
  }),
  stateSince: time.meta({
    description: 'Of degraded, and of failing if no more is known: the minute of the first failure',
  }),
  since: time,
  stepSeconds: z.int(),
  successRate,
  perSecond: z.number().meta({ description: 'Deliveries that were delivered, on average' }),
  latencyMs: z.strictObject({
    p50: z.number().nullable(),
    p95: z.number().nullable(),
    p99: z.number().nullable(),
  }),
  lastError,
  waiting: count.meta({ description: 'Deliveries that are waiting, retrying or held' }),
  oldestWaitingAt: time.nullable().meta({ description: 'When the oldest of these was accepted' }),
  series: z.array(z.strictObject({ at: time, ...totals })),
});

const integration = z.strictObject({
  type: z.string(),
  name: z.string(),
  description: z.string(),
  settings: z.looseObject({}).meta({ description: 'JSON Schema' }),
});

export const retryAllBody = z.strictObject({
  maxPerSecond: z.number().min(0.1).max(10_000).optional().meta({
    description: 'Default: a slow start, and then as fast as the endpoint responds',
  }),
});

export const webhookChoice = z.strictObject({
  webhook: z.string().min(1).max(200).meta({ description: 'Id of the webhook' }),
});

const enabledWebhook = z.strictObject({
  lostSince: time.nullable().meta({
    description:
      'When the first delivery was accepted that ended because the URL was off, or when ' +
      'the URL was switched off if there is none: `from` of a replay. null: the URL was on',
  }),
  count: count.nullable().meta({
    description:
      'Deliveries that ended with the reason url_disabled since then. null: the history is away',
  }),
});

export const DESTINATION_RESPONSES = {
  Destination: destination,
  Destinations: list(destination),
  CreatedDestination: destination.extend(rotated),
  RotatedDestination: destination.extend(rotated),
  PublicKeys: publicKeys,
  Test: test,
  EnabledWebhook: enabledWebhook,
  DestinationHealth: health,
  RenderedRequest: renderedRequest,
  Catalog: list(integration),
};

export const DESTINATION_OPERATIONS = {
  'GET /catalog': { summary: 'List the available integrations', ok: [200, 'Catalog'] },
  'GET /destinations': {
    summary: 'List destinations',
    ok: [200, 'Destinations'],
    query: pageParameters.extend({
      q: namePart,
      ids: idList,
      state: destinationState.optional().meta({ description: 'Now, as in the overview' }),
      source: text.optional().meta({ description: 'Connected to this source' }),
      sort: sortBy(['name', 'state', 'waiting', 'dead', 'lastDelivery']).meta({
        description:
          'By this, and then by id; with "-" descending. dead: of 24 hours. Default: by creation',
      }),
    }),
  },
  'POST /destinations': {
    summary: 'Create a destination',
    ok: [201, 'CreatedDestination'],
    location: '/destinations/{id}',
    body: destinationBody,
  },
  'GET /destinations/{id}': { summary: 'Get a destination', ok: [200, 'Destination'] },
  'PATCH /destinations/{id}': {
    summary: 'Update a destination',
    ok: [200, 'Destination'],
    body: patchOf(destinationBody),
    conditional: true,
  },
  'DELETE /destinations/{id}': {
    summary: 'Delete a destination and cancel its waiting deliveries',
    ok: [204],
    conditional: true,
  },
  'POST /destinations/{id}/rotate-secret': {
    summary: 'Rotate the shared secret or the Ed25519 key of a destination',
    ok: [200, 'RotatedDestination'],
    body: rotateSecretBody,
    conditional: true,
  },
  'GET /destinations/{id}/public-keys': {
    summary: 'List the public keys that verify the Ed25519 signatures of a destination',
    ok: [200, 'PublicKeys'],
  },
  'POST /destinations/{id}/test': {
    act: { kind: 'destination', action: 'tested' },
    summary: 'Send a test to a destination and wait for its attempt',
    ok: [200, 'Test'],
    body: testBody,
  },
  'GET /destinations/{id}/health': {
    summary: 'Get the health of a destination: its state, success rate, latency and what waits',
    ok: [200, 'DestinationHealth'],
    query: z.strictObject({
      since: timeParameter.optional().meta({ description: 'Default: 24 hours ago' }),
      until: timeParameter.optional().meta({ description: 'End of the counts. Default: now' }),
    }),
  },
  'POST /destinations/{id}/enable-webhook': {
    summary: 'Switch a URL of a destination on again, and count what died meanwhile',
    ok: [200, 'EnabledWebhook'],
    body: webhookChoice,
    conditional: true,
  },
  'POST /destinations/{id}/disable-webhook': {
    summary: 'Switch a URL of a destination off; its other URLs go on',
    ok: [200, 'Destination'],
    body: webhookChoice,
    conditional: true,
  },
  'POST /destinations/preview': {
    summary: 'Render the request of a destination for an event or a message, and send nothing',
    ok: [200, 'RenderedRequest'],
    body: previewBody,
  },
  'POST /destinations/{id}/retry': {
    act: { kind: 'destination', action: 'retried' },
    summary: 'Send all deliveries that wait at a destination now, as a job',
    ok: [202, 'Replay'],
    location: '/replays/{id}',
    body: retryAllBody,
  },
  'POST /destinations/{id}/cancel': {
    act: { kind: 'destination', action: 'cancelled' },
    summary: 'Cancel all deliveries that wait at a destination, as a job',
    ok: [202, 'Replay'],
    location: '/replays/{id}',
  },
  'GET /destinations/{id}/filter': {
    summary: 'Evaluate the filter of a destination on recent events',
    ok: [200, 'Trial'],
  },
} as const satisfies OperationsOf<'destinations' | 'catalog'>;
