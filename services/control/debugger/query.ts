import { z } from 'zod';
import { CALL_TYPES } from '../../../shared/model/message';
import { pageParameters } from '../http/query';

/** Query parameters of events. */

const text = z.string().min(1).max(500);

export const streamQuery = z.strictObject({
  source: text.optional(),
  type: z.enum([...CALL_TYPES, 'delete']).optional(),
  user: text.optional().meta({ description: 'userId or anonymousId' }),
  accepted: z
    .enum(['true', 'false'])
    .transform((value) => value === 'true')
    .optional()
    .meta({ description: 'true: only accepted events; false: only rejected ones' }),
});
export const eventsQuery = streamQuery.extend(pageParameters.shape);
