import { openConfig } from '../shared/config/reader';
import { reencryptConfig, type ReencryptReport } from '../shared/config/reencrypt';
import { believeAll, createAuthenticator } from '../shared/config/authentication';
import { createEncryptor } from '../shared/config/encryption';
import { type Entry } from '../shared/config/types';
import { type Token } from '../shared/model/config';
import { openWriter } from '../shared/config/writer';
import { AppError } from '../shared/runtime/errors';
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
    say(
      `${String(report.resealed)} of ${String(report.entries)} entries sealed with the first key`,
    );
    if (report.dropped.length > 0) {
      say(`Deleted, since control did not write them: ${report.dropped.join(', ')}`);
    }
    if (report.notDropped.length > 0) {
      say(`Not deleted, since they changed. Run it again: ${report.notDropped.join(', ')}`);
    }
    if (keyLost) believed(config.list('token')).forEach(say);
    if (report.unreadable.length > 0) throw unreadable(report.unreadable);
  } finally {
    await writer.close();
    await producer.close(GIVE_UP_MS);
    await config.stop();
    await kafka.close();
  }
}

/** Says what an administrator accepted with a lost key. */
function believed(tokens: readonly Entry<Token>[]): string[] {
  return [
    'The key is lost, so nothing shows who wrote config: every entry was authenticated as it was. ' +
      'Whoever could write the topic may have added tokens, sources or destinations. ' +
      (tokens.length === 0 ? 'There are no tokens.' : 'Delete each token that you do not know:'),
    ...tokens.map(({ data: { id, name, role } }) => `  ${id} ${role} ${name}`),
  ];
}

function unreadable(entries: readonly string[]): AppError {
  return new AppError(
    'cannot_start',
    `No key of WAYPOST_SECRET_KEY opens: ${entries.join(', ')}. Add the key that sealed ` +
      'them to the end of the list and run it again, or set their URLs, headers and secrets ' +
      'again; a write key by rotation.',
  );
}
