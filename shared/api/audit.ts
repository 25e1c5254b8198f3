import { z } from 'zod';
import { flag, longList, pageParameters, time, timeParameter } from './fields';
import {
  ACT_KINDS,
  type Action,
  ACTIONS,
  AUDIT_KINDS,
  type AuditKind,
  CHANGES,
  type OperationsOf,
} from './operation';
import { actor } from './tokens';

/** The audit trail: its query, response and operation. */

/** Returns whether a row is a change of an entry of `config`, not an act. */
export function isChange({ kind, action }: { kind: AuditKind; action: Action }): boolean {
  return !ACT_KINDS.some((each) => each === kind) && CHANGES.some((each) => each === action);
}

const audit = z.strictObject({
  at: time,
  by: actor,
  action: z.enum(ACTIONS),
  kind: z.enum(AUDIT_KINDS),
  entry: z.string(),
  name: z.string(),
  version: z.int().nullable().meta({
    description: 'Version created by the change; null if the configuration did not change',
  }),
  changes: z.array(z.strictObject({ field: z.string(), from: z.unknown(), to: z.unknown() })).meta({
    description: 'Secrets are ***',
  }),
});

export const AUDIT_RESPONSES = { Audit: longList(audit) };

export const AUDIT_OPERATIONS = {
  'GET /audit': {
    summary: 'List the audit trail, newest first',
    ok: [200, 'Audit'],
    query: pageParameters.extend({
      kind: z.enum(AUDIT_KINDS).optional(),
      entry: z.string().optional().meta({ description: "The entry's id" }),
      by: z
        .string()
        .optional()
        .meta({ description: 'The id of the token. `admin`: the token in the settings' }),
      sessions: flag.optional().meta({
        description:
          'false: without sessions, which begin and end with every visit, unless `kind` asks for them',
      }),
      since: timeParameter.optional().meta({ description: 'At this time or later' }),
      until: timeParameter.optional().meta({ description: 'Before this time' }),
    }),
  },
} as const satisfies OperationsOf<'audit'>;
