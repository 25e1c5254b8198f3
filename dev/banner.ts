import { SERVICES } from '../bin/service-list';
import { type LocalSystem } from './supervisor';

/** The text that a started system prints for the person who started it. */

/** Prints the addresses, the admin token, and the commands of a first event. */
export function printBanner(system: LocalSystem): void {
  const { output, settings, healthPorts } = system;
  const health = SERVICES.map((name) => `${name} ${String(healthPorts[name])}`).join(', ');
  for (const line of [
    '',
    `  ingest       ${system.ingestUrl}`,
    `  control      ${system.controlUrl} (the console; the API is under /api/v1)`,
    `  kafka        ${system.brokers.join(',')}${system.embedded ? ' (embedded)' : ''}`,
    `  health       ${health} (/livez, /readyz)`,
    `  data         ${settings.WAYPOST_DATA_DIR}`,
    `  admin token  ${system.adminToken}`,
    '',
    '  Webhooks may reach private addresses in: ' +
      `${settings.WAYPOST_ALLOWED_NETWORKS.join(', ') || 'none'} (WAYPOST_ALLOWED_NETWORKS)`,
    '',
    '  A first event, with a source of its own:',
    '',
    ...firstEvent(system).map((command) => `    ${command}`),
    '',
  ]) {
    output.say(line);
  }
}

/** Returns two shell commands: the second uses the write key that the first one stores. */
function firstEvent(
  system: Pick<LocalSystem, 'ingestUrl' | 'controlUrl' | 'adminToken'>,
): string[] {
  const json = `-H 'Content-Type: application/json'`;
  return [
    `KEY=$(curl -s ${system.controlUrl}/api/v1/sources -H 'Authorization: Bearer ` +
      `${system.adminToken}' ${json} -d '{"name":"First source"}' | sed 's/.*"writeKey": ` +
      `*"\\([^"]*\\)".*/\\1/')`,
    `curl -s ${system.ingestUrl}/v1/track -u "$KEY:" ${json} -d ` +
      `'{"userId":"user-1","event":"First Event","properties":{"plan":"free"}}'`,
  ];
}
