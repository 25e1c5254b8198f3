import { readFileSync } from 'node:fs';
import { printAddresses, printFirstEvent } from './banner';
import { supervise } from './supervisor';
import { volumeWarning } from './kafka/volume';

/** `npm start`: runs the whole system on this machine, or in one container, until it is stopped. */

/**
 * Runs the system.
 * @param options `volume`: the data dir should be on a volume, because this is a container;
 * `together`: all services run in one process
 * @returns the exit code
 */
export function start(
  env: NodeJS.ProcessEnv,
  options: { volume: boolean; together: boolean },
): Promise<number> {
  return supervise({
    env,
    together: options.together,
    container: options.volume,
    onReady: (system) => {
      printAddresses(system);
      printFirstEvent(system, { container: options.volume });
      const warning = options.volume
        ? volumeWarning(
            system.settings.WAYPOST_DATA_DIR,
            readFileSync('/proc/self/mountinfo', 'utf8'),
          )
        : undefined;
      if (warning !== undefined) system.output.error(warning);
      // Scripts wait for exactly this line.
      system.output.say('waypost ready');
      return Promise.resolve(undefined);
    },
  });
}
