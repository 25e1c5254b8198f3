import { type AppError, isRefused, isRetriable } from '../runtime/errors';
import { type BatchProducer, type OutRecord } from './port';

/**
 * Writes records so that Kafka refuses none for its neighbour. A record that is too large is
 * refused each time, and would hold up the others for good.
 */

/** The errors of records that Kafka refuses for good, by their index. */
export type Refused = ReadonlyMap<number, AppError>;

export const NONE_REFUSED: Refused = new Map();

/**
 * Sends records, some of them twice if Kafka refuses others.
 * @returns the refused records; Kafka has acknowledged all others
 * @throws any other error of `send`
 */
export async function sendEach(
  producer: Pick<BatchProducer, 'send'>,
  records: OutRecord[],
): Promise<Refused> {
  try {
    await producer.send(records);
    return NONE_REFUSED;
  } catch (error) {
    if (!isRefused(error)) throw error;
  }
  // The error does not name the record, so each is sent by itself, in the same order.
  const refused = new Map<number, AppError>();
  const send = async (record: OutRecord, index: number) => {
    try {
      await producer.send([record]);
    } catch (error) {
      if (!isRefused(error)) throw error;
      refused.set(index, error);
    }
  };
  await allSent(records.map(send));
  return refused;
}

/**
 * Sends the records of a step in the first form that Kafka takes.
 * @param forms each says less than the one before it
 * @returns false if Kafka refuses all forms for good
 * @throws any other error of `send`
 */
export async function sendFirst(
  producer: Pick<BatchProducer, 'send'>,
  forms: readonly OutRecord[][],
): Promise<boolean> {
  for (const records of forms) {
    try {
      await producer.send(records);
      return true;
    } catch (error) {
      if (!isRefused(error)) throw error;
    }
  }
  return false;
}

/** Waits for all of them. @throws a retriable error if there is one: then nothing is final */
export async function allSent(sends: readonly Promise<unknown>[]): Promise<void> {
  const errors: unknown[] = [];
  for (const send of await Promise.allSettled(sends)) {
    if (send.status === 'rejected') errors.push(send.reason);
  }
  if (errors.length > 0) throw errors.find(isRetriable) ?? errors[0];
}
