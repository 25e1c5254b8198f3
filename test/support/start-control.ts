import { startControl as start } from '../../services/control/assemble';
import { createContext } from '../../shared/runtime/run';
import { readProcessLimits } from '../../shared/runtime/process-limits';
import { type Settings } from '../../shared/runtime/settings';
import { type Log } from '../../shared/telemetry/log';
import { freePorts } from './free-port';

/** Control in the process of the test, opened and stopped as `runService` does it. */

export interface RunningControl {
  port: number;
  healthPort: number;
  /** Drains and closes all parts in order, within `deadlineMs`. */
  stop(deadlineMs: number): Promise<void>;
}

export async function startControl(
  settings: Settings,
  log: Log,
  onFatal: (error: unknown) => void,
): Promise<RunningControl> {
  const [healthPort = 0] = await freePorts(1);
  const context = createContext({
    name: 'control',
    settings: { ...settings, WAYPOST_CONTROL_HEALTH_PORT: healthPort },
    limits: readProcessLimits(),
    healths: new Map(),
    log,
    onFatal,
  });
  const { port } = await start(context);
  return { port, healthPort, stop: (deadlineMs) => context.stop(deadlineMs) };
}
