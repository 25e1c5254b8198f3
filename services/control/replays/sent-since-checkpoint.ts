import { REPLAYED, type WaitingEvent } from '../../../shared/model/attempt-events';
import { type Kafka, type Range } from '../../../shared/kafka/port';
import { ATTEMPTS } from '../../../shared/kafka/topics';
import { type Job } from './job';

/**
 * What a job had sent when its process was killed, and not written down any more: the piece that was under way. The
 * history may lag behind it, topic `attempts` does not: each record sent has its event beside it.
 */

const READ_BYTES = 1024 * 1024;
/** Of the clocks of brokers and control, either way, for a job that was saved without positions. */
const SLACK_MS = 10_000;
/**
 * Longer than a job is not written down: it waits for the slowest rate, or for a Kafka that is away. Reading on for all
 * that control was down could be a day's events.
 */
const LONGEST_PIECE_MS = 900_000;

/** @returns ids of deliveries */
export async function sentSinceCheckpoint(
  kafka: Pick<Kafka, 'read' | 'ranges'>,
  job: Job,
): Promise<ReadonlySet<string>> {
  const sent = new Set<string>();
  if (job.pass !== 'running') return sent;
  for (const { partition, low, high } of await unsavedRanges(kafka, job)) {
    let until = job.updatedAt + SLACK_MS + LONGEST_PIECE_MS;
    for (let offset = low; offset < high;) {
      const at = { topic: ATTEMPTS, partition, offset, until: high, maxBytes: READ_BYTES };
      const { records, next, gone } = await kafka.read(at);
      // By the brokers' clock alone: the first record behind the save is no older than the save.
      if (offset === low) until = Math.max(until, (records[0]?.timestampMs ?? 0) + LONGEST_PIECE_MS);
      for (const { value } of records) {
        const id = sentBy(job.id, value);
        if (id !== undefined) sent.add(id);
      }
      const last = records.at(-1);
      if (gone || (last && last.timestampMs > until)) break;
      offset = next;
    }
  }
  return sent;
}

/** Uses the saved positions, which need no clock. Without them the time of the save counts, by the clock of the process that saved. */
async function unsavedRanges(kafka: Pick<Kafka, 'ranges'>, { sentUpTo, updatedAt }: Job): Promise<Range[]> {
  if (!sentUpTo) return kafka.ranges(ATTEMPTS, updatedAt - SLACK_MS);
  const ends = new Map(sentUpTo.map(({ partition, high }) => [partition, high]));
  const ranges = await kafka.ranges(ATTEMPTS);
  return ranges.map(({ partition, low, high }) => ({
    partition,
    low: Math.max(low, ends.get(partition) ?? low),
    high,
  }));
}

function sentBy(job: string, value: Buffer | null): string | undefined {
  // Most events are of something else: they need not be parsed.
  if (!value?.includes(`"job":"${job}"`)) return undefined;
  const event = JSON.parse(value.toString()) as WaitingEvent;
  return event.reason === REPLAYED && event.job === job ? event.delivery : undefined;
}
