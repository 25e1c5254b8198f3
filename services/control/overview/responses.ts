import { z } from 'zod';

/** Response schemas of the overview. */

const time = z.iso.datetime();
const count = z.int().min(0);

const totals = {
  delivered: count,
  dead: count,
  cancelled: count,
  attempts: count,
  failedAttempts: count,
  latencyMs: z.strictObject({ p50: z.number().nullable(), p95: z.number().nullable() }),
};
export const overview = z.strictObject({
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

export const calls = z.strictObject({
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
