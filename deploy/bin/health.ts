import { AppError } from '../../shared/service/errors';
import { loadSettings } from '../../shared/service/settings';
import { healthPort } from '../standalone/local-settings';
import { SERVICES } from '../standalone/service-list';
import { reachable, whyNot } from '../standalone/readiness';

/**
 * `main.js health [livez|readyz]`: the health check of a container. It does not need to know which service runs
 * there: only one of the health ports responds.
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
  // A closed port belongs to another service.
  const reasons = answers.filter((answer) => !answer?.includes('ECONNREFUSED'));
  throw new AppError('cannot_start', `Not ${question}: ${reasons.join('; ') || 'no service answers'}`);
}
