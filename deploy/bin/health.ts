import { AppError } from '../../shared/service/errors';
import { loadSettings } from '../../shared/service/settings';
import { healthPort } from '../standalone/local-settings';
import { SERVICES } from '../standalone/service-list';
import { reachable, whyNot } from '../standalone/readiness';

/**
 * `main.js health [livez|readyz]`: what a container's health check runs. It is not told which service runs there, and need
 * not be: somebody answers at one of the five ports only.
 * @throws AppError `cannot_start` with the reasons, so that the exit code is not 0
 */
export async function checkHealth(question: string, env: NodeJS.ProcessEnv): Promise<void> {
  if (question !== 'livez' && question !== 'readyz') {
    throw new AppError('cannot_start', `There is no question "${question}": ask livez or readyz.`);
  }
  const settings = loadSettings(env);
  const host = reachable(settings.WAYPOST_HOST);
  const answers = await Promise.all(
    SERVICES.map((name) => whyNot(question, { host, port: settings[healthPort(name)] })),
  );
  if (answers.includes(undefined)) return;
  // What nobody listens at is another service's port.
  const reasons = answers.filter((answer) => !answer?.includes('ECONNREFUSED'));
  throw new AppError('cannot_start', `Not ${question}: ${reasons.join('; ') || 'no service answers'}`);
}
