import { SERVICES, type ServiceName } from '../../bin/service-list';
import { eventually } from '../support/eventually';
import { freePorts } from '../support/free-port';
import { openProcesses } from '../support/processes';
import { healthPortOf } from '../support/service';
import { startSupervised, type Supervised } from '../support/supervised';

/** Some services in one process, and their common end. first-webhook.test.ts runs all in one. */

let running: Supervised | undefined;
afterEach(() => running?.end('SIGKILL'));

test('the failure of one ends them all, and services not named do not start', async () => {
  const processes = await openProcesses({
    prefix: 'one-process',
    partitions: 1,
    retryDelays: '1s',
  });
  try {
    const ports = await freePorts(SERVICES.length);
    const env = Object.fromEntries(
      SERVICES.map((name, i) => [`WAYPOST_${name.toUpperCase()}_HEALTH_PORT`, String(ports[i]!)]),
    );
    const start = (...args: string[]) =>
      (running = startSupervised(process.execPath, ['dist/bin/main.js', 'service', ...args], {
        ...processes.env,
        ...env,
      }));
    const first = start('router', 'retry');
    const ready = async (name: ServiceName) =>
      (await fetch(`http://127.0.0.1:${healthPortOf(env, name)}/readyz`)).status;
    await eventually(
      async () => expect([await ready('router'), await ready('retry')]).toEqual([200, 200]),
      {
        deadlineMs: 60_000,
      },
    );
    await expect(ready('delivery')).rejects.toThrow();

    // The port of retry is in use, so that delivery starts and retry does not.
    const second = start('delivery', 'retry');
    expect(await second.exited).toBe(1);
    expect(second.output()).toContain(
      `waypost-retry: port ${healthPortOf(env, 'retry')} on 127.0.0.1 is in use`,
    );
    expect(await first.end('SIGTERM')).toBe(0);
  } finally {
    await processes.close();
  }
});
