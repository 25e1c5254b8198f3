import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { launchBroker } from '../../../dev/kafka/broker';
import { type Ending } from '../../../dev/child-process';
import { launchContainer } from '../../../dev/kafka/container';
import { type ContainerEngine, type ContainerSpec } from '../../../dev/kafka/container-engine';

/**
 * The broker in a container, on an engine of this test, whose containers listen on their port as
 * real ones do.
 */

let folder: string;
let dir: string;
let engine: ReturnType<typeof startEngine>;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'waypost-container-'));
  dir = join(folder, 'kafka');
  engine = startEngine();
});
afterEach(async () => {
  await engine.close();
  rmSync(folder, { recursive: true });
});

const launch = (options = {}) => launchContainer(engine, { dir, ...options }, 1);

describe('two brokers never run on one volume', () => {
  test('a start stops the container a killed process left, and keeps its address', async () => {
    const first = await launch();
    const second = await launch();
    expect(second.address).toBe(first.address);
    await expect(first.ended).resolves.toEqual({ code: 143, text: 'exit code 143' });
    expect(engine.running()).toHaveLength(1);
  });

  test('a frozen container that a killed process left is stopped, too', async () => {
    await (await launch()).pause();
    await launch();
    expect(engine.running()).toHaveLength(1);
  });
});

describe('the end of a broker in a container', () => {
  test('a broker that ends while the engine is silent is noticed once it answers', async () => {
    const broker = await launch();
    engine.away = true;
    engine.end(broker.address, 3);
    const early = await Promise.race([
      broker.ended,
      new Promise((resolve) => setImmediate(() => resolve('unknown'))),
    ]);
    expect(early).toBe('unknown');
    engine.away = false;
    await expect(broker.ended).resolves.toEqual({ code: 3, text: 'exit code 3' });
  });

  test('a container that somebody removed has ended', async () => {
    const broker = await launch();
    await engine.remove(engine.running()[0]!.name);
    await expect(broker.ended).resolves.toMatchObject({ code: 143 });
  });

  test('kill ends the container, and the next start replaces it', async () => {
    const broker = await launch();
    broker.kill();
    await expect(broker.ended).resolves.toEqual({ code: 137, text: 'exit code 137' });
    expect((await launch()).address).toBe(broker.address);
  });

  test('stop on a silent engine says that the next start stops the container', async () => {
    const broker = await launch();
    engine.away = true;
    await expect(broker.stop(0)).rejects.toThrow(
      /waypost-\w+ could not be stopped: the engine is away\. The next start/,
    );
  });

  test('a broker in a container has no pid, and a container signal freezes it', async () => {
    const broker = await launch();
    expect(broker.pid).toBeUndefined();
    await broker.pause();
    await broker.resume();
    expect(engine.signals).toEqual(['SIGSTOP', 'SIGCONT']);
  });
});

