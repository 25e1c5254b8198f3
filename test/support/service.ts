import { join } from 'node:path';
import { type ServiceName } from '../../bin/service-list';
import { ROOT } from '../../shared/runtime/repo-root';
import { eventually, Final } from './eventually';
import { freePorts } from './free-port';
import { startSupervised, type Supervised } from './supervised';
import { type System } from '../../tools/harness/system';

/** One service as a built process, without a supervisor that restarts it. */
export interface Service extends Supervised {
  /** the reasons of `/readyz`; undefined if it does not answer */
  notReady(): Promise<string[] | undefined>;
  /** Sends SIGTERM. Resolves with its exit code, or the signal that ended it. */
  stop(): Promise<number | string>;
  kill(): Promise<void>;
}

/** Returns the health port of a service, which its settings name. */
export function healthPortOf(env: Record<string, string>, name: ServiceName): string {
  return env[`WAYPOST_${name.toUpperCase()}_HEALTH_PORT`]!;
}

const READY_MS = 120_000;
/** A process that is frozen never answers. */
const ANSWER_MS = 10_000;
/** A service gives itself 25 s to drain. */
const STOP_MS = 60_000;

/**
 * Starts a service and waits until it is ready.
 * @param env must set the health port
 * @param within a command that runs its arguments (memory-limit.ts)
 * @param build the folder of the build that it is of
 */
export async function startService(
  name: ServiceName,
  env: Record<string, string>,
  within: readonly string[] = [],
  build = ROOT,
): Promise<Service> {
  const entry = join(build, 'dist/services', name, 'main.js');
  const [command, ...args] = [...within, process.execPath, '--enable-source-maps', entry];
  const supervised = startSupervised(command, args, env);
  const port = healthPortOf(env, name);
  const notReady = () =>
    fetch(`http://127.0.0.1:${port}/readyz`, { signal: AbortSignal.timeout(ANSWER_MS) }).then(
      async (answer) => ((await answer.json()) as { reasons: string[] }).reasons,
      () => undefined,
    );
  let hasEnded = false;
  void supervised.exited.then(() => (hasEnded = true));
  try {
    await eventually(
      async () => {
        if (hasEnded) throw new Final(supervised.output());
        if ((await notReady())?.length !== 0) {
          throw new Error(`${name} is not ready: ${supervised.output()}`);
        }
      },
      { deadlineMs: READY_MS },
    );
  } catch (error) {
    await supervised.end('SIGKILL');
    throw error;
  }
  return {
    ...supervised,
    notReady,
    stop: () => supervised.end('SIGTERM', STOP_MS),
    kill: async () => {
      await supervised.end('SIGKILL');
    },
  };
}

/**
 * Starts one more process of a system's service, on other ports. The system's settings must hold
 * its secret key.
 * @param build the folder of the build that it is of
 */
export async function startBeside(
  { env }: System,
  name: ServiceName,
  more: Record<string, string> = {},
  build = ROOT,
): Promise<Service & { port: number; healthPort: string }> {
  const [port, healthPort] = await freePorts(2);
  const own = {
    ...env,
    ...more,
    // As `npm start` sets them.
    WAYPOST_HOST: '127.0.0.1',
    WAYPOST_ALLOWED_NETWORKS: '127.0.0.0/8',
    WAYPOST_INGEST_PORT: String(port),
    [`WAYPOST_${name.toUpperCase()}_HEALTH_PORT`]: String(healthPort),
  };
  const service = await startService(name, own, [], build);
  return { ...service, port: port!, healthPort: String(healthPort) };
}
