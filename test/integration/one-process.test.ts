import { SERVICES, type ServiceName } from '../../bin/service-list';
import { aTrack } from '../support/factories';
import { eventually } from '../support/eventually';
import { freePorts } from '../support/free-port';
import { openProcesses } from '../support/processes';
import { type StorySystem, openStorySystem } from '../support/story-system';
import { startSupervised, type Supervised } from '../support/supervised';

/**
 * Several services in one process: their work, their health and metrics apart, and their common
 * end.
 */

const healthPort = (env: Record<string, string>, name: ServiceName) =>
  env[`WAYPOST_${name.toUpperCase()}_HEALTH_PORT`]!;

describe('all services in one process', () => {
  let story: StorySystem;
  beforeAll(async () => {
    story = await openStorySystem({ together: true });
  }, 240_000);
  afterAll(() => story.close());

  const metricsOf = async (name: ServiceName) => {
    const answer = await fetch(`http://127.0.0.1:${healthPort(story.system.env, name)}/metrics`);
    return (await answer.text()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  };
  /** Returns the records that a service has sent to or read from topics, by topic. */
  const records = (lines: readonly string[], what: 'sent' | 'consumed') =>
    Object.fromEntries(
      lines
        .filter((line) => line.startsWith(`messaging_client_${what}_messages_total`))
        .map((line) => [
          /messaging_destination_name="([^"]*)"/.exec(line)?.[1],
          Number(line.split(' ').at(-1)),
        ]),
    );

  test('they deliver and retry calls, with their own health ports and work counts', async () => {
    const { system, sink } = story;
    sink.on('/hook', [{ status: 503 }, {}]);
    const connection = await story.connect({ webhooks: [{ url: sink.url('/hook') }] });
    const call = await connection.send(aTrack());
    const requests = await sink.waitFor(2, { path: '/hook' });
    expect(
      requests.map(({ body }) => (JSON.parse(String(body)) as { messageId: string }).messageId),
    ).toEqual([call.messageId, call.messageId]);

    for (const name of SERVICES) {
      const ready = await fetch(`http://127.0.0.1:${healthPort(system.env, name)}/readyz`);
      expect([name, ready.status]).toEqual([name, 200]);
      const lines = await metricsOf(name);
      expect(lines.filter((line) => !line.includes(`service="${name}"`))).toEqual([]);
      expect(lines.filter((line) => line.startsWith('waypost_info'))).toHaveLength(1);
    }
    const ingest = await metricsOf('ingest');
    expect(Object.keys(records(ingest, 'sent'))).toEqual(['messages']);
    expect(records(ingest, 'consumed')).toEqual({});
    await eventually(async () => {
      expect(Object.keys(records(await metricsOf('router'), 'sent'))).toEqual(['webhooks']);
      expect(records(await metricsOf('retry'), 'sent')).toEqual({
        'webhooks.due': 1,
        // It learns the time of the brokers from its own note.
        'webhooks.recalls': 1,
      });
      expect(Object.keys(records(await metricsOf('delivery'), 'consumed')).sort()).toEqual([
        'webhooks',
        'webhooks.due',
      ]);
    });
  });

  test('they end with the process: those accepting work first, and delivery last', async () => {
    const { system } = story;
    const from = system.output().length;
    expect(await system.stop()).toBe(0);
    const stopped = system
      .output()
      .slice(from)
      .split('\n')
      .flatMap((line) => /"service":"(\w+)".*"msg":"service\.stopped"/.exec(line)?.[1] ?? []);
    expect(stopped.slice(0, 2).sort()).toEqual(['control', 'ingest']);
    expect(stopped[2]).toBe('audiences');
    expect(stopped.slice(3, 5).sort()).toEqual(['retry', 'router']);
    expect(stopped.slice(5)).toEqual(['delivery']);
  });
});

describe('some services in one process', () => {
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
        (await fetch(`http://127.0.0.1:${healthPort(env, name)}/readyz`)).status;
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
        `waypost-retry: port ${healthPort(env, 'retry')} on 127.0.0.1 is in use`,
      );
      expect(await first.end('SIGTERM')).toBe(0);
    } finally {
      await processes.close();
    }
  });
});
