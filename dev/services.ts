import { sleep } from '../shared/runtime/async';
import { AppError } from '../shared/runtime/errors';
import { STOP_ORDER } from '../shared/runtime/host-process';
import { restartOnExit, type RestartedProgram } from './restart';
import { type Output } from './output';
import { processNames, type ProcessName, SERVICES, type ServiceName } from '../bin/service-list';
import { whyNotReady } from './readiness';
import { type ServiceProcess, startService } from './service-process';

/**
 * Starts the services of a local system, in a process each or in one, waits for them, restarts
 * them, and stops them in the order of the flow.
 */

/**
 * A service that refuses to start this many times in a row will always refuse: because of a
 * setting, a port, or a broker that it cannot use.
 */
const REFUSALS = 3;
/**
 * A service stops within 25 s (shared/runtime/host-process.ts), and delivery within 37 s while an
 * endpoint has 30 s to respond.
 */
const STOP_MS = 38_000;
const POLL_MS = 50;
const REPORT_MS = 15_000;

/** The inputs of the services. */
export interface ServicesOptions {
  env: NodeJS.ProcessEnv;
  output: Output;
  /** the compiled entry of a process, with its arguments */
  entry: (name: ProcessName) => readonly string[];
  /** runs all services in one process */
  together: boolean;
  host: string;
  healthPorts: Record<ServiceName, number>;
}

/** The running services. */
export interface Services {
  /**
   * Resolves when each has reported that it is up and ready.
   * @throws AppError `cannot_start` with the sentence of a service that does not start
   */
  ready(giveUp: AbortSignal): Promise<void>;
  stop(): Promise<void>;
  /** Kills them. */
  kill(): void;
}

/** Starts all services. */
export function startServices(options: ServicesOptions): Services {
  const processes = new Map<ProcessName, ServiceProcess>();
  const refusals = new Map<ProcessName, number>();
  let refused: string | undefined;

  const keepProcess = (name: ProcessName): RestartedProgram =>
    restartOnExit({
      launch: async () => {
        const { env, output } = options;
        const service = await startService({ name, entry: options.entry(name), env, output });
        processes.set(name, service);
        return service;
      },
      onDown: (ending, pauseMs) => {
        const service = processes.get(name);
        const count = ending.code === 1 && !service?.started() ? (refusals.get(name) ?? 0) + 1 : 0;
        refusals.set(name, count);
        if (count >= REFUSALS) {
          refused ??=
            service?.complaint() || `waypost-${name} ended with ${ending.text} at each start`;
        }
        options.output.event('service.ended', {
          name,
          how: ending.text,
          said: service?.complaint(),
          restartInMs: pauseMs,
        });
      },
    });
  const names = processNames(options.together);
  const kept = new Map(names.map((name) => [name, keepProcess(name)]));
  const stopOrder: readonly (readonly ProcessName[])[] = options.together ? [names] : STOP_ORDER;

  return {
    ready: async (giveUp) => {
      let reportAt = performance.now() + REPORT_MS;
      while (!giveUp.aborted) {
        if (refused !== undefined) throw new AppError('cannot_start', refused);
        const waiting = await notReady(processes, options);
        if (waiting.length === 0) return;
        if (performance.now() >= reportAt) {
          options.output.event('services.awaited', { waiting });
          reportAt = performance.now() + REPORT_MS;
        }
        await sleep(POLL_MS);
      }
    },
    stop: async () => {
      for (const group of stopOrder) {
        await Promise.all(group.map(async (name) => kept.get(name)?.stop(STOP_MS)));
      }
    },
    kill: () => {
      for (const service of kept.values()) service.kill();
    },
  };
}

/** Lists the services that are not ready, each with its reason. */
async function notReady(
  processes: Map<ProcessName, ServiceProcess>,
  options: ServicesOptions,
): Promise<string[]> {
  const reasons = await Promise.all(
    SERVICES.map(async (name) => {
      if (!processes.get(options.together ? 'all' : name)?.started()) {
        return `${name}: has not started`;
      }
      const why = await whyNotReady(options.host, options.healthPorts[name]);
      return why === undefined ? [] : `${name}: ${why}`;
    }),
  );
  return reasons.flat();
}
