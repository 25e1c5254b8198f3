import { sleep } from '../../shared/service/async';
import { AppError } from '../../shared/service/errors';
import { restartOnExit, type RestartedProgram } from './restart';
import { type Output } from './output';
import { SERVICES, type ServiceName } from './service-list';
import { whyNotReady } from './readiness';
import { type ServiceProcess, startService } from './service-process';

/**
 * Starts the services of a local system together, waits for them, restarts them, and stops them in the order of the
 * flow.
 */

/**
 * A service that refuses to start this many times in a row will always refuse: because of a setting, a port, or a
 * broker that it cannot use.
 */
const REFUSALS = 3;
/** A service stops within 25 s (shared/service/run.ts). */
const STOP_MS = 26_000;
const POLL_MS = 50;
const REPORT_MS = 15_000;
/** Services that accept work stop first, so that work in flight finds the next stage running. */
const STOP_ORDER: ServiceName[][] = [['ingest', 'control'], ['audiences'], ['router', 'retry'], ['delivery']];

/** The inputs of the services. */
export interface ServicesOptions {
  env: NodeJS.ProcessEnv;
  output: Output;
  /** the compiled entry of a service */
  main: (name: ServiceName) => string;
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
  const processes = new Map<ServiceName, ServiceProcess>();
  const refusals = new Map<ServiceName, number>();
  let refused: string | undefined;

  const keepService = (name: ServiceName): RestartedProgram =>
    restartOnExit({
      launch: async () => {
        const { env, output } = options;
        const service = await startService({ name, main: options.main(name), env, output });
        processes.set(name, service);
        return service;
      },
      onDown: (ending, pauseMs) => {
        const service = processes.get(name);
        const count = ending.code === 1 && !service?.started() ? (refusals.get(name) ?? 0) + 1 : 0;
        refusals.set(name, count);
        if (count >= REFUSALS)
          refused ??= service?.complaint() || `waypost-${name} ended with ${ending.text} at each start`;
        options.output.event('service.ended', {
          name,
          how: ending.text,
          said: service?.complaint(),
          restartInMs: pauseMs,
        });
      },
    });
  const kept = new Map(SERVICES.map((name) => [name, keepService(name)]));

  return {
    ready: async (giveUp) => {
      let reportAt = Date.now() + REPORT_MS;
      while (!giveUp.aborted) {
        if (refused !== undefined) throw new AppError('cannot_start', refused);
        const waiting = await notReady(processes, options);
        if (waiting.length === 0) return;
        if (Date.now() >= reportAt) {
          options.output.event('services.awaited', { waiting });
          reportAt = Date.now() + REPORT_MS;
        }
        await sleep(POLL_MS);
      }
    },
    stop: async () => {
      for (const group of STOP_ORDER) await Promise.all(group.map(async (name) => kept.get(name)?.stop(STOP_MS)));
    },
    kill: () => {
      for (const service of kept.values()) service.kill();
    },
  };
}

/** Lists the services that are not ready, each with its reason. */
async function notReady(processes: Map<ServiceName, ServiceProcess>, options: ServicesOptions): Promise<string[]> {
  const reasons = await Promise.all(
    SERVICES.map(async (name) => {
      if (!processes.get(name)?.started()) return `${name}: has not started`;
      const why = await whyNotReady(options.host, options.healthPorts[name]);
      return why === undefined ? [] : `${name}: ${why}`;
    }),
  );
  return reasons.flat();
}
