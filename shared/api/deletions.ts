import { z } from 'zod';
import { MAX_ID_BYTES } from '../model/message';
import { count, list, pageParameters, time } from './fields';
import { type OperationsOf } from './operation';

/** Deletions of users: requests, responses and operations. */

const MAX_USERS = 5_000;

const ids = z
  .array(
    z
      .string()
      .min(1)
      .refine(
        (id) => new TextEncoder().encode(id).length <= MAX_ID_BYTES,
        `must have at most ${MAX_ID_BYTES} bytes of UTF-8`,
      ),
  )
  .max(MAX_USERS);

export const deletionBody = z.strictObject({
  userIds: ids.optional().meta({ description: 'Required without `anonymousIds`' }),
  anonymousIds: ids
    .optional()
    .meta({ description: 'Ids of visitors. Removes what they sent without a `userId`' }),
  sources: z
    .array(z.string())
    .min(1)
    .optional()
    .meta({ description: 'Ids of sources, not those of audiences or traits. Omit for all' }),
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

export const DELETION_RESPONSES = { Deletion: deletion, Deletions: list(deletion) };

export const DELETION_OPERATIONS = {
  'GET /deletions': {
    summary: 'List deletions of users, newest first',
    ok: [200, 'Deletions'],
    query: pageParameters,
  },
  'POST /deletions': {
    act: { kind: 'deletion', action: 'created' },
    summary:
      'Delete users and visitors: sends a message to each affected source, cancels what waits, ' +
      'and removes them from the profiles and the history',
    ok: [202, 'Deletion'],
    location: '/deletions/{id}',
    body: deletionBody,
  },
  'GET /deletions/{id}': { summary: 'Get a deletion', ok: [200, 'Deletion'] },
} as const satisfies OperationsOf<'deletions'>;
