import { z } from 'zod';
import { durationField, durationText } from './fields';

/** The setting `batch` of a destination. */

const MAX_EVENTS = 100;
const MAX_BYTES = 5_000_000;

/** @returns with `maxWait` in ms */
export const batchBody = z
  .strictObject({
    maxEvents: z
      .int()
      .min(2)
      .max(MAX_EVENTS)
      .default(MAX_EVENTS)
      .meta({ description: 'Most events of one request' }),
    maxBytes: z
      .int()
      .min(1)
      .max(MAX_BYTES)
      .default(1_000_000)
      .meta({ description: 'Most bytes of one request. A larger event is sent alone' }),
    maxWait: durationField(z.string().default('1s'), { leastMs: 100, mostMs: 60_000 }).meta({
      description: 'How long the first event waits for more, from 100ms to 60s',
    }),
  })
  .meta({
    description:
      'Send several events in one request, as a JSON array. Omit to send each event alone',
  });

export const batchView = z.strictObject({
  maxEvents: z.int(),
  maxBytes: z.int(),
  maxWait: z.string(),
});

/** Returns the setting as the API shows it. */
export function batchToView({
  maxEvents,
  maxBytes,
  maxWaitMs,
}: {
  maxEvents: number;
  maxBytes: number;
  maxWaitMs: number;
}) {
  return { maxEvents, maxBytes, maxWait: durationText(maxWaitMs) };
}
