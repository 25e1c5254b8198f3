import { join } from 'node:path';
import { ROOT } from '../../shared/service/repo-root';

/** The names of the services, in the order in which they are started and shown. */
export const SERVICES = ['ingest', 'router', 'delivery', 'retry', 'audiences', 'control'] as const;

/** One of the services. */
export type ServiceName = (typeof SERVICES)[number];

/** The compiled entry of a service. */
export function serviceMain(name: ServiceName): string {
  return join(ROOT, 'dist', 'services', name, 'main.js');
}
