import { type InRecord, type Kafka } from '../../../shared/kafka/port';
import { scan } from '../../../shared/kafka/scan';
import { MESSAGES } from '../../../shared/kafka/topics';
import { type MessagePlace } from '../../../shared/render/render-failed';

/**
 * Finds the message of a delivery, to render its request again. Kafka keeps messages for 7 days by
 * default.
 */

type Reads = Pick<Kafka, 'read' | 'ranges'>;

/** Identifies a message. */
interface Sought {
  sourceId: string;
  messageId: string;
}

/** Enough for one record; the rest of its batch comes with it. */
const FETCH_BYTES = 256 * 1024;
/** A message is appended shortly after its acceptance, by the clock of ingest. */
export const EARLIEST_MS = 10_000;
const LATEST_MS = 60_000;
const MOST_READ = 50_000;

/** @returns the message at this place; undefined if Kafka no longer has it */
export async function readMessage(
  kafka: Reads,
  place: MessagePlace,
  sought: Sought,
): Promise<InRecord | undefined> {
  const { partition, offset } = place;
  const { records } = await kafka.read({
    topic: MESSAGES,
    partition,
    offset,
    maxBytes: FETCH_BYTES,
  });
  const record = records.find((each) => each.offset === offset);
  return record && isSought(record, sought) ? record : undefined;
}

/**
 * @returns the message that was accepted at this time (ms since 1970); undefined if Kafka no longer
 *   has it
 */
export async function findMessage(
  kafka: Reads,
  acceptedAt: number,
  sought: Sought,
): Promise<InRecord | undefined> {
  for (const { partition, low, high } of await kafka.ranges(MESSAGES, acceptedAt - EARLIEST_MS)) {
    const to = Math.min(high, low + MOST_READ);
    for await (const { records } of scan(kafka, { topic: MESSAGES, partition, from: low, to })) {
      const found = records.find((record) => isSought(record, sought));
      if (found) return found;
      const last = records.at(-1);
      if (last && last.timestampMs > acceptedAt + LATEST_MS) break;
    }
  }
  return undefined;
}

function isSought({ headers }: InRecord, { sourceId, messageId }: Sought): boolean {
  return headers.message === messageId && headers.source === sourceId;
}
