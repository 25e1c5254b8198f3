import { loadSettings, requireBrokers } from '../shared/runtime/settings';
import { grantScript, grantsOf } from './grants';

/** The prefix of the users' names, unless another is given. */
export const USER_PREFIX = 'waypost-';

/**
 * `node dist/bin/main.js acls [USER]`: prints a shell script that grants each service the
 * access it needs, and no more. It changes nothing: `service topics --acls` does.
 * @param user prefix of the principals' names
 */
export function printGrants(user: string | undefined, env: NodeJS.ProcessEnv): void {
  const settings = loadSettings(env);
  const grants = grantsOf(settings.WAYPOST_TOPIC_PREFIX, user ?? USER_PREFIX);
  process.stdout.write(grantScript(grants, requireBrokers(settings).join()));
}
