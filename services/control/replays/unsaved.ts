import { type WaitingEvent } from '../../../shared/model/attempt-events';
import { REPLAYED } from '../../../shared/model/reasons';
import { type InRecord, type Kafka, type Range } from '../../../shared/kafka/port';
import { scan } from '../../../shared/kafka/scan';
import { ATTEMPTS, DUE } from '../../../shared/kafka/topics';
import { requireKnownFormat } from '../../../shared/runtime/errors';
import { type Job } from './job';

/**
 * Finds what a job sent after its last save, before its process was killed or an append had no
 * answer. Kafka may have taken the record of a delivery without its event, or the event without the
 * record: they go to two topics. It reads the topics, since the history may lag.
 */

/**
 * Longer than the time between two saves, in which a job waits for the slowest rate or for Kafka.
 * Without a limit, a long downtime of control would mean reading a day of events.
 */
const LONGEST_PIECE_MS = 900_000;
/** Allows for clocks of control and of brokers that differ, either way. */
const SLACK_MS = 10_000;

/** What a job has sent after its last save. */
export interface Unsaved {
  /** ids of the deliveries whose records are in `webhooks.due` */
  sent: ReadonlySet<string>;
  /**
   * replay numbers of the deliveries whose events are in `attempts`, by id. Without its record such
   * a delivery must still be sent, although the history shows it as under way
   */
  announced: Map<string, number>;
}

export async function readUnsaved(
  kafka: Pick<Kafka, 'read' | 'ranges'>,
  job: Job,
): Promise<Unsaved> {
  const sent = new Set<string>();
  const announced = new Map<string, number>();
  if (job.pass !== 'running') return { sent, announced };
  for await (const { headers } of recordsBehind(kafka, DUE, job.dueUpTo, job.updatedAt)) {
    if (headers.job === job.id && headers.delivery !== undefined) sent.add(headers.delivery);
  }
  for await (const { value } of recordsBehind(kafka, ATTEMPTS, job.sentUpTo, job.updatedAt)) {
    const event = eventOf(job.id, value);
    if (event) announced.set(event.delivery, event.replay);
  }
  return { sent, announced };
}

/**
 * Reads a topic behind the ends that a job has saved.
 * @param savedAt when it saved last. The ends are older if it sent nothing since, or was resumed
 */
async function* recordsBehind(
  kafka: Pick<Kafka, 'read' | 'ranges'>,
  topic: string,
  saved: readonly Range[] | undefined,
  savedAt: number,
): AsyncGenerator<InRecord, void> {
  const ends = new Map(saved?.map(({ partition, high }) => [partition, high]));
  for (const { partition, low, high } of await kafka.ranges(topic)) {
    const from = Math.max(low, ends.get(partition) ?? low);
    let until: number | undefined;
    for await (const { records } of scan(kafka, { topic, partition, from, to: high })) {
      for (const record of records) {
        // If the brokers' clock is ahead the first record tells: it is not older than the ends.
        until ??= Math.max(savedAt + SLACK_MS, record.timestampMs) + LONGEST_PIECE_MS;
        requireKnownFormat(record, 'this control process');
        yield record;
      }
      if ((records.at(-1)?.timestampMs ?? 0) > (until ?? Infinity)) break;
    }
  }
}

function eventOf(job: string, value: Buffer | null): WaitingEvent | undefined {
  // Most events belong to no replay and need not be parsed.
  if (!value?.includes(`"job":"${job}"`)) return undefined;
  const event = JSON.parse(value.toString()) as WaitingEvent;
  return event.reason === REPLAYED && event.job === job ? event : undefined;
}
