import { type Destination, type Operations } from '../../shared/api/operations';
import { compact, defined } from '../../shared/collections/defined';
import { SIGNATURE_ALGORITHMS, SIGNATURE_ENCODINGS } from '../../shared/model/endpoint-auth';
import { listOf, oneOf, type Session } from '../command';
import { CliError, usage } from '../process-context';
import { readInput } from '../secret-input';

/**
 * The options for the authentication and TLS settings of URLs, and for the signatures of a
 * destination.
 */

type Patch = Operations['PATCH /destinations/{id}']['body'];
type Webhook = NonNullable<Patch['webhooks']>[number];
type Signature = NonNullable<Patch['signature']>;

export interface AuthOptions {
  /** false: --no-auth */
  authFile?: string;
  auth?: boolean;
  clientCert?: string;
  clientKey?: string;
  ca?: string;
  tls?: boolean;
}

export const AUTH_EDITS: [string, string][] = [
  [
    '--auth-file <file>',
    'authentication at these URLs, as JSON such as {"type": "bearer", "token": "…"}; - for ' +
      'standard input. Or set WAYPOST_ENDPOINT_AUTH',
  ],
  ['--no-auth', 'remove the authentication'],
  ['--client-cert <file>', 'client certificate of these URLs, PEM'],
  ['--client-key <file>', 'its private key, PEM; - for standard input'],
  ['--ca <file>', 'authorities that may have signed the certificates of these URLs, PEM'],
  ['--no-tls', 'remove the client certificate and the authorities'],
];

/**
 * Returns the parts of each URL that the options set.
 * @param isNew the variable that holds an authentication counts only at creation: it must not
 *   change another edit
 * @throws CliError, which repeats no secret
 */
export async function authPartsOf(
  { world }: Session,
  options: AuthOptions,
  isNew: boolean,
): Promise<Partial<Webhook>> {
  const { authFile, clientCert, clientKey, ca } = options;
  const parts: Partial<Webhook> = {};
  const text =
    authFile === undefined
      ? (isNew && world.env.WAYPOST_ENDPOINT_AUTH) || undefined
      : await readInput(world, authFile);
  if (options.auth === false) parts.auth = null;
  else if (text !== undefined) parts.auth = parseAuth(text, authFile ?? 'WAYPOST_ENDPOINT_AUTH');
  if ((clientCert === undefined) !== (clientKey === undefined)) {
    throw usage('--client-cert and --client-key belong together: give both.');
  }
  if (options.tls === false) parts.tls = null;
  else if (clientCert !== undefined || ca !== undefined) {
    parts.tls = defined({
      certificate: clientCert !== undefined ? await readInput(world, clientCert) : undefined,
      key: clientKey !== undefined ? await readInput(world, clientKey) : undefined,
      ca: ca !== undefined ? await readInput(world, ca) : undefined,
    });
  }
  return parts;
}

function parseAuth(text: string, from: string): NonNullable<Webhook['auth']> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null) return value as NonNullable<Webhook['auth']>;
  } catch {
    // The error would quote the text.
  }
  throw new CliError(
    `${from === '-' ? 'Standard input' : from} is not a JSON object such as {"type": ` +
      '"bearer", "token": "…"}.',
  );
}

export interface SignatureOptions {
  xSignature?: boolean;
  ed25519?: boolean;
  signature?: string;
}

export const SIGNATURE_EDITS: [string, string][] = [
  ['--ed25519', 'add an Ed25519 signature (v1a) to webhook-signature'],
  ['--no-ed25519', 'remove it, and its keys'],
  ['--x-signature', 'send X-Signature (the default)'],
  ['--no-x-signature', 'do not send it'],
  [
    '--signature <form>',
    'a signature as the receiver checks it: github, shopify, ' +
      'HEADER,ALGORITHM,ENCODING[,PREFIX] such as X-Sign,sha256,hex, or none',
  ],
];

const FORMS: Readonly<Record<string, string>> = {
  github: 'X-Hub-Signature-256,sha256,hex,sha256=',
  shopify: 'X-Shopify-Hmac-Sha256,sha256,base64',
};

/** @throws CliError */
export function signatureFieldsOf({
  xSignature,
  ed25519,
  signature,
}: SignatureOptions): Pick<Patch, 'signature'> {
  const fields: Signature = defined({
    xSignature,
    ed25519,
    custom: signature !== undefined ? customOf(signature) : undefined,
  });
  return Object.keys(fields).length > 0 ? { signature: fields } : {};
}

function customOf(text: string): Signature['custom'] {
  if (text === 'none') return null;
  const [header = '', algorithm = '', encoding = '', prefix, ...more] = listOf(FORMS[text] ?? text);
  if (more.length > 0) {
    throw usage('--signature has four parts at most: header, algorithm, encoding, prefix.');
  }
  return {
    header,
    algorithm: oneOf(algorithm, 'The algorithm of --signature', SIGNATURE_ALGORITHMS),
    encoding: oneOf(encoding, 'The encoding of --signature', SIGNATURE_ENCODINGS),
    prefix: prefix ?? null,
  };
}

/** Describes the authentication and TLS settings of a URL; empty: none. */
export function authWords({ auth, tls }: Destination['webhooks'][number]): string[] {
  return compact([
    auth
      ? `auth: ${auth.type}${auth.type === 'oauth2' ? ` of ${auth.tokenUrl ?? 'a lost URL'}` : ''}`
      : undefined,
    tls?.certificate ? `client certificate until ${tls.notAfter ?? '?'}` : undefined,
    tls?.ca ? 'own authorities' : undefined,
  ]);
}

/** Lists the signatures for `Printer.thing`; none for the default. */
export function signatureLines({
  signature,
}: Pick<Destination, 'signature'>): [string, string | undefined][] {
  if (!signature) return [];
  const { xSignature, ed25519, custom } = signature;
  return [
    ['ed25519', ed25519 ? 'yes' : undefined],
    ['x-signature', xSignature ? undefined : 'no'],
    [
      'signature',
      custom
        ? `${custom.header}: ${custom.prefix ?? ''}${custom.algorithm} as ${custom.encoding}`
        : undefined,
    ],
  ];
}
