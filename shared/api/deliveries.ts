import { z } from 'zod';
import { MESSAGE_TYPES } from '../model/message';
import { ODDITIES } from '../model/oddities';
import { PHASES } from '../model/phases';
import { ASKED_FOR } from '../model/receiver-says';
import { DELIVERY_STATUSES, FILTER_STATUSES, WAIT_END_WORDS, WAIT_ENDS } from '../model/reasons';
import { NOT_STORED_HEADERS } from '../model/webhook-request';
import { count, flag, list, pageParameters, searchedTimes, time, timeParameter } from './fields';
import { type OperationsOf } from './operation';
import { lastError } from './overview';

/** A record that others wrote into Kafka may hold a longer id than ingest accepts. */
const MAX_USER_CHARACTERS = 8_000;

/** Deliveries and their attempts: requests, responses and operations. */

const text = z.string().min(1).max(500);

const MAX_EVENT_CHARACTERS = 1_000;
/** Shorter parts are in nearly every body. */
const MIN_SEARCH_CHARACTERS = 3;
const MAX_SEARCH_CHARACTERS = 200;

/** `503` or `5xx` → the first and the last status. */
const codeParameter = z
  .string()
  .regex(/^[1-5](xx|\d\d)$/i, 'must be an HTTP status such as 503, or a class such as 5xx')
  .transform((text) => ({
    from: Number(text.toLowerCase().replace('xx', '00')),
    to: Number(text.toLowerCase().replace('xx', '99')),
  }))
  .meta({ type: 'string', pattern: '^[1-5](xx|[0-9][0-9])$' });

/** The scope of a replay uses the same words. */
const deliveryFilter = z.strictObject({
  destination: text.optional(),
  source: text.optional(),
  status: z.enum(FILTER_STATUSES).optional().meta({
    description: 'pending: waiting, retrying or held. delivered also finds partly_delivered',
  }),
  message: text.optional().meta({ description: "The message's id" }),
  user: z
    .string()
    .min(1)
    .max(MAX_USER_CHARACTERS)
    .optional()
    .meta({ description: "The user's id" }),
  type: z.enum(MESSAGE_TYPES).optional(),
  batch: text.optional().meta({ description: 'Sent in this batch: its `webhook-id`, `bat_…`' }),
  event: z.string().min(1).max(MAX_EVENT_CHARACTERS).optional().meta({
    description: 'The name of a track call, page or screen',
  }),
  code: codeParameter
    .optional()
    .meta({ description: 'HTTP status of the last response, such as 503, or its class: 5xx' }),
  error: z
    .string()
    .regex(/^[a-z_]{1,50}$/, 'must be the code of an error, such as timeout')
    .optional()
    .meta({ description: "The code of the last attempt's error" }),
  q: z.string().min(MIN_SEARCH_CHARACTERS).max(MAX_SEARCH_CHARACTERS).optional().meta({
    description: 'Part of a user id, a message id, an event or the body, in upper or lower case',
  }),
  attempted: flag
    .optional()
    .meta({ description: 'true: with an attempt since it was sent or replayed' }),
  replay: text.optional().meta({ description: 'Sent last by this job: its id, `rpl_…`' }),
  since: timeParameter.optional().meta({ description: 'Accepted at this time or later' }),
  until: timeParameter.optional().meta({ description: 'Accepted before this time' }),
  endedSince: timeParameter
    .optional()
    .meta({ description: 'Delivered, given up or cancelled at this time or later' }),
  endedUntil: timeParameter
    .optional()
    .meta({ description: 'Delivered, given up or cancelled before this time' }),
  counted: flag.optional().meta({
    description:
      'true: those that the overview, the health of a destination and notices count, which are ' +
      "neither test sends nor Waypost's own alerts",
  }),
});

