import { join } from 'node:path';
import { ROOT } from '../../shared/service/repo-root';

/** The names of the services, in the order of start and display. */
export const SERVICES = ['ingest', 'router', 'delivery', 'retry', 'audiences', 'control'] as const;

/** The name of a service. */
export type ServiceName = (typeof SERVICES)[number];

/** Returns the compiled entry of a service. */
export function serviceMain(name: ServiceName): string {
  return join(ROOT, 'dist', 'services', name, 'main.js');
}
