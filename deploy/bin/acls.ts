import { loadSettings, requireBrokers } from '../../shared/service/settings';
import { grantCommands, grantsOf } from '../kafka/acls';

/**
 * `npm run acls [-- USER]`: prints the commands that let each service do what it must, and no more. Nothing is changed here:
 * who may change ACLs is nobody of Waypost.
 * @param user what the principals' names begin with (default `waypost-`)
 */
export function printGrants(user: string | undefined, env: NodeJS.ProcessEnv): void {
  const settings = loadSettings(env);
  const commands = grantCommands(
    grantsOf(settings.WAYPOST_TOPIC_PREFIX, user ?? 'waypost-'),
    requireBrokers(settings).join(),
  );
  process.stdout.write(`${commands.join('\n')}\n`);
}
