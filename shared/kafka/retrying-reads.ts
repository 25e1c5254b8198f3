import { setTimeout as pause } from 'node:timers/promises';
import { AppError } from '../service/errors';
import { type Log } from '../telemetry/log';
import { type Kafka } from './port';

/**
 * What is asked of Kafka by whoever has no caller to tell that it is away: asked again until it is back, so that the
 * absence of a broker ends no process. What will not be otherwise the next time is thrown.
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
