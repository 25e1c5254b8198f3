import { type WaitingEvent } from '../../../shared/model/attempt-events';
import { REPLAYED } from '../../../shared/model/reasons';
import { type Kafka, type Range } from '../../../shared/kafka/port';
import { scan } from '../../../shared/kafka/scan';
import { ATTEMPTS } from '../../../shared/kafka/topics';
import { type Job } from './job';

/**
 * Finds the records that a job sent after its last save, before its process was killed. It reads `attempts`, since the
 * history may lag: each record is sent together with its event.
 */

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
    let until: number | undefined;
    for await (const { records } of scan(kafka, { topic: ATTEMPTS, partition, from: low, to: high })) {
      const [first, last] = [records[0], records.at(-1)];
      if (!first || !last) continue;
      // Compared with the brokers' clock alone: the first record after the save is not older than the save.
      until ??= LONGEST_PIECE_MS + Math.max(job.updatedAt + SLACK_MS, first.timestampMs);
      for (const { value } of records) {
        const id = sentBy(job.id, value);
        if (id !== undefined) sent.add(id);
      }
      if (last.timestampMs > until) break;
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
