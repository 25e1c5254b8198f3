import { z } from 'zod';
import { COMPUTES } from '../../shared/domain/definition';

/** The shapes of what is answered about audiences and computed traits. */

const time = z.iso.datetime();

const syncStatus = z.strictObject({
  phase: z.enum(['none', 'counting', 'first_sync', 'live']),
  members: z.int().meta({ description: 'As receivers were told; of a computed trait users with a value' }),
  counted: z.int().meta({ description: 'Profiles that the first sync has looked at' }),
  of: z.int().meta({ description: 'All profiles' }),
  full: z.int().meta({ description: 'Of them, full ones: some of what their users do no longer counts' }),
  sent: z.int(),
  waiting: z.int(),
  upload: z.int().meta({ description: 'The last upload that all partitions have taken over' }),
  lastSync: z.strictObject({ at: time, looked: z.int(), changed: z.int() }).nullable(),
});
const definition = {
  id: z.string(),
  name: z.string(),
  key: z.string().meta({ description: 'The trait that receivers see' }),
  source: z.string().meta({ description: 'The source that it is told by' }),
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
  condition: z.string().nullable().meta({ description: 'null: members are uploaded' }),
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
  members: z.int().meta({ description: 'How many there would be; an estimate unless `exact`' }),
  looked: z.int().meta({ description: 'Profiles looked at' }),
  of: z.int().meta({ description: 'Of how many that are to be looked at: all, or a sample' }),
  exact: z.boolean(),
  plusMinus: z.int().meta({ description: 'Half the width of the 95 % interval of `members`; 0 where it is exact' }),
  failed: z.int().meta({ description: 'Of those looked at, whose condition failed: no members' }),
  sample: z
    .array(z.strictObject({ userId: z.string(), traits: z.record(z.string(), z.unknown()) }))
    .meta({ description: 'Some who would be in, with some of their traits: 10 at most' }),
  detail: z.string().nullable().meta({ description: 'What it waits for, why it failed, or what it could not count' }),
  expiresAt: time.meta({ description: 'Ended then, or a minute after it was last asked for' }),
});
export const member = z.strictObject({
  userId: z.string(),
  value: z.unknown().meta({ description: "The trait's value; of an audience true" }),
  since: time.meta({ description: 'When receivers were told of this value' }),
});
export const sync = z.strictObject({
  at: time,
  members: z.int(),
  looked: z.int().meta({ description: 'Users who were looked at, since something had changed of them' }),
  changed: z.int().meta({ description: 'Calls that it made' }),
  sent: z.int().meta({ description: 'Calls sent since the beginning, as of then' }),
  waiting: z.int().meta({ description: 'Calls that Kafka had not acknowledged' }),
});
export const sizes = z.strictObject({
  data: z.array(z.strictObject({ at: time, members: z.int() })).meta({ description: 'The oldest first' }),
});
