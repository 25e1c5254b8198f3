import { AppError, messageOf } from './errors';
import { type Log } from '../telemetry/log';
import { stopTelemetry } from '../telemetry/start';

/** A started service. `stop` drains and closes its parts in order, within `deadlineMs`. */
export interface Running {
  stop(deadlineMs: number): Promise<void>;
}

/** Time from the first SIGTERM to a forced exit. Kubernetes' default grace period is 30 s. */
const STOP_DEADLINE_MS = 25_000;
/** A service loses its broker soon after its supervisor, so it ends within this time, drained or not. */
const ORPHAN_DEADLINE_MS = 3_000;
/** Part of the deadline that an unresponsive collector may use. */
const TELEMETRY_MS = 2_000;
/** Terminals and npm both forward one Ctrl-C: two signals within this time count as one. */
const SAME_SIGNAL_MS = 2_000;

/**
 * Runs one service as this process: title, signals, graceful stop, and one plain sentence (no stack trace) if it cannot
 * start. The `fatal` that `start` receives ends the process with code 1, so that a supervisor restarts it.
 */
export function run(name: string, log: Log, start: (fatal: (error: unknown) => void) => Promise<Running>): void {
  process.title = `waypost-${name}`;
  let running: Running | undefined;
  let stoppedAt = 0;

  const exit = (code: number) => {
    // pino writes synchronously to stdout, so an immediate exit loses nothing.
    process.exit(code);
  };
  const fatal = (error: unknown) => {
    log.fatal({ err: error instanceof AppError ? error.message : error }, 'service.failed');
    exit(1);
  };
  const stop = (reason: string, deadlineMs: number) => {
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
    stopInTurn(running, deadlineMs - 500).then(
      () => {
        log.info('service.stopped');
        exit(0);
      },
      (error: unknown) => {
        log.error({ err: error }, 'service.stop_failed');
        exit(1);
      },
    );
  };

  process.on('SIGTERM', () => stop('SIGTERM', STOP_DEADLINE_MS));
  process.on('SIGINT', () => stop('SIGINT', STOP_DEADLINE_MS));
  // The supervisor holds an IPC channel open, so the channel's end means that the supervisor has ended.
  if (process.channel) {
    process.on('disconnect', () => stop('disconnect', ORPHAN_DEADLINE_MS));
    process.channel.unref();
  }
  process.on('uncaughtException', fatal);
  process.on('unhandledRejection', fatal);

  start(fatal).then(
    (service) => {
      running = service;
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

/** Stops telemetry last, because draining still produces spans. */
async function stopInTurn(running: Running, deadlineMs: number): Promise<void> {
  const telemetryMs = Math.min(TELEMETRY_MS, deadlineMs / 6);
  await running.stop(deadlineMs - telemetryMs);
  await stopTelemetry(telemetryMs);
}
