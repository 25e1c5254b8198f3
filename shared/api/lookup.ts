import { z } from 'zod';
import { MESSAGE_TYPES } from '../model/message';
import { DELIVERY_STATUSES } from '../model/reasons';
import { list, pageParameters, searchedTimes, time } from './fields';
import { type OperationsOf } from './operation';

/** What became of an accepted message, also if no destination got it: query and response. */

const text = z.string().min(1).max(500);

const lookupQuery = z
  .strictObject({
    message: text.optional().meta({ description: 'The `messageId`' }),
    user: text.optional().meta({ description: 'userId or anonymousId' }),
  })
  .extend(pageParameters.omit({ total: true }).shape)
  .refine(({ message, user }) => (message === undefined) !== (user === undefined), {
    path: ['message'],
    message: 'or `user` must be given, and only one of them',
  });

/**
 * - `delivered`: also to some of its URLs only
 * - `waiting`: it is under way; `reason` says for what it waits
 * - `dead`: given up
 * - `dropped`: it was cancelled, or its source sends nothing on
 * - `not_matched`: the destination does not take it; `reason` says by which rule
 * - `unknown`: the destination takes it, but the history has no delivery: it was made after the
 *   message, the history is behind, or it no longer has that time. With the reason `too_much_work`
 *   its filter was not examined
 */
export const LOOKUP_OUTCOMES = [
  'delivered',
  'waiting',
  'dead',
  'dropped',
  'not_matched',
  'unknown',
] as const;

const found = z.strictObject({
  message: z.string(),
  acceptedAt: time,
  source: z.string(),
  type: z.enum(MESSAGE_TYPES),
  event: z.string().nullable().meta({ description: 'The name of the track call, page or screen' }),
  destinations: z.array(
    z.strictObject({
      id: z.string(),
      delivery: z
        .strictObject({ id: z.string(), status: z.enum(DELIVERY_STATUSES) })
        .nullable()
        .meta({ description: 'null: the history has none' }),
      outcome: z.enum(LOOKUP_OUTCOMES).meta({
        description:
          'Of a delivery in the history. Without one, what the present settings say of the message',
      }),
      reason: z
        .string()
        .nullable()
        .meta({
          description:
            'The reason of the delivery, or the rule that decides, or `too_much_work`: the ' +
            'filters of other destinations took all of the time',
        }),
    }),
  ),
});

export const LOOKUP_RESPONSES = {
  Lookup: list(found).extend({
    searched: searchedTimes('Everything that Kafka keeps was searched: nothing is older').meta({
      description: 'The times at which Kafka got the messages that this page covers',
    }),
  }),
};

export const LOOKUP_OPERATIONS = {
  'GET /lookup': {
    summary: 'Find accepted messages by message or user, and what became of each, newest first',
    ok: [200, 'Lookup'],
    query: lookupQuery,
  },
} as const satisfies OperationsOf<'lookup'>;
