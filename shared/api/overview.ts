import { z } from 'zod';
import { count, time, timeParameter } from './fields';
import { type OperationsOf } from './operation';

/** The overview, and what clients need to know about the installation: queries, responses and operations. */

const overviewQuery = z.strictObject({
  since: timeParameter.optional().meta({ description: 'Start of the counts. Default: 24 hours ago' }),
  destination: z.string().optional().meta({ description: 'Limit the series to this destination' }),
});

/** Counts of a span, or of a step of it. */
export const totals = {
  delivered: count,
  partlyDelivered: count.meta({ description: 'A part of `delivered`: another URL did not accept it' }),
  dead: count,
  cancelled: count,
  attempts: count,
  failedAttempts: count,
  latencyMs: z.strictObject({ p50: z.number().nullable(), p95: z.number().nullable() }),
};
const overview = z.strictObject({
  since: time,
  stepSeconds: z.int(),
  data: z.array(
    z.strictObject({
      destination: z.string(),
      name: z.string(),
      enabled: z.boolean(),
      paused: z.boolean(),
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
      limited: count.nullable().meta({ description: 'Requests that got 429; null before the retained period' }),
    }),
  ),
  limitedBySource: z.record(z.string(), count).optional().meta({
    description:
      'Requests that got 429 since then, by source id. Sources without any are omitted. Absent if your token lacks the right sources:read',
  }),
});

const about = z.strictObject({
  ingest: z.strictObject({
    url: z.string().nullable().meta({ description: 'Public URL of ingest (WAYPOST_INGEST_URL), if set' }),
    port: z.int().meta({ description: 'The port of ingest' }),
  }),
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
    query: overviewQuery.pick({ since: true }),
  },
  'GET /about': { summary: 'Get the address that clients send to', ok: [200, 'About'] },
} as const satisfies OperationsOf<'overview' | 'about'>;
