import { parseJson } from '../../../shared/json/json';
import { type InRecord, type Kafka } from '../../../shared/kafka/port';
import { findNear } from '../../../shared/kafka/scan';
import { DEAD, DUE, MESSAGES } from '../../../shared/kafka/topics';
import { type Json } from '../../../shared/model/message';
import { REPLAYED } from '../../../shared/model/reasons';
import { type DeliveryRow } from '../history/delivery-row';
import { findMessage, readMessage } from '../replays/find-message';

/**
 * Reads the record of a delivery with the exact bytes that were POSTed. The history stores only its
 * position.
 */

type Reads = Pick<Kafka, 'read' | 'ranges'>;

/** Enough for one record; the rest of its batch comes with it. */
const FETCH_BYTES = 256 * 1024;
/** A record without a known position is searched among those of the same time. */
const AROUND_MS = 2_000;
const MOST_READ = 20_000;
/** topic/partition/offset */
const RECORD = /^(.+)\/(\d+)\/(\d+)$/;

export async function findRecord(kafka: Reads, row: DeliveryRow): Promise<InRecord | undefined> {
  const [, topic, partition, offset] = RECORD.exec(row.record) ?? [];
  if (topic === undefined) return undefined;
  // The record of a delivery that was not rendered before is its message. A replay has rendered it.
  if (topic === MESSAGES) {
    return row.reason === REPLAYED && row.nextAt !== null
      ? findAround(kafka, DUE, row.id, row.nextAt)
      : undefined;
  }
  const place = { topic, partition: Number(partition), offset: Number(offset) };
  const { records } = await kafka.read({ ...place, maxBytes: FETCH_BYTES });
  const record = records.find((each) => each.offset === place.offset);
  if (record?.headers.delivery === row.id) return record;
  // Kafka keeps dead letters for longer than all other records.
  return row.status === 'dead' && row.settledAt !== null
    ? findAround(kafka, DEAD, row.id, row.settledAt)
    : undefined;
}

function findAround(
  kafka: Reads,
  topic: string,
  id: string,
  atMs: number,
): Promise<InRecord | undefined> {
  const near = {
    topic,
    fromMs: atMs - AROUND_MS,
    untilMs: atMs + AROUND_MS,
    mostRead: MOST_READ,
  };
  return findNear(kafka, near, ({ headers }) => headers.delivery === id);
}

export async function findMessageOf(kafka: Reads, row: DeliveryRow): Promise<InRecord | undefined> {
  const sought = { sourceId: row.source, messageId: row.message };
  const [, topic, partition, offset] = RECORD.exec(row.record) ?? [];
  if (topic !== MESSAGES) return findMessage(kafka, row.acceptedAt, sought);
  return readMessage(kafka, { partition: Number(partition), offset: Number(offset) }, sought);
}

/** Returns the body as JSON, since Waypost rendered it, or its text if it is not JSON. */
export function bodyJson(body: Buffer): Json {
  const text = body.toString();
  try {
    return parseJson(text) as Json;
  } catch {
    return text;
  }
}
