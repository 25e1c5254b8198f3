import { newSystemEntry } from '../../../shared/config/key-check';
import { type Encryptor } from '../../../shared/config/encryption';
import { type ConfigView } from '../../../shared/config/types';
import { type ConfigWriter } from '../../../shared/config/writer';
import { type Kind, SYSTEM_ID } from '../../../shared/model/config';
import { messageOf } from '../../../shared/service/errors';
import { type Log } from '../../../shared/telemetry/log';

const KINDS: readonly Kind[] = ['source', 'destination', 'token', 'audience', 'computed_trait', 'system'];

/**
 * Writes the entry that says how `config` is written, in a system that has nothing in `config`. No older process can be in use
 * there; a system with entries gets it by `config reseal`, once every process reads the new forms.
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
    // Another control process may be first: its entry is as good.
    await writer.write('system', SYSTEM_ID, newSystemEntry(encryptor), { replaces: 0 });
  } catch (error) {
    log.warn({ reason: messageOf(error) }, 'config.not_marked');
  }
}
