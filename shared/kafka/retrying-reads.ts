import { setTimeout as pause } from 'node:timers/promises';
import { AppError } from '../service/errors';
import { type Log } from '../telemetry/log';
import { type Kafka } from './port';

/**
 * Retries reads until Kafka is back, for code without a caller to report to, so that an unreachable broker ends no process.
 * Errors that are not retriable are rethrown.
 */

type Reads = Pick<Kafka, 'read' | 'ranges' | 'committed'>;

const PAUSE_MS = 500;

export function retryingReads(kafka: Reads, log: Log, pauseMs = PAUSE_MS): Reads {
  const retry = async <T>(read: () => Promise<T>): Promise<T> => {
    for (let tries = 1; ; tries++) {
      try {
        return await read();
      } catch (error) {
        if (!(error instanceof AppError && error.retriable)) throw error;
        if (tries === 1) log.warn({ reason: error.message }, 'kafka.unavailable');
      }
      await pause(pauseMs);
    }
  };
  return {
    read: (at) => retry(() => kafka.read(at)),
    ranges: (topic, sinceMs) => retry(() => kafka.ranges(topic, sinceMs)),
    committed: (group, topic) => retry(() => kafka.committed(group, topic)),
  };
}
