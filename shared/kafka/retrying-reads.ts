import { setTimeout as pause } from 'node:timers/promises';
import { AppError } from '../service/errors';
import { type Log } from '../telemetry/log';
import { type Kafka } from './port';

/**
 * Retries reads until Kafka is back, for code without a caller to report to, so that an unreachable broker ends no process.
 * Errors that are not retriable are rethrown.
 */

type Asked = Pick<Kafka, 'read' | 'ranges' | 'committed'>;

const PAUSE_MS = 500;

export function retryingReads(kafka: Asked, log: Log, pauseMs = PAUSE_MS): Asked {
  const insist = async <T>(ask: () => Promise<T>): Promise<T> => {
    for (let tries = 1; ; tries++) {
      try {
        return await ask();
      } catch (error) {
        if (!(error instanceof AppError && error.retriable)) throw error;
        if (tries === 1) log.warn({ reason: error.message }, 'kafka.unavailable');
      }
      await pause(pauseMs);
    }
  };
  return {
    read: (at) => insist(() => kafka.read(at)),
    ranges: (topic, sinceMs) => insist(() => kafka.ranges(topic, sinceMs)),
    committed: (group, topic) => insist(() => kafka.committed(group, topic)),
  };
}
