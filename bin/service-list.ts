import { join } from 'node:path';
import { ROOT } from '../shared/runtime/repo-root';

/** The names of the services, in the order of start and display. */
export const SERVICES = ['ingest', 'router', 'delivery', 'retry', 'audiences', 'control'] as const;

/** The name of a service. */
export type ServiceName = (typeof SERVICES)[number];

/**
 * What `service` takes. In the image it follows `docker run waypost`, so it names no npm script.
 */
export const SERVICE_USAGE =
  `Name some of ${SERVICES.join(', ')}, or all of them: all. The other commands are topics, ` +
  'secrets, config and check.';

/** A process that the supervisor keeps: one service, or all of them together. */
export type ProcessName = ServiceName | 'all';

/** Returns the processes of a system. @param together true if all services share one */
export function processNames(together = false): readonly ProcessName[] {
  return together ? ['all'] : SERVICES;
}

/** Returns the compiled entry of a process, with its arguments. */
export function processEntry(name: ProcessName): string[] {
  return name === 'all'
    ? [join(ROOT, 'dist', 'bin', 'main.js'), 'service', name]
    : [serviceMain(name)];
}

/** Returns the compiled entry of a service. */
export function serviceMain(name: ServiceName): string {
  return join(ROOT, 'dist', 'services', name, 'main.js');
}
