import { logLevel, type logCreator } from 'kafkajs';
import { type Log } from '../../telemetry/log';

/**
 * kafkajs's log lines as ours. It calls normal life an error (a group that rebalances, a coordinator that loads, a
 * broker that is away and retried), so that nothing of it is louder than a warning; what matters is thrown at us anyway.
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