describe('the settings of a broker in a container', () => {
  test('properties reach the broker', async () => {
    await launch({ properties: { 'log.cleaner.backoff.ms': '500' } });
    const { environment } = engine.running()[0]!;
    expect(environment.WAYPOST_PROPERTIES).toContain('log.cleaner.backoff.ms=500\n');
  });

  test('its passwords are in no argument, which every user of a machine can read', async () => {
    await launch();
    const { environment, command } = engine.running()[0]!;
    const passwords = environment.WAYPOST_PROPERTIES!.match(/(?<=password=")\w+/g)!;
    expect(passwords).toHaveLength(2);
    expect(environment.WAYPOST_FORMAT).toContain(`password=${passwords[0]}]`);
    for (const password of passwords) expect(command.join(' ')).not.toContain(password);
  });

  test('the listener of a test is published under the address that clients use', async () => {
    const { address } = await launch();
    const port = address.split(':')[1]!;
    await launch({
      properties: {
        listeners: `SASL_SSL://127.0.0.1:${port},CONTROLLER://127.0.0.1:1`,
        'advertised.listeners': `SASL_SSL://127.0.0.1:${port}`,
      },
    });
    const { environment } = engine.running()[0]!;
    expect(environment.WAYPOST_PROPERTIES).toContain(
      `listeners=SASL_SSL://0.0.0.0:${port},CONTROLLER://127.0.0.1:1\n`,
    );
    expect(environment.WAYPOST_PROPERTIES).toContain(
      `advertised.listeners=SASL_SSL://127.0.0.1:${port}\n`,
    );
  });

  test.each([
    ['127.0.0.1', true],
    ['engine.example', false],
  ])('an engine at %s publishes the port on loopback only: %s', async (host, loopback) => {
    engine.host = host;
    const { address } = await launch();
    expect(address).toMatch(new RegExp(`^${host}:\\d+$`));
    expect(engine.running()[0]).toMatchObject({ loopback });
    expect(engine.running()[0]!.environment.WAYPOST_PROPERTIES).toContain(
      `advertised.listeners=SASL_PLAINTEXT://${address}\n`,
    );
  });
});

describe('the records of a broker in a container', () => {
  const volume = () => engine.running()[0]!.volume.name;

  test('a removed folder takes its records with it: a new one gets another volume', async () => {
    await (await launch()).stop(0);
    const again = await launch();
    const before = volume();
    await again.stop(0);
    rmSync(dir, { recursive: true });
    await launch();
    expect(volume()).not.toBe(before);
  });

  test('a stop keeps the volume, and discard deletes it', async () => {
    const broker = await launch();
    const name = volume();
    await broker.stop(0);
    expect(engine.volumes).toEqual([name]);
    await (await launch()).discard();
    expect(engine.volumes).toEqual([]);
  });

  test('a folder with records of a broker without a container is refused', async () => {
    mkdirSync(join(dir, 'records'), { recursive: true });
    writeFileSync(join(dir, 'password'), 'a password\n');
    await expect(launch()).rejects.toThrow(
      /were written by a Kafka without a container.*set WAYPOST_KAFKA=java/,
    );
    expect(engine.running()).toEqual([]);
  });

  test('a broker without a container refuses a folder whose records are in a volume', async () => {
    await launch();
    await expect(launchBroker({ dir, java: 'no-java', jars: '' })).rejects.toThrow(
      new RegExp(
        `are in the volume ${volume()} of a container engine: set WAYPOST_KAFKA=container`,
      ),
    );
    expect(existsSync(join(dir, 'records'))).toBe(false);
  });
});

/**
 * An engine whose containers are servers on their port. As in a real one, no two containers have
 * one name or volume.
 */
function startEngine() {
  const containers = new Map<string, { spec: ContainerSpec; server: Server; ending?: Ending }>();
  const end = async (name: string, code: number) => {
    const container = containers.get(name);
    if (!container || container.ending) return;
    container.ending = { code, text: `exit code ${String(code)}` };
    container.server.close();
    await once(container.server, 'close');
  };
  const state = {
    host: '127.0.0.1',
    away: false,
    signals: [] as string[],
    volumes: [] as string[],
    running: () => [...containers.values()].filter(({ ending }) => !ending).map(({ spec }) => spec),
    end: (address: string, code: number) => {
      for (const { name, port } of state.running()) {
        if (address.endsWith(`:${String(port)}`)) void end(name, code);
      }
    },
    close: () => Promise.all([...containers.keys()].map((name) => end(name, 0))),
    run: async (spec: ContainerSpec) => {
      if (containers.has(spec.name)) throw new Error(`the name ${spec.name} is in use`);
      if (!state.volumes.includes(spec.volume.name)) state.volumes.push(spec.volume.name);
      const server = createServer().listen(spec.port, '127.0.0.1');
      await once(server, 'listening');
      const container: { spec: ContainerSpec; server: Server; ending?: Ending } = { spec, server };
      containers.set(spec.name, container);
      return {
        ending: () =>
          state.away
            ? Promise.reject(new Error('the engine is away'))
            : Promise.resolve(container.ending),
        signal: async (name: string) => {
          state.signals.push(name);
          if (name === 'SIGKILL') await end(spec.name, 137);
        },
      };
    },
    remove: async (name: string) => {
      if (state.away) throw new Error('the engine is away');
      await end(name, 143);
      containers.delete(name);
    },
    removeVolume: (name: string) => {
      state.volumes = state.volumes.filter((other) => other !== name);
      return Promise.resolve();
    },
  };
  return state satisfies ContainerEngine;
}
