import { readdirSync, readFileSync, rmSync, truncateSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Cuts off the end of a stopped broker's logs, as a loss of power does: what the system had not
 * written to the disk yet is gone.
 */

/** Bytes of the header of a batch of records, up to and including the length of the rest. */
const HEADER = 12;
/** Where a batch says how far its last record is from its first one. */
const LAST_OFFSET_DELTA = 23;

/**
 * Returns the offset behind the last record.
 * @param records the folder of the broker's logs
 * @param partition as its folder is named: `messages-0`
 */
export function endOfLog(records: string, partition: string): number {
  const { name, bytes } = readNewest(records, partition);
  // A file is named by the first offset that it may hold. The newest may be empty.
  let end = Number.parseInt(name, 10);
  for (const { at, first } of batches(bytes)) {
    end = first + bytes.readInt32BE(at + LAST_OFFSET_DELTA) + 1;
  }
  return end;
}

/**
 * Removes the batches that begin at `offset` or later from the newest file of a log.
 * @returns the offset behind the last record that is left
 */
export function cutLog(records: string, partition: string, offset: number): number {
  const { folder, name, bytes } = readNewest(records, partition);
  const cut = [...batches(bytes)].find(({ first }) => first >= offset);
  if (cut) {
    truncateSync(join(folder, name), cut.at);
    for (const file of readdirSync(folder)) {
      if (/\.(index|timeindex|snapshot)$/.test(file)) rmSync(join(folder, file));
    }
  }
  // The broker reads its logs anew when it starts.
  for (const file of ['recovery-point-offset-checkpoint', '.kafka_cleanshutdown']) {
    rmSync(join(records, file), { force: true });
  }
  return cut?.first ?? endOfLog(records, partition);
}

function readNewest(records: string, partition: string) {
  const folder = join(records, partition);
  const name = readdirSync(folder)
    .filter((file) => file.endsWith('.log'))
    .sort()
    .at(-1);
  if (name === undefined) throw new Error(`${folder} holds no log`);
  return { folder, name, bytes: readFileSync(join(folder, name)) };
}

/** Yields where each complete batch begins, and its first offset. */
function* batches(bytes: Buffer): Generator<{ at: number; first: number }> {
  let at = 0;
  while (at + HEADER <= bytes.length) {
    const next = at + HEADER + bytes.readInt32BE(at + HEADER - 4);
    if (next === at + HEADER || next > bytes.length) return;
    yield { at, first: Number(bytes.readBigInt64BE(at)) };
    at = next;
  }
}
