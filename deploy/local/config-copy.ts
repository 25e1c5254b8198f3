import { createInterface } from 'node:readline';
import { type Readable, type Writable } from 'node:stream';
import { AppError } from '../../shared/errors';
import { connectKafka } from '../../shared/kafka/client';
import { type Kafka, type OutRecord } from '../../shared/kafka/port';
import { CONFIG } from '../../shared/kafka/topics';
import { loadSettings } from '../../shared/settings';
import { createLog } from '../../shared/telemetry/log';

/**
 * `main.js config backup` writes topic `config` to stdout, a record a line, and `config restore` puts such lines into an empty
 * one. Records are copied as they lie, in their order: which of them count says the same rule there as here. Secrets stay
 * sealed: a copy is worth nothing without WAYPOST_SECRET_KEY, and a restored one nothing without the same key.
 */

const READ_BYTES = 1024 * 1024;
const WRITE_DEADLINE_MS = 30_000;
const AT_ONCE = 500;

type Line = Pick<OutRecord, 'key' | 'headers'> & { value: string | null };

/** @throws AppError `cannot_start` where Kafka is away, or what is to be restored would be mixed with something else */
export async function copyConfig(
  direction: string | undefined,
  env: NodeJS.ProcessEnv,
  { input, output }: { input: Readable; output: Writable },
): Promise<void> {
  if (direction !== 'backup' && direction !== 'restore') {
    throw new AppError('cannot_start', 'Say which: config backup > FILE, config restore < FILE, or config reseal.');
  }
  // stdout is the copy.
  const log = createLog('config', 'silent');
  const kafka = await connectKafka(loadSettings(env), { clientId: 'config', log });
  try {
    const copied = direction === 'backup' ? await backUp(kafka, output) : await restore(kafka, input);
    process.stderr.write(`${String(copied)} records of config\n`);
  } finally {
    await kafka.close();
  }
}

async function backUp(kafka: Kafka, output: Writable): Promise<number> {
  const [range = { low: 0, high: 0 }] = await kafka.ranges(CONFIG);
  let copied = 0;
  for (let offset = range.low; offset < range.high;) {
    const at = { topic: CONFIG, partition: 0, offset, until: range.high, maxBytes: READ_BYTES };
    const { records, next, gone } = await kafka.read(at);
    for (const { key, value, headers } of records) {
      const line = { key: key?.toString() ?? null, value: value?.toString() ?? null, headers };
      output.write(`${JSON.stringify(line)}\n`);
      copied++;
    }
    if (gone) throw new AppError('kafka_unavailable', `config could not be read beyond offset ${String(offset)}.`);
    offset = next;
  }
  return copied;
}

async function restore(kafka: Kafka, input: Readable): Promise<number> {
  const [range] = await kafka.ranges(CONFIG);
  if (range && range.high > 0) {
    throw new AppError('cannot_start', 'Topic config is not empty: a copy is restored into a new system only.');
  }
  const appender = await kafka.appender({ maxPendingBytes: Infinity, giveUpAfterMs: WRITE_DEADLINE_MS });
  let copied = 0;
  const write = async (records: OutRecord[]) => {
    await appender.append(records);
    copied += records.length;
  };
  const waiting: OutRecord[] = [];
  for await (const text of createInterface({ input })) {
    if (text.trim() !== '') waiting.push(recordOf(text, copied + waiting.length + 1));
    if (waiting.length === AT_ONCE) await write(waiting.splice(0));
  }
  await write(waiting);
  await appender.close(WRITE_DEADLINE_MS);
  return copied;
}

function recordOf(text: string, line: number): OutRecord {
  try {
    const { key, value, headers } = JSON.parse(text) as Line;
    return { topic: CONFIG, key, value, ...(headers && { headers }) };
  } catch (error) {
    throw new AppError('cannot_start', `Line ${String(line)} is no record of config.`, false, { cause: error });
  }
}
