import { z } from 'zod';
import { MESSAGE_TYPES } from '../../../shared/model/message';

/** Response schemas of events and filter trials. */

const count = z.int().min(0);
const place = {
  offset: count,
  line: z.int().min(1),
  column: z.int().min(1),
};
export const trial = z.strictObject({
  mistake: z
    .strictObject({ message: z.string(), ...place })
    .nullable()
    .meta({ description: 'The error in the filter and its position; null if the filter is valid' }),
  tried: count,
  matched: count,
  failed: count.meta({ description: 'Events for which the evaluation failed; they do not match' }),
  failures: z.array(z.strictObject({ reason: z.string(), count })),
  results: z.array(
    z.strictObject({
      event: z.string(),
      at: z.iso.datetime(),
      source: z.string(),
      type: z.enum(MESSAGE_TYPES),
      name: z.string().nullable().meta({ description: "The event's name, or the page's" }),
      outcome: z.enum(['match', 'no_match', 'failed']),
      reason: z.string().nullable(),
    }),
  ),
});

export const sourceEvents = z.strictObject({
  data: z.array(
    z.strictObject({
      name: z.string(),
      count: count.meta({ description: 'Count since the first one; 0 if the event is blocked and was never seen' }),
      lastSeenAt: z.iso.datetime().nullable(),
      blocked: z.boolean(),
    }),
  ),
});
