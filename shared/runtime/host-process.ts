import { createLog, type Log } from '../telemetry/log';
import { loadSdk, type Sdk } from '../telemetry/start';
import { withTimeout } from './async';
import { collectGarbage } from './collect-garbage';
import { distrustRoots, outdatedNode } from './distrusted-roots';
import { AppError, messageOf } from './errors';
import { type Health } from './health';
import { returnIdleMemory } from './idle-memory';
import { type Settings } from './settings';

/**
 * The operating system's process of one or several services: its title, its signals, its exit code,
 * and the order of the stop.
 */

type HealthPort = Extract<keyof Settings, `WAYPOST_${string}_HEALTH_PORT`>;
export type ServiceName = HealthPort extends `WAYPOST_${infer Name}_HEALTH_PORT`
  ? Lowercase<Name>
  : never;

/** Services that accept work stop first, so that work in flight finds the next stage running. */
export const STOP_ORDER: readonly (readonly ServiceName[])[] = [
  ['ingest', 'control'],
  ['audiences'],
  ['router', 'retry'],
  ['delivery'],
];

/**
 * Time from the first SIGTERM to a forced exit, unless a service needs more. Kubernetes' default
 * grace period is 30 s.
 */
const STOP_DEADLINE_MS = 25_000;
/**
 * A service loses its broker soon after its supervisor, so it ends within this time, drained or
 * not.
 */
const ORPHAN_DEADLINE_MS = 3_000;
/** Part of the deadline that an unresponsive collector may use. */
const TELEMETRY_MS = 2_000;
/** Part of the deadline in which the process itself ends. */
const EXIT_MS = 500;
/** Terminals and npm both forward one Ctrl-C: two signals within this time count as one. */
const SAME_SIGNAL_MS = 2_000;

/** One service of the process. */
export interface HostedService {
  readonly name: ServiceName;
  readonly log: Log;
  /** @throws if it cannot start, which ends the process */
  start(): Promise<void>;
  /** Called after `start` has resolved. `deadlineMs` is the time for all parts of the service. */
  stop(deadlineMs: number): Promise<void>;
  /** time that it needs to stop, ms; 0 if the usual deadline is enough */
  neededMs(): number;
}

export class HostProcess {
  /** the log of the process, which a single service shares */
  readonly log: Log;
  /** undefined if no `OTEL_*` variable asks for it */
  readonly sdk: Sdk | undefined;
  /** of each service */
  readonly healths: Map<ServiceName, Health | undefined>;
  readonly #running = new Map<ServiceName, HostedService>();
  #stoppedAt = 0;
  #warned = false;

