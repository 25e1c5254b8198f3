import { type InRecord, type Kafka } from '../../../shared/kafka/port';
import { findNear } from '../../../shared/kafka/scan';
import { MESSAGES } from '../../../shared/kafka/topics';
import { type MessagePlace } from '../../../shared/render/render-failed';

/**
 * Finds the message of a delivery, to render its request again. Kafka keeps messages for 7 days by
 * default.
 */

type Reads = Pick<Kafka, 'read' | 'ranges'>;

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
export function findMessage(
  kafka: Reads,
  acceptedAt: number,
  sought: Sought,
): Promise<InRecord | undefined> {
  const near = {
    topic: MESSAGES,
    fromMs: acceptedAt - EARLIEST_MS,
    untilMs: acceptedAt + LATEST_MS,
    mostRead: MOST_READ,
  };
  return findNear(kafka, near, (record) => isSought(record, sought));
}

function isSought({ headers }: InRecord, { sourceId, messageId }: Sought): boolean {
  return headers.message === messageId && headers.source === sourceId;
}
