import { type Log } from '../telemetry/log';
import { type Destination, SYSTEM_ID, type SystemEntry } from '../model/config';
import { type Encryptor } from './encryption';
import { type ConfigReader, type ConfigView } from './types';

/**
 * Checks whether this process has the key that encrypted `config`, by a known text that is stored encrypted beside the
 * other entries.
 */

const CANARY = 'waypost canary';

export function newSystemEntry(encryptor: Encryptor): SystemEntry {
  return { id: SYSTEM_ID, canary: encryptor.encrypt(CANARY, SYSTEM_ID), writeKeys: 'sealed' };
}

/**
 * Returns why WAYPOST_SECRET_KEY of this process does not fit `config`, as one sentence for people; undefined if it
 * fits. In a system without a canary it fits if it decrypts any destination, or no destination exists.
 */
export function keyProblem(config: Pick<ConfigView, 'system' | 'list'>, encryptor: Encryptor): string | undefined {
  const system = config.system()?.data;
  const fits = system
    ? encryptor.decrypt(system.canary, SYSTEM_ID).text === CANARY
    : fitsDestinations(
        config.list('destination').map(({ data }) => data),
        encryptor,
      );
  if (fits) return undefined;
  return (
    'WAYPOST_SECRET_KEY differs from the key that sealed config. Give control and delivery the same list of keys; if that ' +
    'key is lost, run `config reseal --key-lost`, and set URLs, headers and secrets again'
  );
}

/**
 * Logs at start, and when the canary changes, that the key does not fit.
 * @returns the reasons for `/readyz`: a process with another key must not replace a process with the right key
 */
export function watchKey(config: ConfigReader, encryptor: Encryptor, log: Log): () => string[] {
  let reasons: string[] = [];
  const look = () => {
    const reason = keyProblem(config, encryptor);
    if (reason !== undefined && reasons.length === 0) log.error({ reason }, 'secret_key.differs');
    reasons = reason === undefined ? [] : [reason];
  };
  look();
  config.onChange(({ kind }) => {
    if (kind === 'system') look();
  });
  return () => reasons;
}

function fitsDestinations(destinations: readonly Destination[], encryptor: Encryptor): boolean {
  const sealed = destinations.flatMap(({ id, webhooks }) => webhooks.slice(0, 1).map(({ url }) => ({ id, url })));
  return sealed.length === 0 || sealed.some(({ id, url }) => encryptor.decrypt(url, id).text !== undefined);
}
