import { z } from 'zod';
import { CLIENT_AUTHS, SIGNATURE_ALGORITHMS, SIGNATURE_ENCODINGS } from '../model/endpoint-auth';
import { checkHeaderName, checkWebhookUrl } from '../model/webhook-request';
import { time } from './fields';

/**
 * The authentication and the TLS settings of a URL, and the signatures of a destination: requests
 * and responses. Secrets are write-only.
 */

/** `{"keep": true}` instead of a secret keeps the stored one. */
export interface KeepValue {
  keep: true;
}
export type SecretValue = string | KeepValue;

export function isKeepValue(value: unknown): value is KeepValue {
  return (
    typeof value === 'object' &&
    value !== null &&
    'keep' in value &&
    value.keep === true &&
    Object.keys(value).length === 1
  );
}

const KEEP_SCHEMA = {
  type: 'object',
  properties: { keep: { const: true } },
  required: ['keep'],
  additionalProperties: false,
} as const;

const MAX_CREDENTIAL_CHARACTERS = 4_096;
const MAX_TEXT_CHARACTERS = 1_024;
const MAX_PARAMS = 20;
/** An entry of `config` has at most 900 KB, and a destination five URLs. */
const MAX_KEY_CHARACTERS = 16_384;
const MAX_CERTIFICATE_CHARACTERS = 32_768;
const MAX_CA_CHARACTERS = 98_304;

/**
 * Returns the end of a sentence that begins with the name of the field; undefined if the text is
 * valid.
 */
type Check = (text: string) => string | undefined;

const within =
  (most: number, check: Check = () => undefined): Check =>
  (text) => {
    if (text === '') return 'must not be empty';
    return text.length > most ? `must have at most ${most} characters` : check(text);
  };
/** One token of a header's value. */
const visible: Check = (text) =>
  /^[\x21-\x7e]+$/.test(text) ? undefined : 'must be printable ASCII without spaces';
const printable: Check = (text) =>
  /^[\x20-\x7e]+$/.test(text) ? undefined : 'must be printable ASCII';
// eslint-disable-next-line no-control-regex -- this looks for control characters
const CONTROL = /[\x00-\x1f\x7f]|\p{Surrogate}/u;
const clean: Check = (text) =>
  CONTROL.test(text) ? 'must not contain control characters' : undefined;

function secret(check: Check, description: string) {
  return z
    .custom<SecretValue>()
    .superRefine((value: unknown, ctx) => {
      const problem = secretProblem(value, check);
      if (problem !== undefined) ctx.addIssue({ code: 'custom', message: problem });
    })
    .meta({
      description: `${description}. Write-only: {"keep": true} keeps the stored one`,
      anyOf: [{ type: 'string' }, KEEP_SCHEMA],
    });
}

function secretProblem(value: unknown, check: Check): string | undefined {
  if (value === undefined) return 'is required';
  if (isKeepValue(value)) return undefined;
  return typeof value === 'string' ? check(value) : 'must be a string or {"keep": true}';
}

function text(check: Check, description: string) {
  return z
    .string()
    .superRefine((value, ctx) => {
      const problem = check(value);
      if (problem !== undefined) ctx.addIssue({ code: 'custom', message: problem });
    })
    .meta({ description });
}

const MAX_NAME_CHARACTERS = 200;
const checkName = within(MAX_NAME_CHARACTERS, checkHeaderName);
/** A custom signature may replace X-Signature. */
const checkSignatureName: Check = (value) =>
  value.toLowerCase() === 'x-signature' ? undefined : checkName(value);

const credential = within(MAX_CREDENTIAL_CHARACTERS, visible);
const tokenUrl = text((value) => {
  const check = checkWebhookUrl(value);
  return check.ok ? undefined : check.problem;
}, 'The token endpoint: http or https');

/** These fields of the token request have settings, or are fixed. */
const OWN_PARAMS: ReadonlySet<string> = new Set([
  'grant_type',
  'client_id',
  'client_secret',
  'scope',
  'audience',
]);

const params = z
  .record(z.string(), secret(within(MAX_TEXT_CHARACTERS, clean), 'Value'))
  .superRefine((given, ctx) => {
    if (Object.keys(given).length > MAX_PARAMS) {
      ctx.addIssue({ code: 'custom', message: `must have at most ${MAX_PARAMS} fields` });
      return;
    }
    for (const name of Object.keys(given)) {
      const problem = OWN_PARAMS.has(name)
        ? 'is set by Waypost or by another field'
        : within(100, visible)(name);
      if (problem !== undefined) ctx.addIssue({ code: 'custom', message: problem, path: [name] });
    }
  })
  .meta({ description: 'Further form fields of the token request' });

const TYPES = ['basic', 'bearer', 'header', 'oauth2', 'pagerduty'] as const;

