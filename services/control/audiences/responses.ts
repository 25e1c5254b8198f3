import { z } from 'zod';
import { COMPUTES } from '../../../shared/model/audience-definition';

/** Response schemas of audiences and computed traits. */

const time = z.iso.datetime();

const syncStatus = z.strictObject({
  phase: z.enum(['none', 'counting', 'first_sync', 'live']),
  members: z.int().meta({ description: 'Members as sent to receivers. For a computed trait: users with a value' }),
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
  version: z.int(),
  createdAt: time,
  updatedAt: time,
};
export const audience = z.strictObject({
  ...definition,
  condition: z.string().nullable().meta({ description: 'null if members are uploaded' }),
});
export const computedTrait = z.strictObject({
  ...definition,
  compute: z.enum(COMPUTES),
  event: z.string(),
  property: z.string().nullable(),
  window: z.string().nullable(),
});

export const uploadedMembers = z.strictObject({ upload: z.int(), lines: z.int() });

export const preview = z.strictObject({
  id: z.string(),
  phase: z.enum(['counting', 'done', 'failed']),
  members: z.int().meta({ description: 'Number of members; an estimate unless `exact`' }),
  looked: z.int().meta({ description: 'Profiles checked' }),
  of: z.int().meta({ description: 'Profiles to check: all, or a sample' }),
  exact: z.boolean(),
  plusMinus: z.int().meta({ description: 'Half the width of the 95 % interval of `members`; 0 if exact' }),
  failed: z.int().meta({ description: 'Checked profiles whose condition failed; they are no members' }),
  sample: z
    .array(z.strictObject({ userId: z.string(), traits: z.record(z.string(), z.unknown()) }))
    .meta({ description: 'Up to 10 of the members, with some of their traits' }),
  detail: z.string().nullable().meta({ description: 'Why it waits or failed, or which users it could not count' }),
  expiresAt: time.meta({ description: 'The preview ends then, or a minute after its last request' }),
});
export const member = z.strictObject({
  userId: z.string(),
  value: z.unknown().meta({ description: "The trait's value; true for an audience" }),
  since: time.meta({ description: 'When this value was sent to receivers' }),
});
export const sync = z.strictObject({
  at: time,
  members: z.int(),
  looked: z.int().meta({ description: 'Users checked because of a change' }),
  changed: z.int().meta({ description: 'Calls created by this sync' }),
  sent: z.int().meta({ description: 'Calls sent in total up to this sync' }),
  waiting: z.int().meta({ description: 'Calls not yet acknowledged by Kafka' }),
});
export const sizes = z.strictObject({
  data: z.array(z.strictObject({ at: time, members: z.int() })).meta({ description: 'Oldest first' }),
});
