import { loadSettings, requireBrokers } from '../../shared/service/settings';
import { grantCommands, grantsOf } from '../kafka/acls';

/**
 * `npm run acls [-- USER]`: prints the commands that grant each service the access it needs, and no more. It changes
 * nothing, because no service of Waypost may change ACLs.
 * @param user prefix of the principals' names (default `waypost-`)
 */
export function printGrants(user: string | undefined, env: NodeJS.ProcessEnv): void {
  const settings = loadSettings(env);
  const commands = grantCommands(
    grantsOf(settings.WAYPOST_TOPIC_PREFIX, user ?? 'waypost-'),
    requireBrokers(settings).join(),
  );
  process.stdout.write(`${commands.join('\n')}\n`);
}
