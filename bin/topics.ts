import { parseArgs } from 'node:util';
import { openConfig } from '../shared/config/reader';
import { createAcls, createScramUsers } from '../shared/kafka/client/acls';
import { connectKafka } from '../shared/kafka/client/client';
import { type Kafka } from '../shared/kafka/port';
import { AppError, messageOf } from '../shared/runtime/errors';
import { requireRetention } from '../shared/runtime/retention';
import { loadSettings, type Settings } from '../shared/runtime/settings';
import { createLog, type Log } from '../shared/telemetry/log';
import { grantsOf, userNames } from './grants';
import { USER_PREFIX } from './acls';
import { passwordsOf } from './user-passwords';

/**
 * `npm run service -- topics`: creates missing topics, reports those with other settings than
 * expected, sets the retention of WAYPOST_TOPIC_RETENTION, and ends. Every service creates topics
 * at its start; if ACLs forbid services to create topics, run this first.
 *
 * `--acls` creates the ACLs too, and `--scram-users FILE` the users with the passwords of this
 * file. Both need an administrator of the cluster, and no service may be one.
 * @throws AppError `cannot_start` if it cannot create them; `bad_settings` if a retention is below
 * the window of a destination
 */
export async function makeTopics(args: string[], env: NodeJS.ProcessEnv): Promise<void> {
  const options = optionsOf(args);
  const settings = loadSettings(env);
  const log = createLog('topics', settings.WAYPOST_LOG_LEVEL);
  const kafka = await connectKafka(settings, { clientId: 'topics', log });
  try {
    await setRetention(kafka, settings, log);
    log.info({ topics: await kafka.listTopics() }, 'topics.checked');
  } finally {
    await kafka.close();
  }
  const user = options['user-prefix'];
  if (options.acls) {
    const grants = grantsOf(settings.WAYPOST_TOPIC_PREFIX, user);
    await createAcls(settings, grants);
    log.info({ grants: grants.length, users: userNames(user) }, 'acls.created');
  }
  if (options['scram-users'] !== undefined) {
    const { passwords, generated } = passwordsOf(options['scram-users'], userNames(user));
    await createScramUsers(settings, passwords);
    log.info(
      { users: [...passwords.keys()], generated, file: options['scram-users'] },
      'users.created',
    );
  }
}

/**
 * Refuses what control would refuse, because this job runs first. Needs to read `config` only if a
 * retention is set.
 */
async function setRetention(kafka: Kafka, settings: Settings, log: Log): Promise<void> {
  const retention = settings.WAYPOST_TOPIC_RETENTION;
  if (Object.keys(retention).length === 0) return;
  const config = await openConfig(kafka, { name: 'topics', log, onFatal: () => undefined });
  await config.stop();
  requireRetention(retention, config.list('destination'));
  await kafka.setRetention();
}

function optionsOf(args: string[]) {
  try {
    const { values } = parseArgs({
      args,
      options: {
        acls: { type: 'boolean', default: false },
        'user-prefix': { type: 'string', default: USER_PREFIX },
        'scram-users': { type: 'string' },
      },
    });
    return values;
  } catch (error) {
    const usage = 'topics [--acls] [--scram-users FILE] [--user-prefix waypost-]';
    throw new AppError('cannot_start', `${messageOf(error)}\nUsage: ${usage}`);
  }
}
