import { z } from 'zod';
import { EVENT_WARNINGS } from '../model/client-time';
import { CALL_TYPES, MESSAGE_TYPES } from '../model/message';
import { OUTCOMES } from '../model/route';
import { count, list, pageParameters, time } from './fields';
import { MOST_REACHED, type OperationsOf } from './operation';

/** Events of the debugger, and trials of filters on them: requests, responses and operations. */

const MAX_TRIED = 500;

export const trialBody = z.strictObject({
  filter: z.string().meta({ description: 'The condition to evaluate' }),
  sources: z
    .array(z.string())
    .max(1_000)
    .optional()
    .meta({ description: 'Only events of these sources. Omit for all' }),
  limit: z
    .int()
    .min(1)
    .max(MAX_TRIED)
    .default(50)
    .meta({ description: 'Maximum number of accepted events, newest first' }),
});

const text = z.string().min(1).max(500);

const streamQuery = z.strictObject({
  source: text.optional(),
  type: z.enum([...CALL_TYPES, 'delete']).optional(),
  user: text.optional().meta({ description: 'userId or anonymousId' }),
  accepted: z
    .enum(['true', 'false'])
    .transform((value) => value === 'true')
    .optional()
    .meta({ description: 'true: only accepted events; false: only rejected ones' }),
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
  call: z
    .unknown()
    .meta({ description: 'The message as accepted, or the call as it was rejected' }),
  warnings: z.array(z.enum(EVENT_WARNINGS)).meta({
    description:
      'What could not be read: the event has its time of receipt, or a time that is not ' +
      'corrected by `sentAt`',
  }),
  code: z.string().optional().meta({ description: 'Machine-readable rejection code' }),
  message: z.string().optional().meta({ description: 'Human-readable rejection message' }),
  count: z
    .int()
    .optional()
    .meta({
      description:
        'Rejected calls that it stands for: those of an unreadable body, or, without their ' +
        'content, those beyond the limit of stored calls',
    }),
  destinations: z
    .array(reached)
    .optional()
    .meta({
      description:
        `The first ${MOST_REACHED} destinations of an accepted event's source, and whether each takes ` +
        'it, or why not, by the current configuration. Missing if their filters take too much work',
    }),
});

const position = {
  offset: count,
  line: z.int().min(1),
  column: z.int().min(1),
};
const trial = z.strictObject({
  mistake: z
    .strictObject({ message: z.string(), ...position })
    .nullable()
    .meta({ description: 'The error in the filter and its position; null if the filter is valid' }),
  tried: count,
  matched: count,
  failed: count.meta({ description: 'Events for which the evaluation failed; they do not match' }),
  failures: z.array(z.strictObject({ reason: z.string(), count })),
  results: z.array(
    z.strictObject({
      event: z.string(),
      at: time,
      source: z.string(),
      type: z.enum(MESSAGE_TYPES),
      name: z.string().nullable().meta({ description: "The event's name, or the page's" }),
      outcome: z.enum(['match', 'no_match', 'failed']),
      reason: z.string().nullable(),
    }),
  ),
});

export const EVENT_RESPONSES = { Events: list(event), Event: event, Trial: trial };

export const EVENT_OPERATIONS = {
  'GET /events': {
    summary: 'List recent events, newest first',
    ok: [200, 'Events'],
    query: streamQuery.extend(pageParameters.shape),
  },
  'GET /events/stream': {
    summary: 'Stream events as Server-Sent Events; resumes with Last-Event-ID',
    ok: [200, 'Event'],
    query: streamQuery,
    stream: true,
  },
  'POST /filters/try': {
    summary: 'Check a filter and evaluate it on recent events',
    ok: [200, 'Trial'],
    body: trialBody,
  },
} as const satisfies OperationsOf<'events' | 'filters'>;
