import {
  type Destination,
  type Kind,
  type Kinds,
  KINDS,
  type Source,
  SYSTEM_ID,
} from '../model/config';
import { mapSecrets } from '../model/secret-fields';
import { AppError } from '../runtime/errors';
import {
  keyProblem,
  newSystemEntry,
  type Encryptor,
  decryptWriteKey,
  encryptWriteKey,
} from './encryption';
import { type FollowedConfig } from './reader';
import { type ConfigReader, type Entry } from './types';
import { type ConfigWriter } from './writer';

/**
 * Encrypts and authenticates all of `config` with the first key of WAYPOST_SECRET_KEY, so that the
 * other keys can be retired. It is safe while control runs, since each write names the version that
 * it replaces, and can be repeated.
 */

const REFRESH_MS = 10_000;
/** A try fails only if the same entry changes at the same moment. */
const MAX_TRIES = 10;

/** An entry encrypted with the first key. */
interface Resealed<T> {
  /** undefined: it already was */
  data: T | undefined;
  /** no key decrypts one of its texts, which stays as it is */
  unreadable: boolean;
}

/** Pure, except for the random parts of encrypted texts. */
export function resealDestination(
  destination: Destination,
  encryptor: Encryptor,
): Resealed<Destination> {
  let [changed, unreadable] = [false, false];
  const data = mapSecrets(destination, (sealed, field) => {
    if (encryptor.isCurrent(sealed)) return sealed;
    const { text } = encryptor.decrypt(sealed, field);
    if (text === undefined) unreadable = true;
    else changed = true;
    return text === undefined ? sealed : encryptor.encrypt(text, field);
  });
  return { data: changed ? data : undefined, unreadable };
}

/** Pure, except for the random parts of encrypted texts. */
function resealSource(source: Source, encryptor: Encryptor): Resealed<Source> {
  let [changed, unreadable] = [false, false];
  const writeKeys = source.writeKeys.map((writeKey) => {
    if (encryptor.isCurrent(writeKey.sealed)) return writeKey;
    const key = decryptWriteKey(writeKey, source.id, encryptor);
    if (key === undefined) unreadable = true;
    else changed = true;
    return key === undefined
      ? writeKey
      : { ...writeKey, ...encryptWriteKey(key, source.id, encryptor) };
  });
  return { data: changed ? { ...source, writeKeys } : undefined, unreadable };
}

export interface ReencryptReport {
  /** entries written */
  resealed: number;
  /** entries checked */
  entries: number;
  /** `kind:id` of entries with a text that no key decrypts */
  unreadable: string[];
  /** `kind:id` of entries that control did not write, and that are deleted now */
  dropped: string[];
  /** such entries that could not be deleted, because they changed at the same time */
  notDropped: string[];
}

interface ResealOptions {
  config: Pick<FollowedConfig, 'recordAt' | 'outdated' | 'refused'> & ConfigReader;
  writer: Pick<ConfigWriter, 'write' | 'bury'>;
  encryptor: Encryptor;
  /** encrypts with a key that decrypts nothing in `config`, for a system whose key is lost */
  keyLost?: boolean;
  /** deletes the entries that control did not write */
  dropUnauthenticated?: boolean;
  /** called after each entry */
  progress?: (report: ReencryptReport) => void;
}

/**
 * @throws AppError `cannot_start` before the first write if no key decrypts `config`;
 * `kafka_unavailable`: written entries stay, and the next run continues
 */
