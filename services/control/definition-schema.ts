import { z } from 'zod';
import { COMPUTES } from '../../shared/domain/definition';
import { MAX_USER_BYTES } from '../../shared/domain/profiles';
import { durationField, name } from './fields';
import { pageParameters, timeParameter } from './query';

/** What an audience and a computed trait may be set to: the one source of validation and of the API's description. */

const MAX_CONDITION = 8_192;
const MAX_LIST = 1_000;
const YEAR_MS = 366 * 86_400_000;

const sources = z
  .array(z.string())
  .min(1)
  .max(MAX_LIST)
  .optional()
  .meta({ description: 'Ids of the sources whose messages count; absent: all whose trust is `server`' });
const destinations = z
  .array(z.string())
  .max(MAX_LIST)
  .default([])
  .meta({ description: 'Ids of the destinations that are told' });
const syncEvery = durationField(z.string().default('1m'), { leastMs: 1_000, mostMs: 86_400_000 }).meta({
  description: 'How often receivers are told of changes, such as 10s, 1m or 1h',
});

const common = { name, sources, destinations, syncEvery };

const conditionField = z.string().min(1).max(MAX_CONDITION).meta({
  description:
    'CEL over user.traits and count("Event", duration("720h")), sum, first and last; absent: members are uploaded',
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
    .meta({ description: 'Of the event; a.b is within an object. With first and last absent: the time' }),
  window: durationField(z.string(), { leastMs: 1_000, mostMs: YEAR_MS })
    .optional()
    .meta({ description: 'How far back events count, such as 720h or 30d; absent: all' }),
});

export const previewSchema = z.strictObject({ condition: conditionField, sources });

export const membersQuery = pageParameters.extend({
  user: z.string().min(1).max(MAX_USER_BYTES).optional().meta({ description: 'This one alone, where they are in' }),
});

export const sizesQuery = z
  .strictObject({
    from: timeParameter.optional().meta({ description: 'Absent: 24 hours before the end' }),
    to: timeParameter.optional().meta({ description: 'Absent: now' }),
  })
  .refine(({ from = 0, to = Infinity }) => from <= to, { path: ['from'], message: 'must not be after `to`' });
