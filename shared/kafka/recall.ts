import { SEEN_IDS, SEEN_MS } from '../domain/seen';
import { messageOf } from '../errors';
import { type Log } from '../telemetry/log';
import { type InRecord, type Kafka } from './port';
import { MESSAGES } from './topics';

/** Fills the memory of messages that were read at the start of a process, by reading `messages` back. */

/** What has not been read by then may be delivered again: better than reading nothing for longer. */
const RECALL_DEADLINE_MS = 30_000;

/** Resolves when the memory is as full as it will be. Never fails: a copy delivered twice is no reason not to start. */
export async function recall(
  kafka: Kafka,
  reader: { recall(record: InRecord): void },
  { name, log, onFatal }: { name: string; log: Log; onFatal: (error: unknown) => void },
): Promise<void> {
  const startedAt = Date.now();
  let records = 0;
  try {
    const tail = await kafka.tail({
      name,
      topic: MESSAGES,
      from: { sinceMs: startedAt - SEEN_MS, atMost: SEEN_IDS },
      onRecord: (record) => {
        records++;
        reader.recall(record);
      },
      onFatal,
    });
    try {
      await tail.caughtUp(RECALL_DEADLINE_MS);
    } finally {
      await tail.stop();
    }
    log.info({ records, durationMs: Date.now() - startedAt }, 'seen.recalled');
  } catch (error) {
    log.warn({ records, reason: messageOf(error) }, 'seen.partly_recalled');
  }
}
