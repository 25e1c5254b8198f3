import pino from 'pino';
import { type History } from '../../services/control/history/history';
import {
  type Handler,
  type Pace,
  Reader,
  type ReaderOptions,
} from '../../services/control/reading/reader';
import { SharedReads } from '../../services/control/reading/shared-reads';
import { type Kafka } from '../../shared/kafka/port';

export const PACE: Pace = { quietMs: 1, busyMs: 2, yieldsForMs: 60_000 };

/** A reader that owns all partitions and never yields, for tests that call `poll`. */
export function readerOf<E>(
  handler: Handler<E>,
  given: Partial<Omit<ReaderOptions, 'kafka' | 'history'>> & {
    kafka: Pick<Kafka, 'read' | 'ranges'>;
    history: Pick<History, 'ask'>;
  },
): Reader<E> {
  const options: ReaderOptions = {
    reads: new SharedReads(given.kafka),
    shares: { owns: () => true },
    othersFirst: () => false,
    nowMs: Date.now,
    log: pino({ level: 'silent' }),
    ...given,
  };
  return new Reader(handler, PACE, options);
}
