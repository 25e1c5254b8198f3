import { z } from 'zod';
import { ROLES } from '../../../shared/model/config';
import { ACTIONS, AUDIT_KINDS } from '../audit/model';
import { RIGHTS } from './rights';

/** Response schemas of tokens, sessions and the audit trail. */

/** The body that starts a session. */
export const sessionSchema = z.strictObject({ token: z.string().min(1).max(500).meta({ writeOnly: true }) });

const time = z.iso.datetime();
const changed = { version: z.int(), createdAt: time, updatedAt: time };

export const token = z.strictObject({
  ...{ id: z.string(), name: z.string(), role: z.enum(ROLES), ...changed },
  rights: z.array(z.enum(RIGHTS)).nullable().meta({ description: 'null: all rights of the role' }),
  expiresAt: time.nullable().meta({ description: 'null: never' }),
  lastUsedAt: time.nullable().meta({ description: 'To the minute; null if unknown' }),
});
const actor = z.strictObject({ id: z.string(), name: z.string(), role: z.enum(ROLES) });
export const session = actor.extend({
  rights: z.array(z.string()).nullable().meta({ description: 'null: all rights of the role' }),
  expiresAt: time.nullable(),
});
export const audit = z.strictObject({
  at: time,
  by: actor,
  action: z.enum(ACTIONS),
  kind: z.enum(AUDIT_KINDS),
  entry: z.string(),
  name: z.string(),
  version: z
    .int()
    .nullable()
    .meta({ description: 'Version created by the change; null if the configuration did not change' }),
  changes: z.array(z.strictObject({ field: z.string(), from: z.unknown(), to: z.unknown() })).meta({
    description: 'Secrets are ***',
  }),
});
