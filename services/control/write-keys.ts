import { type Sealer } from '../../shared/config/seal';
import { type ConfigView } from '../../shared/config/view';
import { openWriteKey, sealWriteKey } from '../../shared/config/write-keys';
import { type WriteKey } from '../../shared/model/config';
import { newWriteKey } from './ids';

/**
 * Makes a write key in the form that every ingest process of this system reads: sealed where the system was made so or
 * resealed (`config reseal`), else plain.
 */
export function makeWriteKey(sourceId: string, config: Pick<ConfigView, 'system'>, sealer: Sealer): WriteKey {
  const key = newWriteKey();
  return config.system()?.data.writeKeys === 'sealed' ? sealWriteKey(key, sourceId, sealer) : { key };
}

/** @returns undefined where no key of the ring opens it */
export type OpenKey = (key: WriteKey, sourceId: string) => string | undefined;

export function keyOpener(sealer: Sealer): OpenKey {
  return (key, sourceId) => openWriteKey(key, sourceId, sealer);
}
