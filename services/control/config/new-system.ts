import { newSystemEntry } from '../../../shared/config/key-check';
import { type Encryptor } from '../../../shared/config/encryption';
import { type ConfigView } from '../../../shared/config/types';
import { type ConfigWriter } from '../../../shared/config/writer';
import { type Kind, SYSTEM_ID } from '../../../shared/model/config';
import { messageOf } from '../../../shared/service/errors';
import { type Log } from '../../../shared/telemetry/log';

const KINDS: readonly Kind[] = ['source', 'destination', 'token', 'audience', 'computed_trait', 'system'];

/**
 * Writes the entry with the format of `config` if `config` is empty, since no older process can be in use then. A
 * system with entries gets it by `config reseal`, once every process reads the new format.
 */
export async function markNewSystem(options: {
  config: Pick<ConfigView, 'list'>;
  writer: Pick<ConfigWriter, 'write'>;
  encryptor: Encryptor;
  log: Log;
}): Promise<void> {
  const { config, writer, encryptor, log } = options;
  if (KINDS.some((kind) => config.list(kind).length > 0)) return;
  try {
    // If another control process was first, its entry is equally valid.
    await writer.write('system', SYSTEM_ID, newSystemEntry(encryptor), { replaces: 0 });
  } catch (error) {
    log.warn({ reason: messageOf(error) }, 'config.not_marked');
  }
}
