import { z } from 'zod';
import { COMPUTES } from '../../../shared/model/audience-definition';
import { MAX_USER_BYTES } from '../../../shared/model/profile-records';
import { durationField, name } from '../http/fields';
import { pageParameters, timeParameter } from '../http/query';

/** Schemas of audiences and computed traits, used for validation and for the API description. */

const MAX_CONDITION = 8_192;
const MAX_LIST = 1_000;
const YEAR_MS = 366 * 86_400_000;

const sources = z
  .array(z.string())
  .min(1)
  .max(MAX_LIST)
  .optional()
  .meta({ description: 'Ids of the sources whose messages count. Omit for all sources with trust `server`' });
const destinations = z
  .array(z.string())
  .max(MAX_LIST)
  .default([])
  .meta({ description: 'Ids of the destinations that receive updates' });
const syncEvery = durationField(z.string().default('1m'), { leastMs: 1_000, mostMs: 86_400_000 }).meta({
  description: 'Interval for sending changes to receivers, such as 10s, 1m or 1h',
});

const common = { name, sources, destinations, syncEvery };

const conditionField = z.string().min(1).max(MAX_CONDITION).meta({
  description:
    'CEL over user.traits and count("Event", duration("720h")), sum, first and last. Omit if members are uploaded',
});

export const audienceSchema = z.strictObject({ ...common, condition: conditionField.optional() });

export const computedTraitSchema = z.strictObject({
  ...common,
  compute: z.enum(COMPUTES),
  event: z.string().min(1).max(200).meta({ description: 'The name of a track call' }),
  property: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .meta({ description: 'Property to aggregate, a.b for nested. Omit with first and last to get the event time' }),
  window: durationField(z.string(), { leastMs: 1_000, mostMs: YEAR_MS })
    .optional()
    .meta({ description: 'How far back events count, such as 720h or 30d. Omit for all events' }),
});

export const previewSchema = z.strictObject({ condition: conditionField, sources });

export const membersQuery = pageParameters.extend({
  user: z.string().min(1).max(MAX_USER_BYTES).optional().meta({ description: 'Return only this user, if a member' }),
});

export const sizesQuery = z
  .strictObject({
    from: timeParameter.optional().meta({ description: 'Default: 24 hours before the end' }),
    to: timeParameter.optional().meta({ description: 'Default: now' }),
  })
  .refine(({ from = 0, to = Infinity }) => from <= to, { path: ['from'], message: 'must not be after `to`' });
