import { openConfig } from '../shared/config/reader';
import { reencryptConfig, type ReencryptReport } from '../shared/config/reencrypt';
import { believeAll, createAuthenticator } from '../shared/config/authentication';
import { createEncryptor } from '../shared/config/encryption';
import { type Token } from '../shared/model/config';
import { openWriter } from '../shared/config/writer';
import { AppError } from '../shared/runtime/errors';
import { printable } from '../shared/runtime/printable';
import { connectKafka } from '../shared/kafka/client/client';
import { loadSettings, requireSecretKeys } from '../shared/runtime/settings';
import { createLog } from '../shared/telemetry/log';

/**
 * `main.js config reseal` encrypts and authenticates every entry of `config` with the first key of
 * WAYPOST_SECRET_KEY (shared/config/reencrypt.ts). It prints its progress to stderr.
 */

const GIVE_UP_MS = 10_000;
const MAX_PENDING_BYTES = 8 * 1024 * 1024;
const PROGRESS_EVERY = 100;

interface ResealChoices {
  keyLost?: boolean;
  dropUnauthenticated?: boolean;
}

/**
 * @param keyLost encrypts again even if no key of the list decrypts any entry, and believes every
 *   record of `config`
 * @param dropUnauthenticated deletes the entries that control did not write
 * @throws AppError `cannot_start` if no key of the list decrypts `config`, and then writes nothing;
 * also if no key of the list decrypts one entry, after it has encrypted the others
 */
export async function reencrypt(
  env: NodeJS.ProcessEnv,
  say: (line: string) => void,
  { keyLost = false, dropUnauthenticated = false }: ResealChoices = {},
): Promise<void> {
  const settings = loadSettings(env);
  const secretKeys = requireSecretKeys(settings);
  const encryptor = createEncryptor(secretKeys);
  const authenticator = createAuthenticator(secretKeys);
  const log = createLog('config', 'silent');
  const kafka = await connectKafka(settings, { clientId: 'config', log });
  let fatal: unknown;
  const config = await openConfig(kafka, {
    name: 'reseal',
    authenticator: keyLost ? believeAll(authenticator) : authenticator,
    log,
    onFatal: (error) => (fatal ??= error),
  });
  const producer = await kafka.producer({
    maxPendingBytes: MAX_PENDING_BYTES,
    deliveryTimeoutMs: GIVE_UP_MS,
  });
  const writer = openWriter({ config, producer, authenticator, log, now: () => new Date() });
  try {
    const progress = (report: ReencryptReport) => {
      if (report.entries % PROGRESS_EVERY === 0) say(`${String(report.entries)} entries looked at`);
    };
    const report = await reencryptConfig({
      config,
      writer,
      encryptor,
      keyLost,
      dropUnauthenticated,
      progress,
    });
    if (fatal !== undefined) throw fatal as Error;
    const tokens = keyLost ? config.list('token').map(({ data }) => data) : undefined;
    for (const line of outcomeOf(report, tokens)) say(line);
    if (report.unreadable.length > 0) throw unreadable(report.unreadable);
  } finally {
    await writer.close();
    await producer.close(GIVE_UP_MS);
    await config.stop();
    await kafka.close();
  }
}

/**
 * Says what was done, a line each. Strangers may have chosen the names and ids.
 * @param believed the tokens of a system whose key is lost; undefined: it is not
 */
export function outcomeOf(
  { resealed, entries, dropped, notDropped }: ReencryptReport,
  believed: readonly Token[] | undefined,
): string[] {
  const lines = [`${String(resealed)} of ${String(entries)} entries sealed with the first key`];
  if (dropped.length > 0) {
    lines.push(`Deleted, since control did not write them: ${dropped.join(', ')}`);
  }
  if (notDropped.length > 0) {
    lines.push(`Not deleted, since they changed. Run it again: ${notDropped.join(', ')}`);
  }
  if (believed) lines.push(...acceptedWith(believed));
  return lines.map(printable);
}

/** Says what an administrator accepted with a lost key. */
function acceptedWith(tokens: readonly Token[]): string[] {
  return [
    'The key is lost, so nothing shows who wrote config: every entry was authenticated as it ' +
      'was. Whoever could write the topic may have added tokens, sources or destinations. ' +
      (tokens.length === 0 ? 'There are no tokens.' : 'Delete each token that you do not know:'),
    ...tokens.map(({ id, name, role }) => `  ${id} ${role} ${name}`),
  ];
}

function unreadable(entries: readonly string[]): AppError {
  return new AppError(
    'cannot_start',
    `No key of WAYPOST_SECRET_KEY opens: ${entries.map(printable).join(', ')}. Add the key that sealed ` +
      'them to the end of the list and run it again, or set their URLs, headers and secrets ' +
      'again; a write key by rotation.',
  );
}
