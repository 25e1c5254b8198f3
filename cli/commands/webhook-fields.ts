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
  dropSecrets?: boolean;
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

/** Only an edit can drop stored secrets. */
export const DROP_SECRETS: [string, string] = [
  '--drop-secrets',
  'with --webhook: give up the headers, authentication and TLS settings of URLs that leave',
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
    const { webhooks, leaving } = webhooksOf(urls, headers, before);
    const dropped = droppedOf(leaving, { headers, ...parts });
    if (dropped.length > 0) {
      if (!options.dropSecrets) throw refusalToDrop(dropped);
      session.print.note(`Dropped ${dropped.join('; ')}.`);
    }
    fields.webhooks = webhooks.map((one) => ({ ...one, ...partsOf(one, parts) }));
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

interface WantedWebhooks {
  webhooks: Webhook[];
  /** stored ones that no wanted one continues */
  leaving: Before['webhooks'];
}

/**
 * Keeps the authentication, the TLS settings and the headers of each URL that stays or gets another
 * path at its origin, unless new headers are given. Stored secrets never go to another origin.
 * @throws CliError for headers without a URL
 */
function webhooksOf(
  urls: string[] | undefined,
  headers: Record<string, string> | undefined,
  before: Before | undefined,
): WantedWebhooks {
  const stored = before?.webhooks ?? [];
  const wanted = urls ?? stored.flatMap(({ url }) => url ?? []);
  if (wanted.length === 0) throw usage('Headers and authentication require --webhook.');
  const leaving = new Set(stored);
  const take = (isIt: (webhook: Before['webhooks'][number]) => boolean) => {
    const found = [...leaving].find(isIt);
    if (found) leaving.delete(found);
    return found;
  };
  // First those that stay: another path must not take their secrets.
  const same = wanted.map((url) => take((webhook) => webhook.url === url));
  const webhooks = wanted.map((url, i) => {
    const stays = same[i] ?? take((webhook) => isAtOriginOf(url, webhook.url));
    return {
      ...(stays ? storedParts(stays) : undefined),
      url,
      headers: headers ?? stays?.headers ?? {},
    };
  });
  return { webhooks, leaving: [...leaving] };
}

function isAtOriginOf(url: string, stored: string | null): boolean {
  return originOf(url) !== undefined && originOf(url) === originOf(stored);
}

function originOf(url: string | null): string | undefined {
  return url !== null && URL.canParse(url) ? new URL(url).origin : undefined;
}

/**
 * Says what leaves with URLs, and has no successor among the given parts. A URL that was lost with
 * its key has lost its secrets already.
 */
function droppedOf(leaving: Before['webhooks'], given: Partial<Webhook>): string[] {
  return leaving.flatMap((webhook) => {
    const { url, headers, auth, tls } = webhook;
    if (url === null) return [];
    const names = given.headers === undefined ? Object.keys(headers) : [];
    const parts = [
      ...names.map((name) => `header ${name}`),
      ...authWords({
        ...webhook,
        auth: given.auth === undefined ? auth : null,
        tls: given.tls === undefined ? tls : null,
      }),
    ];
    return parts.length === 0 ? [] : [`${parts.join(', ')} of ${originOf(url) ?? 'a URL'}`];
  });
}

function refusalToDrop(dropped: readonly string[]): CliError {
  return usage(
    `Nothing was changed: it would drop ${dropped.join('; ')}, which Waypost cannot show again ` +
      'and does not send to another origin. Give new ones (--headers-file, --auth-file, ' +
      '--client-cert, --ca), or drop them with --drop-secrets.',
  );
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
