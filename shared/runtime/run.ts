import { type Authenticator } from '../config/authentication';
import { PARTS, WHOLE } from '../config/config-subset';
import { type FollowedConfig, openConfig } from '../config/reader';
import { type FollowedDeletions, openDeletions } from '../deletions/reader';
import { connectKafka } from '../kafka/client/client';
import { type Kafka } from '../kafka/port';
import { createLog, type Log } from '../telemetry/log';
import { metrics } from '../telemetry/metrics';
import { startTelemetry } from '../telemetry/start';
import { messageOf } from './errors';
import { type Health, HEALTH_CONNECTIONS, serveHealth } from './health';
import { type ServiceName, HostProcess } from './host-process';
import { limitsOfService, type ProcessLimits, readProcessLimits } from './process-limits';
import { loadSettings, type Settings } from './settings';

/**
 * Runs a service: settings, log, telemetry, health, Kafka, and the order in which its parts stop.
 */

/** The parts that services share. */
export interface ServiceContext {
  readonly settings: Settings;
  /** what the system allows this service */
  readonly limits: ProcessLimits;
  readonly log: Log;
  /** Ends the process with code 1, so that a supervisor restarts it. */
  readonly onFatal: (error: unknown) => void;
  /** Serves the health on the service's port, and connects to Kafka. */
  readonly connect: (health: Health) => Promise<Kafka>;
  /**
   * Opens `config`, on which the health depends from now on. Call it after `connect`.
   * @param authenticator of a service that has WAYPOST_SECRET_KEY
   */
  readonly openConfig: (authenticator?: Authenticator) => Promise<FollowedConfig>;
  /**
   * Opens `deletions`, on which the health depends from now on. Call it after `connect`.
   */
  readonly openDeletions: () => Promise<FollowedDeletions>;
  /**
   * Registers a part to be stopped. The part that was opened last stops first, and each has stopped
   * before the next. `deadlineMs` is the time for the part and for those that stop after it.
   */
  readonly onStop: (stop: Stop) => void;
  /**
   * Sets the time that the service needs to stop, ms: it gets more than the usual deadline if it
   * needs more.
   */
  readonly stopWithin: (neededMs: () => number) => void;
}

type Stop = (deadlineMs: number) => unknown;

let sharedProcess: HostProcess | undefined;

/**
 * Lets `runService` add its service to a process of several, instead of taking the process for
 * itself.
 */
export function shareProcess(process: HostProcess): void {
  sharedProcess = process;
}

/**
 * Runs one service, as this process or as a part of it: telemetry, title, signals, graceful stop,
 * and one plain sentence (no stack trace) if it cannot start.
 * @param warmUp lets V8 compile the code of the service before it starts; not called in a process
 *   of several services, whose metrics have already begun to count
 */
export function runService(
  name: ServiceName,
  start: (service: ServiceContext) => Promise<void>,
  warmUp?: (log: Log) => Promise<void>,
): void {
  const host = sharedProcess ?? new HostProcess([name]);
  startTelemetry(name, host);
  const log = host.isShared ? createLog(name, 'info') : host.log;
  let context: OpenContext | undefined;
  host.run({
    name,
    log,
    start: async () => {
      const settings = loadSettings(process.env);
      log.level = host.log.level = settings.WAYPOST_LOG_LEVEL;
      host.warnOfNode();
      // It saves time, and nothing depends on it.
      const failed = (error: unknown) => log.warn({ reason: messageOf(error) }, 'warm_up.failed');
      if (warmUp && !host.isShared) await metrics.uncounted(() => warmUp(log)).catch(failed);
      const onFatal = (error: unknown) => host.fail(error, log);
      context = createContext({
        name,
        settings,
        limits: limitsOfService(readProcessLimits(), host.isShared),
        healths: host.healths,
        log,
        onFatal,
      });
      await start(context);
    },
    stop: async (deadlineMs) => context?.stop(deadlineMs),
    neededMs: () => context?.neededMs() ?? 0,
  });
}

type ContextParts = Pick<ServiceContext, 'settings' | 'limits' | 'log' | 'onFatal'> & {
  name: ServiceName;
  /** of all services of the process; `connect` adds that of this one */
  healths: Map<ServiceName, Health | undefined>;
};

/** A context, and the end of all that was opened in it. */
export interface OpenContext extends ServiceContext {
  /** @throws the error of a part; the parts that were opened before it are not stopped then */
  stop(deadlineMs: number): Promise<void>;
  /** time that it needs to stop, ms; 0 if it said nothing */
  neededMs(): number;
}

export function createContext(parts: ContextParts): OpenContext {
  const { name, settings, healths, log, onFatal } = parts;
  const stops: Stop[] = [];
  let health: Health | undefined;
  let kafka: Kafka | undefined;
  let needed = () => 0;
  return {
    ...parts,
    stopWithin: (neededMs) => (needed = neededMs),
    neededMs: () => needed(),
    onStop: (stop) => void stops.push(stop),
    connect: async (own) => {
      health = own;
      healths.set(name, own);
      const port = settings[`WAYPOST_${name.toUpperCase() as Uppercase<ServiceName>}_HEALTH_PORT`];
      const server = await serveHealth({
        host: settings.WAYPOST_HOST,
        port,
        maxConnections: HEALTH_CONNECTIONS,
        health,
        all: healths,
      });
      stops.push(() => server.close());
      const client = (kafka = await connectKafka(settings, { clientId: name, log }));
      stops.push(() => client.close());
      return client;
    },
    openConfig: async (authenticator) => {
      if (!health || !kafka) throw new Error('connect comes before openConfig');
      const config = (health.config = await openConfig(kafka, {
        name,
        part: PARTS[name] ?? WHOLE,
        authenticator,
        log,
        onFatal,
      }));
      stops.push(() => config.stop());
      return config;
    },
    openDeletions: async () => {
      if (!health || !kafka) throw new Error('connect comes before openDeletions');
      const deletions = (health.deletions = await openDeletions(kafka, { name, log, onFatal }));
      stops.push(() => deletions.stop());
      return deletions;
    },
    stop: async (deadlineMs) => {
      if (health) health.stopping = true;
      const until = performance.now() + deadlineMs;
      for (const stop of stops.reverse()) await stop(Math.max(0, until - performance.now()));
    },
  };
}
