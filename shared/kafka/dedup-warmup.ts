import { messageOf } from '../runtime/errors';
import { type Log } from '../telemetry/log';
import { type InRecord, type Kafka } from './port';
import { MESSAGES } from './topics';

/** The start-up read of `messages` that fills the deduplication window of a reader. */

/**
 * Copies of messages that were not read by then may be delivered again, which is better than a
 * longer start.
 */
const RECALL_DEADLINE_MS = 30_000;

/**
 * Fills the deduplication window with the messages since a time (ms since 1970). Never fails: the
 * risk of a duplicate delivery does not prevent a start.
 */
export async function warmDedupWindow(
  kafka: Pick<Kafka, 'tail'>,
  reader: { warm(record: InRecord): void },
  options: {
    name: string;
    sinceMs: number;
    atMost: number;
    log: Log;
    onFatal: (error: unknown) => void;
  },
): Promise<void> {
  const { name, sinceMs, atMost, log, onFatal } = options;
  const startedAt = Date.now();
  let records = 0;
  try {
    const tail = await kafka.tail({
      name,
      topic: MESSAGES,
      from: { sinceMs, atMost },
      onRecord: (record) => {
        records++;
        reader.warm(record);
      },
      onFatal,
    });
    try {
      await tail.caughtUp(RECALL_DEADLINE_MS);
    } finally {
      await tail.stop();
    }
    log.info({ records, durationMs: Date.now() - startedAt }, 'dedup.warmed');
  } catch (error) {
    log.warn({ records, reason: messageOf(error) }, 'dedup.partly_warmed');
  }
}
