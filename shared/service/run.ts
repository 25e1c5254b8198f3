import { openConfig } from '../config/reader';
import { type ConfigReader } from '../config/types';
import { connectKafka } from '../kafka/client';
import { type Kafka } from '../kafka/port';
import { createLog, type Log } from '../telemetry/log';
import { startTelemetry, stopTelemetry } from '../telemetry/start';
import { AppError, messageOf } from './errors';
import { type Health, serveHealth } from './health';
import { loadSettings, type Settings } from './settings';

/** Runs a service: settings, log, telemetry, health, Kafka, signals, and the order in which everything stops. */

type HealthPort = Extract<keyof Settings, `WAYPOST_${string}_HEALTH_PORT`>;
export type ServiceName = HealthPort extends `WAYPOST_${infer Name}_HEALTH_PORT` ? Lowercase<Name> : never;

/** The parts that services share. */
export interface ServiceContext {
  readonly settings: Settings;
  readonly log: Log;
  /** Ends the process with code 1, so that a supervisor restarts it. */
  readonly onFatal: (error: unknown) => void;
  /** Serves the health on the service's port, and connects to Kafka. */
  readonly connect: (health: Health) => Promise<Kafka>;
  /** Opens `config`, on which the health depends from now on. Call it after `connect`. */
  readonly openConfig: () => Promise<ConfigReader>;
  /**
   * Registers a part to be stopped. The part that was opened last stops first, and each has stopped before the next.
   * `deadlineMs` is the time for all parts.
   */
  readonly onStop: (stop: Stop) => void;
}

type Stop = (deadlineMs: number) => unknown;

/** Time from the first SIGTERM to a forced exit. Kubernetes' default grace period is 30 s. */
const STOP_DEADLINE_MS = 25_000;
/** A service loses its broker soon after its supervisor, so it ends within this time, drained or not. */
const ORPHAN_DEADLINE_MS = 3_000;
/** Part of the deadline that an unresponsive collector may use. */
const TELEMETRY_MS = 2_000;
/** Terminals and npm both forward one Ctrl-C: two signals within this time count as one. */
const SAME_SIGNAL_MS = 2_000;

/**
 * Runs one service as this process: telemetry, title, signals, graceful stop, and one plain sentence (no stack trace) if it
 * cannot start.
 */
export function runService(name: ServiceName, start: (service: ServiceContext) => Promise<void>): void {
  process.title = `waypost-${name}`;
  startTelemetry(name);
  const log = createLog(name, 'info');
  let running: OpenContext | undefined;
  let stoppedAt = 0;

  const onFatal = (error: unknown) => {
    log.fatal({ err: error instanceof AppError ? error.message : error }, 'service.failed');
    exit(1);
  };
  onSignals((reason, deadlineMs) => {
    const now = Date.now();
    if (stoppedAt !== 0) {
      if (now - stoppedAt > SAME_SIGNAL_MS && reason !== 'disconnect') exit(1);
      return;
    }
    stoppedAt = now;
    log.info({ reason }, 'service.stopping');
    setTimeout(() => {
      log.error({ deadlineMs }, 'service.stop_overdue');
      exit(1);
    }, deadlineMs).unref();
    if (!running) return exit(0);
    stopAll(running, deadlineMs - 500).then(
      () => {
        log.info('service.stopped');
        exit(0);
      },
      (error: unknown) => {
        log.error({ err: error }, 'service.stop_failed');
        exit(1);
      },
    );
  });
  process.on('uncaughtException', onFatal);
  process.on('unhandledRejection', onFatal);

  const begin = async () => {
    const settings = loadSettings(process.env);
    log.level = settings.WAYPOST_LOG_LEVEL;
    const context = createContext({ name, settings, log, onFatal });
    await start(context);
    return context;
  };
  begin().then(
    (context) => {
      running = context;
      log.info('service.started');
      process.send?.({ type: 'started' });
    },
    (error: unknown) => {
      if (error instanceof AppError) {
        process.stderr.write(`waypost-${name}: ${error.message}\n`);
      } else {
        log.fatal({ err: error }, 'service.failed');
        process.stderr.write(`waypost-${name}: could not start: ${messageOf(error)}\n`);
      }
      exit(1);
    },
  );
}

/** pino writes synchronously to stdout, so an immediate exit loses nothing. */
function exit(code: number): void {
  process.exit(code);
}

function onSignals(stop: (reason: string, deadlineMs: number) => void): void {
  process.on('SIGTERM', () => stop('SIGTERM', STOP_DEADLINE_MS));
  process.on('SIGINT', () => stop('SIGINT', STOP_DEADLINE_MS));
  // The supervisor holds an IPC channel open, so the channel's end means that the supervisor has ended.
  if (!process.channel) return;
  process.on('disconnect', () => stop('disconnect', ORPHAN_DEADLINE_MS));
  process.channel.unref();
}

type ContextParts = Pick<ServiceContext, 'settings' | 'log' | 'onFatal'> & { name: ServiceName };

/** A context, and the end of all that was opened in it. */
export interface OpenContext extends ServiceContext {
  /** @throws the error of a part; the parts that were opened before it are not stopped then */
  stop(deadlineMs: number): Promise<void>;
}

export function createContext(parts: ContextParts): OpenContext {
  const { name, settings, log, onFatal } = parts;
  const stops: Stop[] = [];
  let health: Health | undefined;
  let kafka: Kafka | undefined;
  return {
    ...parts,
    onStop: (stop) => void stops.push(stop),
    connect: async (own) => {
      health = own;
      const port = settings[`WAYPOST_${name.toUpperCase() as Uppercase<ServiceName>}_HEALTH_PORT`];
      const server = await serveHealth({ host: settings.WAYPOST_HOST, port, health });
      stops.push(() => server.close());
      const client = (kafka = await connectKafka(settings, { clientId: name, log }));
      stops.push(() => client.close());
      return client;
    },
    openConfig: async () => {
      if (!health || !kafka) throw new Error('connect comes before openConfig');
      const config = (health.config = await openConfig(kafka, { name, log, onFatal }));
      stops.push(() => config.stop());
      return config;
    },
    stop: async (deadlineMs) => {
      if (health) health.stopping = true;
      for (const stop of stops.reverse()) await stop(deadlineMs);
    },
  };
}

/** Stops telemetry last, because draining still produces spans. */
async function stopAll(running: OpenContext, deadlineMs: number): Promise<void> {
  const telemetryMs = Math.min(TELEMETRY_MS, deadlineMs / 6);
  await running.stop(deadlineMs - telemetryMs);
  await stopTelemetry(telemetryMs);
}
