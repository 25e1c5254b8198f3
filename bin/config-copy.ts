import { createInterface } from 'node:readline';
import { type Readable, type Writable } from 'node:stream';
import { defined } from '../shared/collections/defined';
import { parseRecord } from '../shared/config/parse-record';
import { type Authenticator, createAuthenticator } from '../shared/config/authentication';
import { createEncryptor, keyProblem } from '../shared/config/encryption';
import { ConfigState, keepsDeletion } from '../shared/config/state';
import { AppError, fromEarlierBuild } from '../shared/runtime/errors';
import { connectKafka } from '../shared/kafka/client/client';
import { type InRecord, type Kafka, type OutRecord } from '../shared/kafka/port';
import { scan } from '../shared/kafka/scan';
import { CONFIG } from '../shared/kafka/topics';
import { loadSettings, type Settings } from '../shared/runtime/settings';
import { createLog } from '../shared/telemetry/log';

/**
 * `main.js config backup` writes the entries of topic `config` to stdout, one record a line, and
 * `config restore` writes such lines to an empty topic. A backup omits superseded records: they may
 * hold texts that a retired key decrypts. With WAYPOST_SECRET_KEY it also passes over records that
 * control did not write. Secrets stay encrypted:
 * without WAYPOST_SECRET_KEY neither a backup nor a restored topic is usable.
 */

const WRITE_DEADLINE_MS = 30_000;
const AT_ONCE = 500;

interface Line {
  key: string | null;
  value: string | null;
  headers?: InRecord['headers'];
}

/**
 * @throws AppError `cannot_start` if Kafka is unreachable, or if the topic to restore to is not
 * empty, or if WAYPOST_SECRET_KEY differs; `older_format` for a backup of an earlier build
 */
export async function copyConfig(
  direction: string | undefined,
  env: NodeJS.ProcessEnv,
  { input, output }: { input: Readable; output: Writable },
): Promise<void> {
  if (direction !== 'backup' && direction !== 'restore') {
    throw new AppError(
      'cannot_start',
      'Say which: config backup > FILE, config restore < FILE, or config reseal.',
    );
  }
  // The copy goes to stdout.
  const log = createLog('config', 'silent');
  const settings = loadSettings(env);
  const kafka = await connectKafka(settings, { clientId: 'config', log });
  try {
    const copied =
      direction === 'backup' ? await backUp(kafka, settings, output) : await restore(kafka, input);
    process.stderr.write(`${String(copied)} records of config\n`);
  } finally {
    await kafka.close();
  }
}

async function backUp(kafka: Kafka, settings: Settings, output: Writable): Promise<number> {
  const [range = { low: 0, high: 0 }] = await kafka.ranges(CONFIG);
  const keys = settings.WAYPOST_SECRET_KEY;
  const current = new CurrentRecords(keys && createAuthenticator(keys));
  for await (const piece of scan(kafka, {
    topic: CONFIG,
    partition: 0,
    from: range.low,
    to: range.high,
  })) {
    if (piece.gone) {
      const message = `config was truncated up to offset ${String(piece.next)} while it was read.`;
      throw new AppError('kafka_unavailable', message);
    }
    for (const record of piece.records) current.take(record);
  }
  const problem = keys && keyProblem(current.state, createEncryptor(keys));
  // Otherwise an empty backup would look like a good one.
  if (problem !== undefined) throw new AppError('cannot_start', `${problem}.`);
  const lines = current.lines();
  for (const line of lines) output.write(`${JSON.stringify(line)}\n`);
  return lines.length;
}

/**
 * Selects the current record of each key by the rule of all readers: the last record of a key may
 * have lost a race.
 */
class CurrentRecords {
  readonly state = new ConfigState();
  /**
   * by key, in the order of first appearance; several if this version cannot read the last of them
   */
  readonly #lines = new Map<string, Line[]>();

