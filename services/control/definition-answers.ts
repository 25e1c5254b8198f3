import { z } from 'zod';
import { COMPUTES } from '../../shared/domain/definition';

/** The shapes of what is answered about audiences and computed traits. */

const time = z.iso.datetime();

const syncStatus = z.strictObject({
  phase: z.enum(['none', 'counting', 'first_sync', 'live']),
  members: z.int().meta({ description: 'As receivers were told; of a computed trait users with a value' }),
  counted: z.int().meta({ description: 'Profiles that the first sync has looked at' }),
  of: z.int().meta({ description: 'All profiles' }),
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
