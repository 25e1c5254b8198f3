import { printBanner } from './banner';
import { supervise } from '../standalone/supervisor';

/** `npm start`: runs the whole system on this machine until it is stopped. */

/**
 * Runs the system.
 * @returns the exit code
 */
export function start(env: NodeJS.ProcessEnv): Promise<number> {
  return supervise({
    env,
    onReady: (system) => {
      printBanner(system);
      // Scripts wait for exactly this line.
      system.output.say('waypost ready');
      return Promise.resolve(undefined);
    },
  });
}
