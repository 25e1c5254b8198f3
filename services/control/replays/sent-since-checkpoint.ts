import { REPLAYED, type WaitingEvent } from '../../../shared/model/attempt-events';
import { type Kafka, type Range } from '../../../shared/kafka/port';
import { ATTEMPTS } from '../../../shared/kafka/topics';
import { type Job } from './job';

/**
 * Finds the records that a job sent after its last save, before its process was killed. It reads `attempts`, since the
 * history may lag: each record is sent together with its event.
 */

const READ_BYTES = 1024 * 1024;
/** Allows for clocks of brokers and control that differ, either way. Only for a job saved without positions. */
const SLACK_MS = 10_000;
/**
 * Longer than the time between two saves, in which a job waits for the slowest rate or for Kafka. Without a limit, a
 * long downtime of control would mean reading a day of events.
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
      // Compared with the brokers' clock alone: the first record after the save is not older than the save.
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

/**
 * Starts at the saved positions, which need no clock. Without positions it starts at the time of the save, by the clock
 * of the process that saved.
 */
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
  // Most events belong to no replay and need not be parsed.
  if (!value?.includes(`"job":"${job}"`)) return undefined;
  const event = JSON.parse(value.toString()) as WaitingEvent;
  return event.reason === REPLAYED && event.job === job ? event.delivery : undefined;
}
