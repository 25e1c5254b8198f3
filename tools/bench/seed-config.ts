import { createEncryptor } from '../../shared/config/encryption';
import { openConfig } from '../../shared/config/reader';
import { openWriter, type Write } from '../../shared/config/writer';
import { type Destination, type Kinds, type Source } from '../../shared/model/config';
import { type BatchProducer, type Kafka } from '../../shared/kafka/port';
import { requireSecretKeys, type Settings } from '../../shared/service/settings';
import { type Log } from '../../shared/telemetry/log';
import { SECRET } from './payload';

/** Writes entries of `config` as control does. */

/** The source of the messages of a benchmark. */
export const SOURCE = 'src_bench';

/** One entry, of any kind. */
export type Entry = { [K in keyof Kinds]: { kind: K; data: Kinds[K] } }[keyof Kinds];

/** Appends them as first versions, one after the other. */
export async function writeEntries(
  { kafka, producer, log }: { kafka: Kafka; producer: BatchProducer; log: Log },
  entries: readonly Entry[],
): Promise<void> {
  const config = await openConfig(kafka, { name: 'bench', log, onFatal: (error) => log.error(error) });
  const writer = openWriter({ config, producer, log, now: () => new Date() });
  try {
    for (const entry of entries) await writeOne(writer.write, entry);
  } finally {
    await writer.close();
    await config.stop();
  }
}

function writeOne<K extends keyof Kinds>(write: Write, { kind, data }: { kind: K; data: Kinds[K] }): Promise<unknown> {
  return write(kind, data.id, data, { replaces: 0 });
}

export function destinationOf(
  id: string,
  { url, filter }: { url: string; filter?: string | undefined },
  settings: Settings,
): Destination {
  const encryptor = createEncryptor(requireSecretKeys(settings));
  return {
    id,
    name: id,
    type: 'webhooks',
    enabled: true,
    paused: false,
    sources: [SOURCE],
    webhooks: [{ id: `${id}_1`, url: encryptor.encrypt(url, id), origin: new URL(url).origin, headers: {} }],
    secrets: { current: encryptor.encrypt(SECRET, id) },
    ...(filter !== undefined && { filter }),
    ...dates(),
  };
}

/** @param more additional fields of this source */
export function sourceOf(id: string, more: Partial<Source> = {}): Source {
  return { id, name: id, enabled: true, writeKeys: [], ...dates(), ...more };
}

/** Returns creation and update time: now. */
export function dates(): { createdAt: string; updatedAt: string } {
  const at = new Date().toISOString();
  return { createdAt: at, updatedAt: at };
}
