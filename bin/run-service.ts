import { existsSync } from 'node:fs';
import { AppError } from '../shared/runtime/errors';
import { loadSettings, type Settings } from '../shared/runtime/settings';
import { SERVICE_USAGE, SERVICES, serviceMain, type ServiceName } from './service-list';
import { neededSecrets } from '../dev/process-environment';
import { copyKey, localSecrets, type Secrets, storedSecrets } from '../dev/secrets';

/**
 * `npm run service -- <name> …`: runs one or several services in this process, as in a container.
 */

/**
 * Becomes the services, which take over signals, title and exit code.
 * @param args their names; `all` stands for every service
 * @throws AppError `cannot_start` for an unknown name, `bad_settings` with every mistake
 */
export async function runService(args: string[], env: NodeJS.ProcessEnv): Promise<void> {
  const [name, ...options] = args;
  if (name === 'topics') {
    const { makeTopics } = await import('./topics');
    return makeTopics(options, env);
  }
  if (name === 'secrets') {
    makeSecrets(options, env);
    return;
  }
  const names = servicesOf(args);
  const missing = names.find((each) => !existsSync(serviceMain(each)));
  if (missing) {
    throw new AppError(
      'cannot_start',
      `The service ${missing} has not been built. Run: npm run build`,
    );
  }
  const settings = loadSettings(env);
  for (const each of names) {
    const needed = neededSecrets(each).filter((secret) => !env[secret]);
    if (needed.length > 0) takeSecrets(each, { missing: needed, env, settings });
  }
  const [first] = names;
  if (names.length === 1 && first) {
    await import(serviceMain(first));
    return;
  }
  const { runTogether } = await import('./run-together');
  runTogether(names);
}

/**
 * Returns the named services, each once, in the order of their start.
 * @throws AppError `cannot_start` for an unknown name, and without a name
 */
function servicesOf(args: readonly string[]): ServiceName[] {
  const unknown = args.filter((arg) => arg !== 'all' && !isService(arg));
  if (args.length === 0 || unknown.length > 0) {
    const given =
      unknown[0] === undefined ? 'No service was named' : `There is no service "${unknown[0]}"`;
    throw new AppError('cannot_start', `${given}. ${SERVICE_USAGE}`);
  }
  return args.includes('all') ? [...SERVICES] : SERVICES.filter((each) => args.includes(each));
}

/**
 * `npm run service -- secrets [FOLDER]`: creates the missing secrets of the data dir, copies the
 * key to the folder of delivery, and ends. So delivery, which talks to strangers, can read the key
 * but not the admin token.
 */
function makeSecrets([folder]: string[], env: NodeJS.ProcessEnv): void {
  const { WAYPOST_DATA_DIR: dir } = loadSettings(env);
  localSecrets(dir, env);
  if (folder !== undefined) copyKey(dir, folder);
}

/**
 * Takes the missing secrets, and no others, from the data dir into the environment. If one is still
 * missing, the service refuses to start.
 */
export function takeSecrets(
  name: ServiceName,
  {
    missing,
    env,
    settings,
  }: { missing: (keyof Secrets)[]; env: NodeJS.ProcessEnv; settings: Settings },
): void {
  const dir = settings.WAYPOST_DATA_DIR;
  const secrets = (settings.WAYPOST_GENERATE_SECRETS ? localSecrets : storedSecrets)(dir, env);
  const taken = missing.filter((secret) => secrets[secret]);
  for (const secret of taken) env[secret] = secrets[secret];
  if (taken.length === 0) return;
  process.stderr.write(
    `waypost-${name}: ${taken.join(' and ')} not set: taken from ${dir}; services of one ` +
      `system must share them\n`,
  );
}

/**
 * Takes a missing key from the data dir into the environment, as control does, so that a command
 * beside control has its key.
 */
export function takeStoredKey(env: NodeJS.ProcessEnv): void {
  if (env.WAYPOST_SECRET_KEY) return;
  const dir = loadSettings(env).WAYPOST_DATA_DIR;
  const { WAYPOST_SECRET_KEY: key } = storedSecrets(dir, env);
  if (key === undefined) return;
  env.WAYPOST_SECRET_KEY = key;
  process.stderr.write(`WAYPOST_SECRET_KEY is not set: taken from ${dir}\n`);
}

function isService(name: string): boolean {
  return (SERVICES as readonly string[]).includes(name);
}
