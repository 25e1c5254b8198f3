import { type Destination, type Operations } from '../../shared/api/operations';
import { MESSAGE_TYPES } from '../../shared/domain/message';
import { listOf, oneOf, type Session, whole } from '../command';
import { findSource } from '../find';
import { parseHeaders } from '../headers';
import { readInput, readSecretFile } from '../secret-input';
import { usage } from '../world';

/** What of a destination is set by options, for making and for changing one. */

type Patch = Operations['PATCH /destinations/{id}']['body'];
export type Fields = Pick<Patch, 'sources' | 'webhooks' | 'sharedSecret' | 'types' | 'maxPerSecond'>;
type Webhook = NonNullable<Fields['webhooks']>[number];

export interface EditOptions {
  source?: string[];
  webhook?: string[];
  headersFile?: string;
  secretFile?: string;
  secret?: boolean;
  types?: string;
  maxPerSecond?: string;
}

export const EDITS: [string, string][] = [
  ['--source <source...>', 'connected to these, by id or name'],
  [
    '--webhook <url...>',
    'POSTs to these, five at most; @file: as the file has them, one a line (an address can hold a token)',
  ],
  ['--headers-file <file>', 'static headers of these URLs, one "Name: value" a line; - for standard input'],
  ['--secret-file <file>', 'the shared secret that signs; - for standard input. Or WAYPOST_SHARED_SECRET'],
  ['--no-secret', 'sign no more'],
  ['--types <types>', 'only these, such as track,identify; or all'],
  ['--max-per-second <n>', 'at most so many requests a second to each URL; 0 for no limit'],
];

/** @throws CliError */
export async function fieldsOf(session: Session, options: EditOptions, before?: Destination): Promise<Fields> {
  const { webhook, headersFile, types, maxPerSecond } = options;
  const fields: Fields = {};
  if (options.source) {
    const found = await Promise.all(options.source.map((name) => findSource(session.api(), name)));
    fields.sources = found.map(({ id }) => id);
  }
  const headers = headersFile === undefined ? undefined : parseHeaders(await readInput(session.world, headersFile));
  const urls = webhook && (await Promise.all(webhook.map((url) => urlsOf(session, url)))).flat();
  if (urls || headers) fields.webhooks = webhooksOf(urls, headers, before);
  const secret = await secretOf(session, options, before);
  if (secret !== undefined) fields.sharedSecret = secret;
  if (types !== undefined) {
    fields.types = types === 'all' ? null : listOf(types).map((type) => oneOf(type, '--types', MESSAGE_TYPES));
  }
  if (maxPerSecond !== undefined) {
    fields.maxPerSecond = whole(maxPerSecond, '--max-per-second', [0, 100_000]) || null;
  }
  return fields;
}

async function urlsOf({ world }: Session, given: string): Promise<string[]> {
  if (!given.startsWith('@')) return [given];
  const lines = (await readInput(world, given.slice(1))).split('\n');
  return lines.map((line) => line.trim()).filter((line) => line !== '');
}

/** The headers of a URL that stays are kept, unless new ones are given. @throws CliError for headers without a URL */
function webhooksOf(
  urls: string[] | undefined,
  headers: Record<string, string> | undefined,
  before: Pick<Destination, 'webhooks'> | undefined,
): Webhook[] {
  const wanted = urls ?? before?.webhooks.flatMap(({ url }) => url ?? []);
  if (!wanted || wanted.length === 0) throw usage('--headers-file needs --webhook beside it.');
  return wanted.map((url) => {
    const stays = before?.webhooks.find((webhook) => webhook.url === url);
    return { ...(stays && { id: stays.id }), url, headers: headers ?? stays?.headers ?? {} };
  });
}

async function secretOf(
  { world }: Session,
  { secret, secretFile }: EditOptions,
  before: Destination | undefined,
): Promise<string | null | undefined> {
  if (secret === false) return null;
  if (secretFile !== undefined) return readSecretFile(world, secretFile);
  // In an edit of something else a variable that happens to be set must change nothing.
  return before ? undefined : world.env.WAYPOST_SHARED_SECRET || undefined;
}
