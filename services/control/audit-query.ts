import { z } from 'zod';
import { pageParameters } from './query';

/** By what changes are found. */
export const auditQuery = pageParameters.extend({
  kind: z.enum(['source', 'destination', 'token']).optional(),
  entry: z.string().optional().meta({ description: "The entry's id" }),
  by: z.string().optional().meta({ description: 'The id of the token; `admin`: that of the settings' }),
});