  constructor(readonly names: readonly ServiceName[]) {
    this.healths = new Map(names.map((each) => [each, undefined]));
    const name = names.length === STOP_ORDER.flat().length ? 'all' : names.join('+');
    process.title = `waypost-${name}`;
    this.log = createLog(name, 'info');
    this.sdk = loadSdk(this.isShared ? 'waypost' : `waypost-${name}`);
    distrustRoots();
    returnIdleMemory();
    collectGarbage();
    onSignals((reason, deadlineMs) => this.#signalled(reason, deadlineMs));
    process.on('uncaughtException', (error) => this.fail(error));
    process.on('unhandledRejection', (error) => this.fail(error));
  }

  /** True if several services share the process. */
  get isShared(): boolean {
    return this.names.length > 1;
  }

  /**
   * Warns once if Node itself trusts authorities that must not be trusted. Each service calls it.
   */
  warnOfNode(): void {
    if (this.#warned) return;
    this.#warned = true;
    // A supervisor, at the other end of the channel, says it once for all of its processes.
    const reason = process.channel ? undefined : outdatedNode();
    if (reason !== undefined) this.log.warn({ reason }, 'node.outdated');
  }

  /** Starts a service. The process is up once all of its services are. */
  run(service: HostedService): void {
    service.start().then(
      () => {
        this.#running.set(service.name, service);
        service.log.info('service.started');
        if (this.#running.size === this.names.length) process.send?.({ type: 'started' });
      },
      (error: unknown) => {
        if (isAppError(error)) {
          process.stderr.write(`waypost-${service.name}: ${error.message}\n`);
        } else {
          service.log.fatal({ err: error }, 'service.failed');
          process.stderr.write(`waypost-${service.name}: could not start: ${messageOf(error)}\n`);
        }
        exit(1);
      },
    );
  }

  /** Ends the process with code 1, so that a supervisor restarts it. */
  fail(error: unknown, log = this.log): void {
    log.fatal({ err: isAppError(error) ? error.message : error }, 'service.failed');
    exit(1);
  }

  #signalled(reason: string, usualMs: number): void {
    const now = Date.now();
    if (this.#stoppedAt !== 0) {
      if (now - this.#stoppedAt > SAME_SIGNAL_MS && reason !== 'disconnect') exit(1);
      return;
    }
    this.#stoppedAt = now;
    const needed = [...this.#running.values()].map((service) => service.neededMs());
    const deadlineMs = reason === 'disconnect' ? usualMs : Math.max(usualMs, ...needed);
    setTimeout(() => {
      this.log.error({ deadlineMs }, 'service.stop_overdue');
      exit(1);
    }, deadlineMs).unref();
    if (this.#running.size === 0) {
      this.log.info({ reason }, 'service.stopping');
      return exit(0);
    }
    this.#stop(reason, deadlineMs - EXIT_MS).then(
      () => exit(0),
      () => exit(1),
    );
  }

  /** @throws if the stop of a service failed; those after it have been stopped nevertheless */
  async #stop(reason: string, deadlineMs: number): Promise<void> {
    const telemetryMs = Math.min(TELEMETRY_MS, deadlineMs / 6);
    const until = performance.now() + deadlineMs - telemetryMs;
    const groups = STOP_ORDER.map((group) =>
      group.flatMap((name) => this.#running.get(name) ?? []),
    ).filter(({ length }) => length > 0);
    let failed = false;
    for (const [i, group] of groups.entries()) {
      // The next groups get the time that this one leaves.
      const shareMs = Math.max(0, until - performance.now()) / (groups.length - i);
      const stopped = await Promise.all(
        group.map((service) => stopService(service, reason, shareMs)),
      );
      failed ||= stopped.includes(false);
    }
    // Draining still produces spans.
    await withTimeout(telemetryMs, this.sdk?.stop().catch(() => undefined) ?? Promise.resolve());
    if (failed) throw new Error('a service has not stopped');
  }
}

/** @returns false if it failed, which is logged */
async function stopService(
  service: HostedService,
  reason: string,
  deadlineMs: number,
): Promise<boolean> {
  const { log } = service;
  log.info({ reason }, 'service.stopping');
  try {
    await service.stop(deadlineMs);
    log.info('service.stopped');
    return true;
  } catch (error) {
    log.error({ err: error }, 'service.stop_failed');
    return false;
  }
}

/**
 * Recognizes the error by its name: a service that shares the process has its own class
 * (bin/run-together.ts).
 */
function isAppError(error: unknown): error is AppError {
  return error instanceof AppError || (error instanceof Error && error.name === 'AppError');
}

/** pino writes synchronously to stdout, so an immediate exit loses nothing. */
function exit(code: number): void {
  process.exit(code);
}

function onSignals(stop: (reason: string, deadlineMs: number) => void): void {
  process.on('SIGTERM', () => stop('SIGTERM', STOP_DEADLINE_MS));
  process.on('SIGINT', () => stop('SIGINT', STOP_DEADLINE_MS));
  // The supervisor holds an IPC channel open, so the channel's end means that the supervisor has
  // ended.
  if (!process.channel) return;
  process.on('disconnect', () => stop('disconnect', ORPHAN_DEADLINE_MS));
  process.channel.unref();
}
