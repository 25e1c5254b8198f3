import { type AppError, isRefused } from '../runtime/errors';
import { type BatchProducer, type OutRecord } from './port';

/** The errors of records that Kafka refuses for good, by their index. */
export type Refused = ReadonlyMap<number, AppError>;

const NONE: Refused = new Map();

/**
 * Sends records, so that Kafka refuses none for its neighbour. A record that is too large is refused
 * each time, and would hold up the others for good.
 * @returns the refused records; Kafka has acknowledged all others
 * @throws any other error of `send`
 */
export async function sendEach(
  producer: Pick<BatchProducer, 'send'>,
  records: OutRecord[],
): Promise<Refused> {
  try {
    await producer.send(records);
    return NONE;
  } catch (error) {
    if (!isRefused(error)) throw error;
  }
  // The error does not name the record, so each is sent by itself, in the same order. A record that
  // is written twice does no harm.
  const refused = new Map<number, AppError>();
  const send = async (record: OutRecord, index: number) => {
    try {
      await producer.send([record]);
    } catch (error) {
      if (!isRefused(error)) throw error;
      refused.set(index, error);
    }
  };
  await Promise.all(records.map(send));
  return refused;
}