const urlError = z.object({ code: z.string(), phase: z.string().optional(), message: z.string() });
const outcome = z.enum(['delivered', 'retry', 'rejected']);
const url = z.object({
  url: z.string().meta({ description: "The webhook's id" }),
  origin: z.string(),
  outcome,
  status: z.int().optional(),
  durationMs: z.number(),
  phases: z
    .partialRecord(z.enum(PHASES), z.number())
    .optional()
    .meta({ description: 'ms by phase. Phases without time are omitted' }),
  destinationVersion: z
    .number()
    .meta({ description: 'The version of the destination whose webhook was called' }),
  resent: z.literal(true).optional().meta({
    description:
      'A kept connection broke before a response, and the request was sent again over a new one',
  }),
  gzip: z.literal(true).optional().meta({ description: 'The body was sent compressed' }),
  asked: z
    .enum(ASKED_FOR)
    .optional()
    .meta({
      description:
        'What the receiver asked for in the response header webhook-delivery, and got: ' +
        'abort-message: it never gets this message again; disable: nothing more is sent to ' +
        'this URL',
    }),
  batch: z
    .object({ id: z.string(), size: z.int(), index: z.int(), first: z.string() })
    .optional()
    .meta({
      description:
        'The batch that it was sent in, its place there, and the first delivery of the batch',
    }),
  oddities: z
    .array(z.string())
    .optional()
    .meta({
      description:
        'What was odd about the response, whose status counted nevertheless: ' +
        ODDITIES.join(', '),
    }),
  error: urlError.optional(),
  response: z
    .object({
      headers: z.record(z.string(), z.string()),
      body: z.string(),
      truncated: z.boolean(),
      signature: z
        .record(z.string(), z.string())
        .optional()
        .meta({
          description:
            '`webhook-id`, `webhook-timestamp` and the signatures of the request, as they were ' +
            'sent; `***` for a signature without a time. Absent for a 2xx',
        }),
    })
    .optional()
    .meta({
      description:
        'Without headers and body, and truncated, if the budget for responses of the ' +
        'destination was used up. Absent in lists, and for the oldest attempts of a delivery ' +
        'with more than 256 KiB of responses',
    }),
});
/** An attempt of a test. */
export const testAttempt = z.strictObject({
  n: z.int(),
  at: time,
  durationMs: z.number(),
  outcome,
  urls: z.array(url),
});

const request = z.strictObject({
  url: z.string().meta({ description: 'The whole URL for administrators, the origin for others' }),
  method: z.string(),
  headers: z.record(z.string(), z.string()).meta({
    description:
      'Values of static and auth headers are ***, and those of signatures, which ' +
      '`response.signature` has, unless the response was a 2xx or is not stored. Not stored ' +
      'here, and absent: ' +
      NOT_STORED_HEADERS.map((name) => `\`${name}\``).join(', '),
  }),
  changed: z.literal(true).optional().meta({
    description: 'The value of a static, auth or signature header differs from that of today',
  }),
  changedHeaders: z
    .array(z.string())
    .optional()
    .meta({ description: 'The names of these headers' }),
});

const attempt = z.strictObject({
  n: z.int(),
  replay: z.int(),
  at: time,
  durationMs: z.number(),
  outcome,
  notCalled: z
    .array(z.string())
    .optional()
    .meta({
      description:
        'Webhook ids that a delivered attempt did not call: they rejected it earlier, or had ' +
        'no room in time',
    }),
  withheld: z
    .literal(true)
    .optional()
    .meta({
      description:
        'No request was sent, for example without an OAuth2 token or a working proxy. It ' +
        'counts as no attempt',
    }),
  urls: z.array(
    url.extend({
      address: z.string().nullable().optional().meta({
        description:
          'The whole URL that was called; null if it is unknown, or you are no administrator',
      }),
      request: request.nullable().optional().meta({
        description:
          'The request as it was sent; null if its version of the destination is unknown',
      }),
    }),
  ),
});
/** What a delivery waits for. */
const goesOn = z
  .strictObject({
    when: z.enum(WAIT_ENDS).meta({
      description: Object.entries(WAIT_END_WORDS)
        .map(([when, words]) => `${when}: ${words}`)
        .join('. '),
    }),
    at: time.nullable().meta({
      description:
        'In the past: it is due, and on its way; with not_before it may wait for the same again',
    }),
    lastCheck: lastError
      .unwrap()
      .extend({ url: z.string().nullable() })
      .nullable()
      .meta({
        description:
          'The last failure at the destination, if nothing was delivered since; `url` is the ' +
          "webhook's id",
      }),
    nextCheckBy: time.nullable().meta({ description: 'on_answer: by when Waypost asks again' }),
    givenUpAt: time,
  })
  .meta({ description: 'What a delivery waits for; null once it has ended' });

