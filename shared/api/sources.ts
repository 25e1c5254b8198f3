import { z } from 'zod';
import { TRUSTS } from '../model/config';
import {
  changed,
  count,
  durationField,
  flag,
  idList,
  list,
  name,
  namePart,
  overlap,
  pageParameters,
  patchOf,
  sortBy,
  time,
} from './fields';
import { type OperationsOf } from './operation';

/** Sources: requests, responses and operations. */

/** Each is compared with every track call. */
const MAX_BLOCKED = 200;
const MAX_EVENT_CHARACTERS = 500;

/** Far above the throughput of one installation: it catches typing errors. */
const MAX_PER_SECOND = 1_000_000;
const MAX_BYTES_PER_SECOND = 10_000_000_000;
const LEAST_BURST_MS = 100;
const MOST_BURST_MS = 3_600_000;

const limits = z
  .strictObject({
    maxPerSecond: z
      .number()
      .min(0.1)
      .max(MAX_PER_SECOND)
      .nullish()
      .meta({ description: 'Calls a second' }),
    maxBytesPerSecond: z
      .int()
      .min(1)
      .max(MAX_BYTES_PER_SECOND)
      .nullish()
      .meta({ description: 'Bytes of request bodies a second, after decompression' }),
    burst: durationField(z.string(), { leastMs: LEAST_BURST_MS, mostMs: MOST_BURST_MS })
      .nullish()
      .meta({ description: 'How much unused allowance a source may accumulate, such as 10s' }),
  })
  .meta({
    description:
      'Limits of this source for all ingest processes together. Omit or null for the default',
  });

export const sourceBody = z.strictObject({
  name,
  enabled: z.boolean().default(true).meta({ description: 'If false, ingest refuses its calls' }),
  blockedEvents: z
    .array(z.string().min(1).max(MAX_EVENT_CHARACTERS))
    .max(MAX_BLOCKED)
    .optional()
    .meta({ description: 'Names of blocked track events. They still count as received' }),
  limits: limits.nullish(),
  trust: z.enum(TRUSTS).default('server').meta({
    description:
      'browser: the write key is public, and audiences count its calls only if they name the source',
  }),
});
export const rotateKeyBody = z.strictObject({ overlap });

const source = z.strictObject({
  id: z.string(),
  name: z.string(),
  enabled: z.boolean(),
  writeKey: z.string().nullable(),
  blockedEvents: z.array(z.string()).meta({ description: 'Names of blocked track events' }),
  limits: z
    .strictObject({
      maxPerSecond: z.number().nullable(),
      maxBytesPerSecond: z.int().nullable(),
      burst: z.string().nullable(),
    })
    .nullable()
    .meta({ description: 'null means default, for the object and for each field' }),
  trust: z.enum(TRUSTS),
  oldWriteKeys: z.array(z.strictObject({ key: z.string(), until: time })),
  ...changed,
});

const sourceEvents = z.strictObject({
  data: z.array(
    z.strictObject({
      name: z.string(),
      count: count.meta({
        description: 'Count since the first one; 0 if the event is blocked and was never seen',
      }),
      lastSeenAt: time.nullable(),
      blocked: z.boolean(),
    }),
  ),
});

const activity = z.strictObject({
  calls: count.meta({ description: 'Accepted calls since the first that the history knows' }),
  lastCallAt: time.nullable(),
  recent: z
    .strictObject({
      accepted: count,
      rejected: count,
      since: time.nullable().meta({ description: 'When the first of them came' }),
    })
    .meta({
      description: 'The last calls, as far as the debugger has them',
    }),
  destinations: count.meta({ description: 'Destinations that it is connected to' }),
});

export const SOURCE_RESPONSES = {
  Source: source,
  Sources: list(
    source.extend({
      activity: activity
        .optional()
        .meta({ description: 'With `activity=true`, unless the history is away' }),
    }),
  ),
  SourceEvents: sourceEvents,
};

export const SOURCE_OPERATIONS = {
  'GET /sources': {
    summary: 'List sources',
    ok: [200, 'Sources'],
    query: pageParameters.extend({
      q: namePart,
      ids: idList,
      state: z.enum(['enabled', 'disabled']).optional(),
      sort: sortBy(['name', 'lastCall']).meta({
        description:
          'By this, and then by id; with "-" descending. lastCall: as far as the history knows. ' +
          'Default: by creation',
      }),
      activity: flag.optional().meta({ description: 'true: add what each sends, and to how many' }),
    }),
  },
  'POST /sources': {
    summary: 'Create a source',
    ok: [201, 'Source'],
    location: '/sources/{id}',
    body: sourceBody,
  },
  'GET /sources/{id}': { summary: 'Get a source', ok: [200, 'Source'] },
  'PATCH /sources/{id}': {
    summary: 'Update a source',
    ok: [200, 'Source'],
    body: patchOf(sourceBody),
    conditional: true,
  },
  'DELETE /sources/{id}': { summary: 'Delete a source', ok: [204], conditional: true },
  'GET /sources/{id}/events': {
    summary: 'List the track events of a source by name, most recent first',
    ok: [200, 'SourceEvents'],
  },
  'POST /sources/{id}/rotate-key': {
    summary: 'Rotate the write key of a source',
    ok: [200, 'Source'],
    body: rotateKeyBody,
    conditional: true,
  },
} as const satisfies OperationsOf<'sources'>;
