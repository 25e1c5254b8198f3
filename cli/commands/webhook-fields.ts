import { type Destination, type Operations } from '../../shared/api/operations';
import { defined } from '../../shared/collections/defined';
import { type Session } from '../command';
import { parseHeaders } from '../headers';
import { readInput, readSecretFile } from '../secret-input';
import { CliError, usage } from '../process-context';
import { AUTH_EDITS, type AuthOptions, authPartsOf, authWords } from './endpoint-auth';

/** The options for URLs, headers, authentication and secret of a destination or of the alerts. */

type Patch = Operations['PATCH /destinations/{id}']['body'];
type WebhookFields = Pick<Patch, 'webhooks' | 'sharedSecret'>;
type Webhook = NonNullable<WebhookFields['webhooks']>[number];
type Before = Pick<Destination, 'webhooks'>;

export interface WebhookOptions extends AuthOptions {
  webhook?: string[];
  headersFile?: string;
  secretFile?: string;
  secret?: boolean;
}

export const WEBHOOK_EDITS: [string, string][] = [
  [
    '--webhook <url...>',
    'URLs to POST to, five at most. @file reads one URL per line (a URL can contain a token)',
  ],
  [
    '--headers-file <file>',
    'static headers of these URLs, one "Name: value" per line; - for standard input',
  ],
  ['--secret-file <file>', 'the shared secret; - for standard input. Or set WAYPOST_SHARED_SECRET'],
  ['--no-secret', 'remove the shared secret'],
  ...AUTH_EDITS,
];

/**
 * @param before undefined at creation
 * @throws CliError
 */
export async function webhookFieldsOf(
  session: Session,
  options: WebhookOptions,
  before?: Before,
): Promise<WebhookFields> {
  const { webhook, headersFile } = options;
  const fields: WebhookFields = {};
  const headers =
    headersFile === undefined
      ? undefined
      : parseHeaders(await readInput(session.world, headersFile));
  const urls = webhook && (await Promise.all(webhook.map((url) => urlsOf(session, url)))).flat();
  const parts = await authPartsOf(session, options, before === undefined);
  if (urls || headers || Object.keys(parts).length > 0) {
    fields.webhooks = webhooksOf(urls, headers, before).map((one) => ({
      ...one,
      ...partsOf(one, parts),
    }));
  }
  const secret = await secretOf(session, options, before);
  if (secret !== undefined) fields.sharedSecret = secret;
  return fields;
}

async function urlsOf({ world }: Session, given: string): Promise<string[]> {
  if (!given.startsWith('@')) return [given];
  const lines = (await readInput(world, given.slice(1))).split('\n');
  return lines.map((line) => line.trim()).filter((line) => line !== '');
}

/**
 * Keeps the authentication, the TLS settings and the headers of each URL that stays, unless new
 * headers are given.
 * @throws CliError for headers without a URL
 */
function webhooksOf(
  urls: string[] | undefined,
  headers: Record<string, string> | undefined,
  before: Before | undefined,
): Webhook[] {
  const wanted = urls ?? before?.webhooks.flatMap(({ url }) => url ?? []);
  if (!wanted || wanted.length === 0) throw usage('Headers and authentication require --webhook.');
  return wanted.map((url) => {
    const stays = before?.webhooks.find((webhook) => webhook.url === url);
    return {
      ...(stays ? storedParts(stays) : undefined),
      url,
      headers: headers ?? stays?.headers ?? {},
    };
  });
}

/** Returns what a webhook keeps, in the form that the API takes back. */
function storedParts({
  id,
  auth,
  tls,
}: Before['webhooks'][number]): Pick<Webhook, 'id' | 'auth' | 'tls'> {
  // A token URL that was lost with its key is null, and the API refuses it.
  return {
    id,
    ...defined({
      auth: auth ? (auth as Webhook['auth']) : undefined,
      tls: tls || undefined,
    }),
  };
}

/** Only the given part of the TLS settings changes. */
function partsOf({ tls: before }: Webhook, { tls, ...parts }: Partial<Webhook>): Partial<Webhook> {
  if (tls === undefined) return parts;
  return { ...parts, tls: tls === null ? null : { ...before, ...tls } };
}

async function secretOf(
  { world }: Session,
  { secret, secretFile }: WebhookOptions,
  before: Before | undefined,
): Promise<string | null | undefined> {
  if (secret === false) return null;
  if (secretFile !== undefined) return readSecretFile(world, secretFile);
  // A variable that happens to be set must not change the secret during another edit.
  return before ? undefined : world.env.WAYPOST_SHARED_SECRET || undefined;
}

/** Lists each URL with the names of its headers, for `Printer.thing`. */
export function webhookLines(webhooks: Destination['webhooks']): [string, string][] {
  return webhooks.map((webhook) => {
    const { url, headers, disabled } = webhook;
    const words = [url ?? 'lost with its key; set it again'];
    if (disabled) words.push(`off since ${disabled.at} (${disabled.reason})`);
    words.push(...Object.keys(headers).map((header) => `${header}: ***`), ...authWords(webhook));
    return ['webhook', words.join('  ')];
  });
}

/** Returns the id of the webhook with this id or URL. @throws CliError */
export function webhookIdOf({ name, webhooks }: Destination, given: string): string {
  const found = webhooks.filter(({ id, url }) => id === given || url === given);
  const [first] = found;
  if (first === undefined) throw new CliError(`Destination "${name}" has no webhook ${given}.`);
  if (found.length === 1) return first.id;
  throw new CliError(
    `Destination "${name}" has this URL ${String(found.length)} times. Give the id of one.`,
  );
}
