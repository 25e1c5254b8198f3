import { logLevel, type logCreator } from 'kafkajs';
import { type Log } from '../../telemetry/log';

/**
 * Writes kafkajs's log lines to Waypost's log. kafkajs logs normal events as errors (a rebalance, a loading coordinator, a
 * retry after a broker is unreachable), so that the highest level here is a warning. Relevant errors are also thrown.
 */
export function kafkaLogger(log: Log): logCreator {
  return () =>
    ({ namespace, level, log: entry }) => {
      const { message } = entry;
      const { error, topic, partition, groupId, broker } = entry as Record<string, unknown>;
      const line = { client: 'kafkajs', namespace, topic, partition, groupId, broker, reason: error };
      if (level === logLevel.ERROR || level === logLevel.WARN) {
        if (namespace === 'Connection' || /rebalancing|Crash|Restarting|Failed to send/.test(message)) {
          log.debug(line, message);
        } else {
          log.warn(line, message);
        }
      } else {
        log.debug(line, message);
      }
    };
}
