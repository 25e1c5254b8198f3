import { z } from 'zod';
import { MOST_TIMEOUT_MS } from '../model/retry-plan';
import { NO_PROXY, readProxyUrl } from '../model/proxy-url';
import { durationField } from './fields';

/** The retry plan and the egress proxy of a destination. */

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const MOST_WINDOW_MS = 72 * 60 * MINUTE_MS;
/** More than any plan needs: 4 days at an hour each. */
const MAX_DELAYS = 100;
const MAX_STATUSES = 100;

export const retryBody = z
  .strictObject({
    delays: z
      .array(durationField(z.string(), { leastMs: 1, mostMs: MOST_WINDOW_MS }))
      .min(1)
      .max(MAX_DELAYS)
      .optional()
      .meta({
        description:
          'Delays before the second, third, … attempt, such as 10s or 2h. The last one ' +
          'repeats. Each becomes the smallest sum of WAYPOST_RETRY_DELAYS that is not ' +
          'shorter. Omit for WAYPOST_RETRY_DELAYS',
      }),
    effectiveDelays: z
      .unknown()
      .optional()
      .meta({ description: 'Computed by Waypost. Ignored in requests', readOnly: true }),
    window: durationField(z.string(), { leastMs: MINUTE_MS, mostMs: MOST_WINDOW_MS })
      .optional()
      .meta({
        description:
          'Time after which deliveries are given up: 1m to 72h. Omit for WAYPOST_RETRY_WINDOW',
      }),
    timeout: durationField(z.string(), { leastMs: SECOND_MS, mostMs: MOST_TIMEOUT_MS })
      .optional()
      .meta({ description: 'Time for one request: 1s to 30s. Omit for WAYPOST_TIMEOUT' }),
    on: z.array(z.int().min(300).max(599)).max(MAX_STATUSES).optional().meta({
      description:
        'Statuses that are retried too, such as [404]. 5xx, 408, 423, 425 and 429 always are',
    }),
  })
  .meta({ description: 'Own retry plan. Omitted fields are as the settings say' });

export const retryResponse = z.strictObject({
  delays: z.array(z.string()).nullable(),
  effectiveDelays: z.array(z.string()).meta({ description: 'Sums of tiers that the delays take' }),
  window: z.string().nullable(),
  timeout: z.string().nullable(),
  on: z.array(z.int()).nullable(),
});

export const proxyBody = z
  .string()
  .superRefine((text, ctx) => {
    const read = text === NO_PROXY ? undefined : readProxyUrl(text);
    if (typeof read === 'string') {
      ctx.addIssue({ code: 'custom', message: `${read}; or ${NO_PROXY}` });
    }
  })
  .meta({
    description:
      'Egress proxy: http://[user:password@]host:port, socks5://[user:password@]host:port, ' +
      'or none. Omit for WAYPOST_EGRESS_PROXY. Responses contain *** as user info, and ' +
      'sending it keeps the stored one',
  });
