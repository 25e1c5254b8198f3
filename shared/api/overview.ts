import { z } from 'zod';
import { count, flag, time, timeParameter } from './fields';
import { MOST_OVERVIEW_ROWS, type OperationsOf } from './operation';

/**
 * The overview, and what clients need to know about the installation: queries, responses and
 * operations.
 */

const overviewQuery = z.strictObject({
  since: timeParameter
    .optional()
    .meta({ description: 'Start of the counts. Default: 24 hours ago' }),
  until: timeParameter.optional().meta({ description: 'End of the counts. Default: now' }),
  destination: z.string().optional().meta({
    description: 'Limit the series, the totals and `open` to this destination. `data` has its row',
  }),
  ids: z
    .string()
    .transform((text) => text.split(','))
    .refine(
      (ids) => ids.length <= MOST_OVERVIEW_ROWS,
      `must have at most ${MOST_OVERVIEW_ROWS} ids`,
    )
    .optional()
    .meta({
      description:
        `\`data\` has the rows of these destinations: at most ${MOST_OVERVIEW_ROWS} ids, ` +
        'separated by commas',
    }),
  trend: flag.optional().meta({ description: 'true: add the trend of each destination' }),
});

/** Counts of a span, or of a step of it. */
export const totals = {
  delivered: count,
  partlyDelivered: count.meta({
    description: 'A part of `delivered`: another URL did not accept it',
  }),
  dead: count,
  cancelled: count,
  attempts: count,
  failedAttempts: count,
  latencyMs: z.strictObject({ p50: z.number().nullable(), p95: z.number().nullable() }),
};

/** The state of a destination, in one word. */
export const destinationState = z.enum(['healthy', 'degraded', 'failing', 'paused', 'off', 'idle']);
export const successRate = z.number().min(0).max(1).nullable().meta({
  description: 'Share of attempts; null without any',
});
export const lastError = z
  .strictObject({
    at: time,
    code: z.string().nullable(),
    status: z.int().nullable(),
    message: z.string(),
  })
  .nullable();

const overview = z.strictObject({
  since: time,
  stepSeconds: z.int(),
  totals: z
    .strictObject(totals)
    .meta({ description: 'The sum of the series, and the latency over its whole time' }),
  open: z
    .strictObject({ waiting: count, retrying: count, held: count })
    .meta({ description: 'The open deliveries of all destinations, or of `destination`' }),
  destinations: count.meta({
    description:
      `All destinations. With more than ${MOST_OVERVIEW_ROWS}, \`data\` has those that need ` +
      'attention most',
  }),
  data: z.array(
    z.strictObject({
      destination: z.string(),
      name: z.string(),
      enabled: z.boolean(),
      paused: z.boolean(),
      state: destinationState.meta({
        description:
          'Now: from the attempts of the last 15 minutes, or of the span if there are none',
      }),
      successRate,
      lastError: lastError.meta({
        description: 'The last failure, with its time; also if something was delivered since',
      }),
      lastDead: z
        .strictObject({
          at: time,
          reason: z.string().nullable(),
          status: z.int().nullable().meta({ description: 'HTTP status of its last response' }),
          code: z.string().nullable(),
          message: z.string().nullable(),
        })
        .nullable()
        .meta({ description: 'The newest delivery that was given up in the span, and why' }),
      oldestWaitingAt: time
        .nullable()
        .meta({ description: 'When the oldest open delivery was accepted' }),
      trend: z
        .strictObject({
          stepSeconds: z.int(),
          delivered: z.array(count),
          failedAttempts: z.array(count),
        })
        .optional()
        .meta({ description: 'With `trend=true`: at most 25 steps from `since` on' }),
      ...totals,
      waiting: count,
      retrying: count,
      held: count,
      circuits: z.array(
        z.strictObject({
          url: z.string().meta({ description: "The webhook's id" }),
          origin: z.string(),
          state: z.literal('open'),
          why: z.string(),
          at: time,
        }),
      ),
    }),
  ),
  series: z.array(z.strictObject({ at: time, ...totals })),
});

const calls = z.strictObject({
  since: time,
  stepSeconds: z.int(),
  series: z.array(
    z.strictObject({
      at: time,
      accepted: count,
      rejected: count.nullable().meta({ description: 'null before the retained period' }),
      limited: count
        .nullable()
        .meta({ description: 'Requests that got 429; null before the retained period' }),
    }),
  ),
  limitedBySource: z
    .record(z.string(), count)
    .optional()
    .meta({
      description:
        'Requests that got 429 since then, by source id. Sources without any are omitted. ' +
        'Absent if your token lacks the right sources:read',
    }),
});

const about = z.strictObject({
  ingest: z.strictObject({
    url: z
      .string()
      .nullable()
      .meta({ description: 'Public URL of ingest (WAYPOST_INGEST_URL), if set' }),
    port: z.int().meta({ description: 'The port of ingest' }),
  }),
  retry: z
    .strictObject({
      delays: z.array(z.string()).meta({ description: 'The tiers: WAYPOST_RETRY_DELAYS' }),
      window: z.string().meta({ description: 'WAYPOST_RETRY_WINDOW' }),
    })
    .meta({ description: 'The retry plan of destinations without their own' }),
  networks: z
    .strictObject({
      allowed: z.array(z.string()).meta({ description: 'WAYPOST_ALLOWED_NETWORKS' }),
      forbidden: z.array(z.string()).meta({ description: 'WAYPOST_FORBIDDEN_NETWORKS' }),
    })
    .optional()
    .meta({ description: 'The networks that webhooks may and may not reach. For administrators' }),
});

export const OVERVIEW_RESPONSES = { Overview: overview, Calls: calls, About: about };

export const OVERVIEW_OPERATIONS = {
  'GET /overview': {
    summary: 'Get the state of each destination and a time series',
    ok: [200, 'Overview'],
    query: overviewQuery,
  },
  'GET /overview/calls': {
    summary: 'Get a time series of accepted and rejected calls',
    ok: [200, 'Calls'],
    query: overviewQuery.pick({ since: true, until: true }),
  },
  'GET /about': {
    summary: 'Get the address that clients send to, and the default retry plan',
    ok: [200, 'About'],
  },
} as const satisfies OperationsOf<'overview' | 'about'>;