  /** @param authenticator undefined: without WAYPOST_SECRET_KEY every record is believed */
  constructor(private readonly authenticator: Authenticator | undefined) {}

  take(record: Pick<InRecord, 'key' | 'value' | 'headers'>): void {
    const [key, value] = [record.key?.toString() ?? null, record.value?.toString() ?? null];
    // Readers skip records without a key.
    if (key === null) return;
    const distrust = this.authenticator?.distrust(record);
    const verdict = this.state.apply(key, value, distrust);
    if (verdict.kind === 'ignored' || distrust !== undefined) return;
    const line = { key, value, headers: record.headers };
    if (
      verdict.kind === 'removed' ||
      (verdict.kind === 'applied' &&
        verdict.record.data === undefined &&
        !keepsDeletion(verdict.record.kind))
    ) {
      this.#lines.delete(key);
    } else if (verdict.kind === 'applied') this.#lines.set(key, [line]);
    else this.#lines.set(key, [...(this.#lines.get(key) ?? []), line]);
  }

  lines(): Line[] {
    return [...this.#lines.values()].flat();
  }
}

/**
 * Writes nothing unless all of the copy can be read. A run that breaks off can be repeated: it goes
 * on behind what the topic has of the copy.
 * @throws AppError as `copyConfig`
 */
export async function restore(kafka: Kafka, input: Readable): Promise<number> {
  const records: OutRecord[] = [];
  for await (const text of createInterface({ input })) {
    if (text.trim() !== '') records.push(recordOf(text, records.length + 1));
  }
  const written = await countWritten(kafka, records);
  const producer = await kafka.producer({
    maxPendingBytes: Infinity,
    deliveryTimeoutMs: WRITE_DEADLINE_MS,
  });
  try {
    for (let at = written; at < records.length; at += AT_ONCE) {
      await producer.send(records.slice(at, at + AT_ONCE));
    }
  } finally {
    await producer.close(WRITE_DEADLINE_MS);
  }
  return records.length;
}

/**
 * Returns how many records of a copy the topic has. Some may be there twice: an append whose answer
 * was lost is repeated.
 * @throws AppError `cannot_start` if it has any other record, or lacks one before its end
 */
async function countWritten(kafka: Kafka, records: readonly OutRecord[]): Promise<number> {
  const [{ high } = { high: 0 }] = await kafka.ranges(CONFIG);
  const written = new Set<string>();
  let count = 0;
  for await (const piece of scan(kafka, { topic: CONFIG, partition: 0, from: 0, to: high })) {
    for (const record of piece.records) {
      const text = textOf(record);
      const next = records[count];
      if (next !== undefined && textOf(next) === text) count++;
      else if (!written.has(text)) {
        throw new AppError(
          'cannot_start',
          'Topic config is not empty: a copy is restored into a new system only.',
        );
      }
      written.add(text);
    }
  }
  return count;
}

function textOf({ key, value }: Pick<InRecord | OutRecord, 'key' | 'value'>): string {
  return JSON.stringify([key?.toString() ?? null, value?.toString() ?? null]);
}

/**
 * @throws AppError `older_format` for a record of an earlier build, `cannot_start` for what is none
 */
function recordOf(text: string, line: number): OutRecord {
  let record: Pick<OutRecord, 'key' | 'headers'> & Pick<Line, 'value'>;
  try {
    record = JSON.parse(text) as typeof record;
  } catch (error) {
    throw new AppError('cannot_start', `Line ${String(line)} is no record of config.`, false, {
      cause: error,
    });
  }
  const { key, value, headers } = record;
  const parsed = parseRecord(key ?? '', value ?? '');
  if ('kind' in parsed && parsed.kind === 'older') {
    throw fromEarlierBuild(
      `line ${String(line)} of the backup is of format ${String(parsed.format)}`,
    );
  }
  return {
    topic: CONFIG,
    key,
    value,
    ...defined({ headers }),
  };
}
