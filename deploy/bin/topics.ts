import { connectKafka } from '../../shared/kafka/client';
import { loadSettings } from '../../shared/service/settings';
import { createLog } from '../../shared/telemetry/log';

/**
 * `npm run service -- topics`: makes the topics that are missing, reports those that are not as they should be, and ends.
 * Every service does so at its start; where they may not make topics (ACLs), this runs before them.
 * @throws AppError `cannot_start` where they cannot be made
 */
export async function makeTopics(env: NodeJS.ProcessEnv): Promise<void> {
  const settings = loadSettings(env);
  const log = createLog('topics', settings.WAYPOST_LOG_LEVEL);
  const kafka = await connectKafka(settings, { clientId: 'topics', log });
  log.info({ topics: await kafka.listTopics() }, 'topics.checked');
  await kafka.close();
}
