import { z } from 'zod';
import { checkStaticHeaders, checkWebhookUrl } from '../model/webhook-request';
import { DISABLED_REASONS, GENERATE_SECRET } from '../model/config';
import { auth, authView, isKeepValue, type SecretValue, tls, tlsView } from './endpoint-auth';
import { overlap, time, timeInput } from './fields';

/**
 * Webhooks and the secret that signs their requests, which destinations and alerts share.
 *
 * Each rule belongs to one field, and none aborts another, so that one response names every bad
 * field.
 */

export const MAX_WEBHOOKS = 5;
const MAX_SECRET_CHARACTERS = 512;
/**
 * A shorter secret can be guessed from one captured signature. Customers bring secrets that other
 * products made, so the bound is 8 and not the 24 of Standard Webhooks.
 */
const MIN_SECRET_BYTES = 8;
const WHSEC = 'whsec_';

const url = z
  .string()
  .superRefine((text, ctx) => {
    const check = checkWebhookUrl(text);
    if (!check.ok) ctx.addIssue({ code: 'custom', message: check.problem });
  })
  .meta({
    description: 'http or https, without user info and fragment, at most 2,048 characters',
    format: 'uri',
  });

const headers = z
  .record(z.string(), z.custom<SecretValue>())
  .superRefine((given, ctx) => {
    // A kept value was validated when it was set; only its name can be wrong.
    const values = Object.entries(given).map(([key, value]) => [
      key,
      isKeepValue(value) ? '' : value,
    ]);
    for (const { name: header, problem } of checkStaticHeaders(
      Object.fromEntries(values) as Record<string, unknown>,
    )) {
      ctx.addIssue({ code: 'custom', message: problem, path: header === '' ? [] : [header] });
    }
  })
  .default({})
  .meta({
    description:
      'Static headers, at most 20. Values are write-only: responses contain {"keep": true} instead',
    additionalProperties: {
      anyOf: [
        { type: 'string', maxLength: 1_024 },
        {
          type: 'object',
          properties: { keep: { const: true } },
          required: ['keep'],
          additionalProperties: false,
        },
      ],
    },
  });

export const webhookBody = z.strictObject({
  id: z
    .string()
    .optional()
    .meta({ description: 'Assigned by Waypost. On PATCH: the existing webhook to change' }),
  url,
  headers,
  auth: auth.nullish(),
  tls: tls.nullish(),
  disabled: z.unknown().optional().meta({ description: 'Read-only: ignored here', readOnly: true }),
});
export type WebhookFields = z.output<typeof webhookBody>;

export const sharedSecret = z
  .string()
  .min(1)
  .max(MAX_SECRET_CHARACTERS)
  .superRefine((text, ctx) => {
    // UTF-8 cannot encode half a surrogate pair, so Waypost would sign with another secret than the
    // given one.
    if (/\p{Surrogate}/u.test(text)) {
      ctx.addIssue({ code: 'custom', message: 'must be text that UTF-8 can encode' });
    } else if (
      text.startsWith(WHSEC) &&
      !/^whsec_(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2,4}={0,2})$/.test(text)
    ) {
      ctx.addIssue({ code: 'custom', message: 'must be base64 after the prefix whsec_' });
    } else if (text !== '' && signingBytes(text) < MIN_SECRET_BYTES) {
      const what = text.startsWith(WHSEC)
        ? `${MIN_SECRET_BYTES} bytes in base64 after whsec_`
        : `${MIN_SECRET_BYTES} bytes`;
      ctx.addIssue({
        code: 'custom',
        message: `must have at least ${what}: a shorter secret can be guessed`,
      });
    }
  })
  .meta({
    description:
      'Signs each request. generate, at creation and rotation: Waypost makes one and shows ' +
      'it in the response only. Otherwise whsec_ and base64, as libraries of Standard ' +
      'Webhooks expect it, or any other text of at least 8 bytes: its receiver must then ' +
      'verify with the bytes of the text, such as new Webhook(secret, { format: "raw" }). ' +
      'Write-only',
    writeOnly: true,
  });

/** Returns why a change may not set this secret; undefined if it may. */
export function secretChangeProblem(secret: unknown): string | undefined {
  if (secret !== GENERATE_SECRET) return undefined;
  return 'is made when a destination is created, or by rotate-secret. Give a secret, or rotate it';
}

/** Returns the length of the key in bytes: `whsec_…` is base64, other secrets are UTF-8. */
function signingBytes(secret: string): number {
  return secret.startsWith(WHSEC)
    ? Math.floor((secret.slice(WHSEC.length).replaceAll('=', '').length * 3) / 4)
    : new TextEncoder().encode(secret).length;
}

export const rotateSecretBody = z.strictObject({
  key: z
    .enum(['sharedSecret', 'ed25519'])
    .default('sharedSecret')
    .meta({ description: 'The secret to rotate' }),
  sharedSecret: sharedSecret.optional(),
  overlap,
  switchAt: timeInput.optional().meta({
    description: 'When X-Signature switches to the new secret. Default: at the end of the overlap',
  }),
});

/** Fields of the responses. They contain no secret and no value of a header. */
export const webhookFields = {
  webhooks: z.array(
    z.strictObject({
      id: z.string(),
      url: z.string().nullable(),
      headers: z.record(z.string(), z.strictObject({ keep: z.literal(true) })),
      auth: authView.nullable(),
      tls: tlsView.nullable(),
      disabled: z
        .strictObject({ at: time, reason: z.enum(DISABLED_REASONS) })
        .nullable()
        .meta({
          description:
            'null: on. Otherwise nothing is sent to it. gone: its receiver answered 410; ' +
            'asked: its receiver asked for it; user: somebody switched it off',
        }),
    }),
  ),
  hasSharedSecret: z.boolean(),
  secretRotation: z.strictObject({ overlapUntil: time, switchAt: time }).nullable(),
};

/** The field that the response to a rotation adds. */
export const rotated = {
  sharedSecret: z
    .string()
    .optional()
    .meta({ description: 'The generated secret, only in this response' }),
};