export const auth = z
  .discriminatedUnion(
    'type',
    [
      z.strictObject({
        type: z.literal('basic'),
        username: text(
          within(MAX_TEXT_CHARACTERS, (value) =>
            value.includes(':') ? 'must not contain a colon' : clean(value),
          ),
          'The user name',
        ),
        password: secret(within(MAX_TEXT_CHARACTERS, clean), 'The password'),
      }),
      z.strictObject({ type: z.literal('bearer'), token: secret(credential, 'The token') }),
      z.strictObject({
        type: z.literal('header'),
        name: text(checkName, 'Name of the header'),
        value: secret(within(MAX_CREDENTIAL_CHARACTERS, printable), 'Value of the header'),
      }),
      z.strictObject({
        type: z.literal('oauth2'),
        tokenUrl,
        clientId: text(within(MAX_TEXT_CHARACTERS, printable), 'The id of the client'),
        clientSecret: secret(
          within(MAX_CREDENTIAL_CHARACTERS, printable),
          'The secret of the client',
        ),
        scope: text(
          within(MAX_TEXT_CHARACTERS, printable),
          'Scopes, separated by spaces',
        ).nullish(),
        audience: text(
          within(MAX_TEXT_CHARACTERS, printable),
          'The audience of the token',
        ).nullish(),
        params: params.nullish(),
        clientAuth: z
          .enum(CLIENT_AUTHS)
          .nullish()
          .meta({
            description:
              'Where the client id and secret are sent: in the Authorization header (basic) ' +
              'or in the form (body)',
          }),
      }),
      z.strictObject({
        type: z.literal('pagerduty'),
        routingKey: secret(
          within(100, visible),
          'The integration key. Delivery adds it to the body as `routing_key`',
        ),
      }),
    ],
    { error: `must have a type: ${TYPES.join(', ')}` },
  )
  .meta({ description: 'How requests to this URL authenticate' });

/** PEM, checked by the handler, which can parse it. */
const pem = (most: number, description: string) => text(within(most), description);

export const tls = z
  .strictObject({
    certificate: pem(
      MAX_CERTIFICATE_CHARACTERS,
      'The client certificate, with its intermediates, as PEM',
    ).nullish(),
    key: secret(
      within(MAX_KEY_CHARACTERS),
      'The private key of the certificate as PEM, without a passphrase',
    ).nullish(),
    ca: pem(
      MAX_CA_CHARACTERS,
      'The authorities that may have signed the certificate of the endpoint, as PEM. Omit ' +
        'for public ones',
    ).nullish(),
    notAfter: z
      .unknown()
      .optional()
      .meta({ description: 'Ignored: a response shows when the certificate expires' }),
  })
  .meta({ description: 'TLS settings of this URL' });

export const signature = z
  .strictObject({
    xSignature: z.boolean().optional().meta({ description: 'Send X-Signature. Default: true' }),
    ed25519: z
      .boolean()
      .optional()
      .meta({
        description:
          'Add an Ed25519 signature (v1a) to webhook-signature. Default: false. Its keys are ' +
          'at /destinations/{id}/public-keys',
      }),
    custom: z
      .strictObject({
        header: text(checkSignatureName, 'Name of the header'),
        algorithm: z.enum(SIGNATURE_ALGORITHMS),
        encoding: z.enum(SIGNATURE_ENCODINGS),
        prefix: text(
          within(100, printable),
          'Text before the signature, such as sha256=',
        ).nullish(),
      })
      .nullish()
      .meta({
        description: 'An HMAC of the body by the shared secret, in a header of your choice',
      }),
  })
  .meta({ description: 'The signatures of the requests' });

export type AuthFields = z.output<typeof auth>;
export type TlsFields = z.output<typeof tls>;
export type SignatureFields = z.output<typeof signature>;

const kept = z.strictObject({ keep: z.literal(true) });

/** Fields of the responses. They contain no secret. */
export const authView = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('basic'), username: z.string(), password: kept }),
  z.strictObject({ type: z.literal('bearer'), token: kept }),
  z.strictObject({ type: z.literal('header'), name: z.string(), value: kept }),
  z.strictObject({
    type: z.literal('oauth2'),
    tokenUrl: z.string().nullable(),
    clientId: z.string(),
    clientSecret: kept,
    scope: z.string().nullable(),
    audience: z.string().nullable(),
    params: z.record(z.string(), kept).nullable(),
    clientAuth: z.enum(CLIENT_AUTHS),
  }),
  z.strictObject({ type: z.literal('pagerduty'), routingKey: kept }),
]);

export const tlsView = z.strictObject({
  certificate: z.string().nullable(),
  key: kept.nullable(),
  ca: z.string().nullable(),
  notAfter: time
    .nullable()
    .meta({ description: 'When the first certificate of the client expires' }),
});

export const signatureView = z.strictObject({
  xSignature: z.boolean(),
  ed25519: z.boolean(),
  custom: z
    .strictObject({
      header: z.string(),
      algorithm: z.enum(SIGNATURE_ALGORITHMS),
      encoding: z.enum(SIGNATURE_ENCODINGS),
      prefix: z.string().nullable(),
    })
    .nullable(),
});
