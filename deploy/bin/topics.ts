import { connectKafka } from '../../shared/kafka/client';
import { loadSettings } from '../../shared/service/settings';
import { createLog } from '../../shared/telemetry/log';

/**
 * `npm run service -- topics`: creates missing topics, reports those with other settings than expected, and ends.
 * Every service does so at its start; if ACLs forbid services to create topics, run this first.
 * @throws AppError `cannot_start` if it cannot create them
 */
export async function makeTopics(env: NodeJS.ProcessEnv): Promise<void> {
  const settings = loadSettings(env);
  const log = createLog('topics', settings.WAYPOST_LOG_LEVEL);
  const kafka = await connectKafka(settings, { clientId: 'topics', log });
  log.info({ topics: await kafka.listTopics() }, 'topics.checked');
  await kafka.close();
}
