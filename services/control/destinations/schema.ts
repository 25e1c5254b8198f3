import { z } from 'zod';
import { checkStaticHeaders } from '../../../shared/model/static-headers';
import { MESSAGE_TYPES } from '../../../shared/model/message';
import { checkWebhookUrl } from '../../../shared/model/webhook-url';
import { name, switchOffAfter } from '../http/fields';
import { filterText } from '../debugger/filters';

/**
 * The schema of a destination: used for validation, for types, and for the catalog's JSON Schema.
 *
 * Each rule belongs to one field, and none aborts another, so that one response names every bad field.
 */

export const MAX_WEBHOOKS = 5;
const MAX_SOURCES = 1_000;
const MAX_SECRET_CHARACTERS = 512;
/**
 * A shorter secret can be guessed from one captured signature. Customers bring secrets that other products made, so the
 * bound is 8 and not the 24 of Standard Webhooks.
 */
const MIN_SECRET_BYTES = 8;
const WHSEC = 'whsec_';
const MAX_PER_SECOND = 100_000;
/** More shards than the topic has partitions, at most 1,000, have no effect. */
const MAX_SHARDS = 1_000;

/** `{"keep": true}` instead of a header's value keeps the stored value. */
export interface KeepValue {
  keep: true;
}
type HeaderValue = string | KeepValue;

export function isKeepValue(value: unknown): value is KeepValue {
  return (
    typeof value === 'object' &&
    value !== null &&
    'keep' in value &&
    value.keep === true &&
    Object.keys(value).length === 1
  );
}

const url = z
  .string()
  .superRefine((text, ctx) => {
    const check = checkWebhookUrl(text);
    if (!check.ok) ctx.addIssue({ code: 'custom', message: check.problem });
  })
  .meta({ description: 'http or https, without user info and fragment, at most 2,048 characters', format: 'uri' });

const headers = z
  .record(z.string(), z.custom<HeaderValue>())
  .superRefine((given, ctx) => {
    // A kept value was validated when it was set; only its name can be wrong.
    const values = Object.entries(given).map(([key, value]) => [key, isKeepValue(value) ? '' : value]);
    for (const { name: header, problem } of checkStaticHeaders(Object.fromEntries(values) as Record<string, unknown>)) {
      ctx.addIssue({ code: 'custom', message: problem, path: header === '' ? [] : [header] });
    }
  })
  .default({})
  .meta({
    description: 'Static headers, at most 20. Values are write-only: responses contain {"keep": true} instead',
    additionalProperties: {
      anyOf: [
        { type: 'string', maxLength: 1_024 },
        { type: 'object', properties: { keep: { const: true } }, required: ['keep'], additionalProperties: false },
      ],
    },
  });

export const sharedSecret = z
  .string()
  .min(1)
  .max(MAX_SECRET_CHARACTERS)
  .superRefine((text, ctx) => {
    // UTF-8 cannot encode half a surrogate pair, so Waypost would sign with another secret than the given one.
    if (/\p{Surrogate}/u.test(text)) ctx.addIssue({ code: 'custom', message: 'must be text that UTF-8 can encode' });
    else if (text.startsWith(WHSEC) && !/^whsec_(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2,4}={0,2})$/.test(text)) {
      ctx.addIssue({ code: 'custom', message: 'must be base64 after the prefix whsec_' });
    } else if (text !== '' && signingBytes(text) < MIN_SECRET_BYTES) {
      const what = text.startsWith(WHSEC)
        ? `${MIN_SECRET_BYTES} bytes in base64 after whsec_`
        : `${MIN_SECRET_BYTES} bytes`;
      ctx.addIssue({ code: 'custom', message: `must have at least ${what}: a shorter secret can be guessed` });
    }
  })
  .meta({ description: 'Signs each request; at least 8 bytes. Write-only', writeOnly: true });

/** Returns the length of the key in bytes: `whsec_…` is base64, other secrets are UTF-8. */
function signingBytes(secret: string): number {
  return secret.startsWith(WHSEC)
    ? Buffer.from(secret.slice(WHSEC.length), 'base64').length
    : Buffer.byteLength(secret, 'utf8');
}

export const webhook = z.strictObject({
  id: z.string().optional().meta({ description: 'Assigned by Waypost. On PATCH: the existing webhook to change' }),
  url,
  headers,
});

export const destinationSchema = z.strictObject({
  name,
  type: z.literal('webhooks'),
  enabled: z
    .boolean()
    .default(false)
    .meta({ description: 'If false, it receives nothing and its waiting deliveries are cancelled' }),
  paused: z.boolean().default(false).meta({ description: 'If true, deliveries wait, within their window' }),
  sources: z.array(z.string()).max(MAX_SOURCES).meta({ description: 'Ids of the connected sources' }),
  webhooks: z.array(webhook).min(1).max(MAX_WEBHOOKS),
  sharedSecret: sharedSecret.optional(),
  types: z
    .array(z.enum(MESSAGE_TYPES))
    .min(1)
    .optional()
    .meta({ description: 'Message types to deliver. Omit for all' }),
  filter: filterText.optional(),
  maxPerSecond: z
    .number()
    .min(0.1)
    .max(MAX_PER_SECOND)
    .optional()
    .meta({ description: 'Maximum requests per second to each URL. Omit for no limit' }),
  shards: z.int().min(1).max(MAX_SHARDS).optional().meta({ description: 'Number of shards for its users. Default: 4' }),
  switchOffAfter: switchOffAfter.optional().meta({
    description: 'Switch off after failing for this long, such as 5d. 0s: never. Omit to use the value of /alerts',
  }),
});
type DestinationFields = z.output<typeof destinationSchema>;
export type WebhookFields = DestinationFields['webhooks'][number];

/** Returns the JSON Schema of the settings, for the catalog. */
export function destinationJsonSchema(): object {
  return z.toJSONSchema(destinationSchema, { io: 'input', unrepresentable: 'any' });
}
