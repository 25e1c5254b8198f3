import { SEEN_IDS, SEEN_MS } from '../../shared/domain/seen';
import { messageOf } from '../../shared/errors';
import { type Kafka } from '../../shared/kafka/port';
import { MESSAGES } from '../../shared/kafka/topics';
import { type Log } from '../../shared/telemetry/log';
import { type Router } from './handler';

/** Fills the memory of messages routed at the start of a process, by reading `messages` back. */

/** What has not been read by then may be delivered again: better than routing nothing for longer. */
const RECALL_DEADLINE_MS = 30_000;

/** Resolves when the memory is as full as it will be. Never fails: a copy delivered twice is no reason not to start. */
export async function recall(
  kafka: Kafka,
  router: Router,
  { log, onFatal }: { log: Log; onFatal: (error: unknown) => void },
): Promise<void> {
  const startedAt = Date.now();
  let records = 0;
  try {
    const tail = await kafka.tail({
      name: 'router-recall',
      topic: MESSAGES,
      from: { sinceMs: startedAt - SEEN_MS, atMost: SEEN_IDS },
      onRecord: (record) => {
        records++;
        router.recall(record);
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
