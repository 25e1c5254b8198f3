import { resolve } from 'node:path';
import { SERVICES } from '../bin/service-list';
import { type LocalSystem } from './supervisor';

/** The text that a started system prints for the person who started it. */

export function printAddresses(system: LocalSystem): void {
  const { output, settings, healthPorts } = system;
  const health = SERVICES.map((name) => `${name} ${String(healthPorts[name])}`).join(', ');
  for (const line of [
    '',
    `  Open ${system.controlUrl} and sign in with the admin token ${system.adminToken}`,
    '',
    `  ingest       ${system.ingestUrl}`,
    `  control      ${system.controlUrl} (the console; the API is under /api/v1)`,
    `  kafka        ${system.brokers.join(',')}${system.embedded ? ' (embedded)' : ''}`,
    `  health       ${health} (/livez, /readyz)`,
    `  data         ${settings.WAYPOST_DATA_DIR}`,
    '',
    '  Webhooks may reach private addresses in: ' +
      `${settings.WAYPOST_ALLOWED_NETWORKS.join(', ') || 'none'} (WAYPOST_ALLOWED_NETWORKS)`,
    '',
  ]) {
    output.say(line);
  }
}

/**
 * Prints shell commands that bring a first event from a source to a receiver.
 * @param options `container`: there the command line is the command `waypost`
 */
export function printFirstEvent(system: LocalSystem, options: { container: boolean }): void {
  const { container } = options;
  const waypost = container ? 'waypost' : 'node cli/waypost.cjs';
  // The command line finds the address and the token in .waypost of its folder.
  const isFound = container || system.settings.WAYPOST_DATA_DIR === resolve('.waypost');
  for (const line of [
    '  A first event. In a second shell ' +
      `${container ? 'of this container (docker exec -it … sh) ' : ''}start a receiver that ` +
      'prints what arrives:',
    '',
    `    node -e "require('http').createServer((call, answer) => ` +
      `call.on('end', () => answer.end()).pipe(process.stdout, { end: false })).listen(3000)"`,
    '',
    '  In a third one make a source and a destination, and send an event:',
    '',
    ...(isFound
      ? []
      : [
          `    export WAYPOST_URL=${system.controlUrl} WAYPOST_INGEST_URL=${system.ingestUrl} ` +
            `WAYPOST_TOKEN=${system.adminToken}`,
        ]),
    `    ${waypost} sources create "First source"`,
    `    ${waypost} destinations create "First hook" --source "First source" ` +
      '--webhook http://127.0.0.1:3000/ --enable',
    `    ${waypost} send track --source "First source" --user user-1 --event "First Event"`,
    '',
  ]) {
    system.output.say(line);
  }
}
