import { z } from 'zod';
import { count, time } from './fields';
import { type OperationsOf } from './operation';

/** The format of the records that all processes write: requests, responses and operations. */

export const recordFormatBody = z.strictObject({
  automatic: z.boolean().meta({
    description:
      'false: every process writes format 1 again, and no newer format is switched on. ' +
      'true: control switches a newer format on once every process reads it',
  }),
});

const recordFormat = z.strictObject({
  format: count.meta({ description: 'The format that all processes write' }),
  newest: count.meta({ description: 'The newest format that this control process reads' }),
  automatic: z.boolean(),
  readableSince: time
    .nullable()
    .meta({ description: 'Since when all processes read a newer format; null: they do not' }),
  switchesAt: time
    .nullable()
    .meta({ description: 'When the newer format is switched on, if all processes stay' }),
  members: z
    .array(
      z.strictObject({ group: z.string(), client: z.string(), host: z.string(), reads: count }),
    )
    .meta({ description: 'Members of the consumer groups, and the newest format that each reads' }),
  missing: z.array(z.string()).meta({ description: 'Required consumer groups without a member' }),
  settling: z
    .array(z.string())
    .meta({ description: 'Consumer groups that assign their partitions at the moment' }),
  version: z.int(),
});

export const RECORD_FORMAT_RESPONSES = { RecordFormat: recordFormat };

export const RECORD_FORMAT_OPERATIONS = {
  'GET /record-format': {
    summary: 'Get the record format, and what each process reads',
    ok: [200, 'RecordFormat'],
  },
  'PATCH /record-format': {
    summary: 'Switch newer record formats off, or on again',
    ok: [200, 'RecordFormat'],
    body: recordFormatBody,
    conditional: true,
  },
} as const satisfies OperationsOf<'record-format'>;
