import { z } from 'zod';
import { ACT_KINDS } from './model';
import { pageParameters } from '../http/query';

export const AUDIT_KINDS = ['source', 'destination', 'token', 'audience', 'computed_trait', ...ACT_KINDS] as const;

/** Query parameters of the audit trail. */
export const auditQuery = pageParameters.extend({
  kind: z.enum(AUDIT_KINDS).optional(),
  entry: z.string().optional().meta({ description: "The entry's id" }),
  by: z.string().optional().meta({ description: 'The id of the token. `admin`: the token in the settings' }),
});