export async function reencryptConfig(options: ResealOptions): Promise<ReencryptReport> {
  const { config, encryptor, keyLost = false, progress } = options;
  // A canary under a wrong key would make every process with the right key not ready.
  if (!keyLost && keyProblem(config, encryptor) !== undefined) throw wrongKey();
  const report: ReencryptReport = {
    resealed: 0,
    entries: 0,
    unreadable: [],
    dropped: [],
    notDropped: [],
  };
  const one = async <K extends Kind>(kind: K, id: string, find: Find<K>, decide: Decide<K>) => {
    const { written, unreadable } = await resealEntry(options, { kind, id, find, decide });
    report.entries++;
    if (written) report.resealed++;
    if (unreadable) report.unreadable.push(`${kind}:${id}`);
    progress?.(report);
  };
  const system = (data: Kinds['system'] | undefined) => ({
    data: data && encryptor.isCurrent(data.canary) ? undefined : newSystemEntry(encryptor),
    unreadable: false,
  });
  await one('system', SYSTEM_ID, () => config.system(), system);
  for (const { data } of config.list('source')) {
    await one('source', data.id, () => config.source(data.id), decided(resealSource, encryptor));
  }
  for (const { data } of config.list('destination')) {
    await one(
      'destination',
      data.id,
      () => config.destination(data.id),
      decided(resealDestination, encryptor),
    );
  }
  if (options.dropUnauthenticated) await dropRefused(options, report);
  for (const key of config.outdated()) {
    await authenticateAgain(options, key);
    report.entries++;
    report.resealed++;
    progress?.(report);
  }
  return report;
}

/** Deletes the entries that control did not write, also for services that believed them. */
async function dropRefused(
  { config, writer }: ResealOptions,
  { dropped, notDropped }: ReencryptReport,
): Promise<void> {
  for (const key of config.refused()) {
    const [, prefix, id] = /^([^:]*):(.+)$/s.exec(key) ?? [];
    const kind = KINDS.find((each) => each === prefix);
    if (kind === undefined || id === undefined) {
      // No service can have an entry of this key.
      await writer.bury(key);
      dropped.push(key);
    } else {
      const { ok } = await writer.write(kind, id, undefined, { replaces: 0 });
      (ok ? dropped : notDropped).push(key);
    }
  }
}

/** Writes an entry, or its deletion, as it is: the writer authenticates it with the first key. */
async function authenticateAgain({ config, writer }: ResealOptions, key: string): Promise<void> {
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const present = config.recordAt(key);
    if (!present || !config.outdated().includes(key)) return;
    const { kind, id, version: replaces, data } = present;
    const { ok } = await writer.write(kind, id, data, { replaces, ...noteOf(data) });
    if (ok) return;
    await config.refresh(REFRESH_MS);
  }
  throw overtaken(key);
}

function overtaken(entry: string): AppError {
  return new AppError('overloaded', `Others keep changing the ${entry}. Run it again`, true);
}

function wrongKey(): AppError {
  return new AppError(
    'cannot_start',
    'No key of WAYPOST_SECRET_KEY opens config, so nothing was written. Run it with the ' +
      'list of keys that control has. If that ' +
      'key is lost, run `config reseal --key-lost`, then set URLs, headers and secrets again.',
  );
}

type Find<K extends Kind> = () => Entry<Kinds[K]> | undefined;
/** @param data undefined: the entry does not exist (any more) */
type Decide<K extends Kind> = (data: Kinds[K] | undefined) => Resealed<Kinds[K]>;

function decided<T>(reseal: (data: T, encryptor: Encryptor) => Resealed<T>, encryptor: Encryptor) {
  return (data: T | undefined): Resealed<T> =>
    data ? reseal(data, encryptor) : { data: undefined, unreadable: false };
}

async function resealEntry<K extends Kind>(
  { config, writer }: ResealOptions,
  { kind, id, find, decide }: { kind: K; id: string; find: Find<K>; decide: Decide<K> },
): Promise<{ written: boolean; unreadable: boolean }> {
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const before = find();
    const { data, unreadable } = decide(before?.data);
    if (data === undefined) return { written: false, unreadable };
    const replaces = before?.version ?? 0;
    const { ok } = await writer.write(kind, id, data, { replaces, ...noteOf(data) });
    if (ok) return { written: true, unreadable };
    await config.refresh(REFRESH_MS);
  }
  throw overtaken(`${kind} ${id}`);
}

/** For the audit trail, which shows entries that users create. */
function noteOf(data: Kinds[Kind] | undefined): { note?: string } {
  if (!data || !('name' in data)) return {};
  const by = { id: 'waypost', name: 'Waypost', role: 'operator' };
  const changes = [{ field: 'sealing', from: '***', to: '***' }];
  return { note: JSON.stringify({ by, action: 'changed', name: data.name, changes }) };
}
