import { z } from 'zod';
import { COMPUTES } from '../model/audience-definition';
import { MAX_USER_BYTES } from '../model/profile-records';
import {
  changed,
  durationField,
  list,
  name,
  pageParameters,
  patchOf,
  time,
  timeParameter,
} from './fields';
import { type OperationsOf } from './operation';

/** Audiences and computed traits: requests, responses and operations. */

const MAX_CONDITION = 8_192;
const MAX_LIST = 1_000;
const YEAR_MS = 366 * 86_400_000;

const sources = z.array(z.string()).min(1).max(MAX_LIST).optional().meta({
  description: 'Ids of the sources whose messages count. Omit for all sources with trust `server`',
});
const destinations = z
  .array(z.string())
  .max(MAX_LIST)
  .default([])
  .meta({ description: 'Ids of the destinations that receive updates' });
const syncEvery = durationField(z.string().default('1m'), {
  leastMs: 1_000,
  mostMs: 86_400_000,
}).meta({
  description: 'Interval for sending changes to receivers, such as 10s, 1m or 1h',
});

const common = { name, sources, destinations, syncEvery };

const conditionField = z
  .string()
  .min(1)
  .max(MAX_CONDITION)
  .meta({
    description:
      'CEL over user.traits and count("Event", duration("720h")), sum, first and last. Omit ' +
      'if members are uploaded',
  });

export const audienceBody = z.strictObject({ ...common, condition: conditionField.optional() });

export const computedTraitBody = z.strictObject({
  ...common,
  compute: z.enum(COMPUTES),
  event: z.string().min(1).max(200).meta({ description: 'The name of a track call' }),
  property: z.string().min(1).max(200).optional().meta({
    description:
      'Property to aggregate, a.b for nested. Omit with first and last to get the event time',
  }),
  window: durationField(z.string(), { leastMs: 1_000, mostMs: YEAR_MS })
    .optional()
    .meta({ description: 'How far back events count, such as 720h or 30d. Omit for all events' }),
});

export const previewBody = z.strictObject({ condition: conditionField, sources });

const membersQuery = pageParameters.extend({
  user: z
    .string()
    .min(1)
    .max(MAX_USER_BYTES)
    .optional()
    .meta({ description: 'Return only this user, if a member' }),
});

const sizesQuery = z
  .strictObject({
    from: timeParameter.optional().meta({ description: 'Default: 24 hours before the end' }),
    to: timeParameter.optional().meta({ description: 'Default: now' }),
  })
  .refine(({ from = 0, to = Infinity }) => from <= to, {
    path: ['from'],
    message: 'must not be after `to`',
  });

const syncStatus = z.strictObject({
  phase: z.enum(['none', 'counting', 'first_sync', 'live']),
  members: z.int().meta({
    description: 'Members as sent to receivers. For a computed trait: users with a value',
  }),
  counted: z.int().meta({ description: 'Profiles that the first sync has checked' }),
  of: z.int().meta({ description: 'All profiles' }),
  full: z.int().meta({ description: 'Full profiles: some actions of these users no longer count' }),
  sent: z.int(),
  waiting: z.int(),
  upload: z.int().meta({ description: 'The last upload that all partitions have applied' }),
  lastSync: z.strictObject({ at: time, looked: z.int(), changed: z.int() }).nullable(),
});
const definition = {
  id: z.string(),
  name: z.string(),
  key: z.string().meta({ description: 'The name of the trait for receivers' }),
  source: z.string().meta({ description: 'The source that sends its updates' }),
  sources: z.array(z.string()).nullable(),
  destinations: z.array(z.string()),
  syncEvery: z.string(),
  status: syncStatus,
  ...changed,
};
const audience = z.strictObject({
  ...definition,
  condition: z.string().nullable().meta({ description: 'null if members are uploaded' }),
});
const computedTrait = z.strictObject({
  ...definition,
  compute: z.enum(COMPUTES),
  event: z.string(),
  property: z.string().nullable(),
  window: z.string().nullable(),
});

const uploadedMembers = z.strictObject({ upload: z.int(), lines: z.int() });

