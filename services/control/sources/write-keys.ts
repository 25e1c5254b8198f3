import { type Encryptor } from '../../../shared/config/encryption';
import { type ConfigView } from '../../../shared/config/types';
import { decryptWriteKey, encryptWriteKey } from '../../../shared/config/write-keys';
import { type WriteKey } from '../../../shared/model/config';
import { newWriteKey } from '../config/ids';

/**
 * Creates a write key in the form that every ingest process of this system can read: encrypted if the system was
 * created so or resealed (`config reseal`), otherwise plain.
 */
export function makeWriteKey(sourceId: string, config: Pick<ConfigView, 'system'>, encryptor: Encryptor): WriteKey {
  const key = newWriteKey();
  return config.system()?.data.writeKeys === 'sealed' ? encryptWriteKey(key, sourceId, encryptor) : { key };
}

/** @returns undefined if no key of the ring decrypts it */
export type OpenKey = (key: WriteKey, sourceId: string) => string | undefined;

export function keyOpener(encryptor: Encryptor): OpenKey {
  return (key, sourceId) => decryptWriteKey(key, sourceId, encryptor);
}