const delivery = z.strictObject({
  id: z.string(),
  messageId: z.string(),
  source: z.string(),
  destination: z.string(),
  destinationName: z.string().nullable().meta({ description: 'null: it was deleted' }),
  type: z.enum(MESSAGE_TYPES),
  event: z.string().nullable().meta({ description: 'The name of the track call, page or screen' }),
  userId: z.string().nullable(),
  status: z.enum(DELIVERY_STATUSES),
  reason: z.string().nullable().meta({ description: 'Why the delivery waits or ended' }),
  acceptedAt: time,
  expiresAt: time,
  lastStatusCode: z.int().nullable().meta({ description: 'HTTP status of the last response' }),
  lastError: urlError
    .nullable()
    .meta({ description: 'Why the last attempt failed; null if it succeeded' }),
  nextAttemptAt: time
    .nullable()
    .meta({ description: '`at` of `goesOn` while nothing but time must pass; else null' }),
  goesOn: goesOn.nullable(),
  settledAt: time
    .nullable()
    .meta({ description: 'When it was delivered, dead-lettered or cancelled' }),
  replay: count.meta({ description: 'Number of replays' }),
  attemptsMade: count.meta({ description: 'Attempts since it was first sent or last replayed' }),
  test: z.boolean(),
  attempts: z.array(attempt),
});

/**
 * Renders by the present settings of the destination, or sends the body that the router rendered
 * first.
 */
export const render = z
  .enum(['as_sent', 'again'])
  .default('as_sent')
  .meta({
    description:
      'again: render the body again from the message, as long as Kafka keeps it (7 days by ' +
      'default), by the present settings of the destination. What was never rendered always ' +
      'is',
  });
export const replayOneBody = z.strictObject({
  render,
  webhooks: z.array(text).min(1).optional().meta({
    description: 'Ids of the webhooks that get it again. Default: all of the destination',
  }),
});

export const DELIVERY_RESPONSES = {
  Deliveries: list(delivery).extend({
    searched: searchedTimes(
      'With `q`, true: all that is searchable between `since` and `until` was searched. ' +
        'Otherwise false: `next` goes on with what is older',
    )
      .optional()
      .meta({
        description:
          'The times of acceptance that the page covers: with `q`, and if it ended before it was ' +
          'full',
      }),
  }),
  Delivery: delivery.extend({
    budget: z.strictObject({
      attemptsMade: count,
      nextAttemptAt: time.nullable(),
      expiresAt: time,
      waitsFor: z.string().nullable(),
    }),
    body: z
      .unknown()
      .meta({ description: 'The JSON body of the POST; null if Kafka no longer has it' }),
  }),
  RecalledDelivery: z.strictObject({
    id: z.string(),
    action: z.enum(['retry', 'cancel']),
    status: z.enum(DELIVERY_STATUSES).meta({ description: 'At the time of the request' }),
    reason: z.string().nullable(),
  }),
  ReplayedDelivery: z.strictObject({
    id: z.string(),
    replay: z.int(),
    status: z.literal('waiting'),
  }),
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
    summary: 'Replay a delivery, to all its URLs or to some',
    body: replayOneBody,
    ok: [202, 'ReplayedDelivery'],
  },
  'POST /deliveries/{id}/retry': {
    act: { kind: 'delivery', action: 'retried' },
    summary: 'Send a waiting delivery now, as the next attempt of its plan',
    ok: [202, 'RecalledDelivery'],
  },
  'POST /deliveries/{id}/cancel': {
    act: { kind: 'delivery', action: 'cancelled' },
    summary: 'Cancel a waiting delivery',
    ok: [202, 'RecalledDelivery'],
  },
} as const satisfies OperationsOf<'deliveries'>;