const preview = z.strictObject({
  id: z.string(),
  phase: z.enum(['counting', 'done', 'failed']),
  members: z.int().meta({ description: 'Number of members; an estimate unless `exact`' }),
  looked: z.int().meta({ description: 'Profiles checked' }),
  of: z.int().meta({ description: 'Profiles to check: all, or a sample' }),
  exact: z.boolean(),
  plusMinus: z
    .int()
    .meta({ description: 'Half the width of the 95 % interval of `members`; 0 if exact' }),
  failed: z
    .int()
    .meta({ description: 'Checked profiles whose condition failed; they are no members' }),
  sample: z
    .array(z.strictObject({ userId: z.string(), traits: z.record(z.string(), z.unknown()) }))
    .meta({ description: 'Up to 10 of the members, with some of their traits' }),
  detail: z
    .string()
    .nullable()
    .meta({ description: 'Why it waits or failed, or which users it could not count' }),
  expiresAt: time.meta({
    description: 'The preview ends then, or a minute after its last request',
  }),
});
const member = z.strictObject({
  userId: z.string(),
  value: z.unknown().meta({ description: "The trait's value; true for an audience" }),
  since: time.meta({ description: 'When this value was sent to receivers' }),
});
const sync = z.strictObject({
  at: time,
  members: z.int(),
  looked: z.int().meta({ description: 'Users checked because of a change' }),
  changed: z.int().meta({ description: 'Calls created by this sync' }),
  sent: z.int().meta({ description: 'Calls sent in total up to this sync' }),
  waiting: z.int().meta({ description: 'Calls not yet acknowledged by Kafka' }),
});
const sizes = z.strictObject({
  data: z
    .array(z.strictObject({ at: time, members: z.int() }))
    .meta({ description: 'Oldest first' }),
});

export const AUDIENCE_RESPONSES = {
  Audience: audience,
  Audiences: list(audience),
  UploadedMembers: uploadedMembers,
  Members: list(member),
  Preview: preview,
  Syncs: list(sync),
  Sizes: sizes,
  ComputedTrait: computedTrait,
  ComputedTraits: list(computedTrait),
};

export const AUDIENCE_OPERATIONS = {
  'GET /audiences': {
    summary: 'List audiences',
    ok: [200, 'Audiences'],
    query: pageParameters,
  },
  'POST /audiences': {
    summary: 'Create an audience',
    ok: [201, 'Audience'],
    location: '/audiences/{id}',
    body: audienceBody,
  },
  'POST /audiences/preview': {
    summary: 'Preview the size and some members of a condition; waits for the first figures',
    ok: [201, 'Preview'],
    location: '/audiences/previews/{id}',
    body: previewBody,
  },
  'GET /audiences/previews/{id}': {
    summary: 'Get a preview and its progress',
    ok: [200, 'Preview'],
  },
  'DELETE /audiences/previews/{id}': { summary: 'Cancel a preview', ok: [204] },
  'GET /audiences/{id}': { summary: 'Get an audience and its status', ok: [200, 'Audience'] },
  'PATCH /audiences/{id}': {
    summary: 'Update an audience',
    ok: [200, 'Audience'],
    body: patchOf(audienceBody),
    conditional: true,
  },
  'DELETE /audiences/{id}': {
    summary: 'Delete an audience and stop its updates to receivers',
    ok: [204],
    conditional: true,
  },
  'GET /audiences/{id}/members': {
    summary: 'List members, as sent to receivers',
    ok: [200, 'Members'],
    query: membersQuery,
  },
  'PUT /audiences/{id}/members': {
    summary: 'Replace all members: application/x-ndjson, one user id as JSON per line',
    ok: [202, 'UploadedMembers'],
    lines: true,
  },
  'PATCH /audiences/{id}/members': {
    summary: 'Add and remove members: one {"add": "<user id>"} or {"remove": "<user id>"} per line',
    ok: [202, 'UploadedMembers'],
    lines: true,
  },
  'GET /audiences/{id}/syncs': {
    summary: 'List syncs, newest first',
    ok: [200, 'Syncs'],
    query: pageParameters,
  },
  'GET /audiences/{id}/sizes': {
    summary: 'Get a time series of the number of members',
    ok: [200, 'Sizes'],
    query: sizesQuery,
  },
  'GET /computed-traits': {
    summary: 'List computed traits',
    ok: [200, 'ComputedTraits'],
    query: pageParameters,
  },
  'POST /computed-traits': {
    summary: 'Create a computed trait',
    ok: [201, 'ComputedTrait'],
    location: '/computed-traits/{id}',
    body: computedTraitBody,
  },
  'GET /computed-traits/{id}': {
    summary: 'Get a computed trait and its status',
    ok: [200, 'ComputedTrait'],
  },
  'PATCH /computed-traits/{id}': {
    summary: 'Update a computed trait',
    ok: [200, 'ComputedTrait'],
    body: patchOf(computedTraitBody),
    conditional: true,
  },
  'DELETE /computed-traits/{id}': {
    summary: 'Delete a computed trait',
    ok: [204],
    conditional: true,
  },
  'GET /computed-traits/{id}/members': {
    summary: 'List users with a value, as sent to receivers',
    ok: [200, 'Members'],
    query: membersQuery,
  },
  'GET /computed-traits/{id}/syncs': {
    summary: 'List syncs, newest first',
    ok: [200, 'Syncs'],
    query: pageParameters,
  },
  'GET /computed-traits/{id}/sizes': {
    summary: 'Get a time series of the number of users with a value',
    ok: [200, 'Sizes'],
    query: sizesQuery,
  },
} as const satisfies OperationsOf<'audiences' | 'computed-traits'>;
