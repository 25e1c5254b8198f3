import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ContainerSpec, findEngine } from '../../../dev/kafka/container-engine';

/** The failures of an engine, each as one sentence with its cause. */

const mockRuntime = jest.fn();
const mockReaper = jest.fn();
let mockInstalled = true;
jest.mock('testcontainers', () => {
  if (!mockInstalled) throw new Error("Cannot find module 'testcontainers'");
  return {
    getContainerRuntimeClient: mockRuntime,
    getReaper: mockReaper,
    ImageName: { fromString: (image: string) => ({ string: image }) },
    LABEL_TESTCONTAINERS_SESSION_ID: 'session',
  };
});

const created: Record<string, unknown>[] = [];
const running = {
  start: () => Promise.resolve(),
  inspect: () => Promise.resolve({ State: { Running: true, ExitCode: 0 } }),
};
beforeEach(() => {
  mockInstalled = true;
  created.length = 0;
  mockReaper.mockResolvedValue({ sessionId: 'one' });
  mockRuntime.mockResolvedValue({
    info: { containerRuntime: { host: 'localhost' } },
    image: { exists: () => Promise.resolve(false), pull: () => Promise.resolve() },
    container: {
      dockerode: {
        createVolume: () => Promise.resolve(),
        createContainer: (options: Record<string, unknown>) => {
          created.push(options);
          return Promise.resolve(running);
        },
      },
      logs: () => Promise.resolve({ pipe: () => undefined }),
    },
  });
});

const spec: ContainerSpec = {
  name: 'waypost-1',
  image: 'a/kafka:1',
  command: ['sh'],
  environment: {},
  port: 29_092,
  loopback: true,
  volume: { name: 'waypost-1', target: '/data' },
  logFile: join(tmpdir(), 'unused.log'),
};

test('without the package testcontainers the error says how to install it', async () => {
  jest.resetModules();
  mockInstalled = false;
  await expect(findEngine(() => undefined)).rejects.toThrow(
    /^The package testcontainers.* is not installed: run npm ci without --omit=dev\.$/,
  );
});

test('without an engine the error names the kinds of engines', async () => {
  mockRuntime.mockRejectedValue(new Error('Could not find a working container runtime strategy'));
  await expect(findEngine(() => undefined)).rejects.toThrow(
    /^No container engine answers \(Docker or podman\)/,
  );
});

test('a missing reaper image is named as the cause, with the setting to avoid it', async () => {
  mockReaper.mockRejectedValue(new Error('No such image: testcontainers/ryuk'));
  const engine = await findEngine(() => undefined);
  const failure: unknown = await engine.run(spec).catch((error: unknown) => error);
  expect(failure).toMatchObject({ code: 'cannot_start' });
  expect(String(failure)).toContain('No such image: testcontainers/ryuk');
  expect(String(failure)).toContain('TESTCONTAINERS_RYUK_DISABLED=true');
  expect(String(failure)).not.toContain('a/kafka');
});

test('a container is published on loopback alone, and only if that is asked for', async () => {
  const notes: string[] = [];
  const engine = await findEngine((text) => notes.push(text));
  expect(engine.host).toBe('127.0.0.1');
  await engine.run(spec);
  await engine.run({ ...spec, loopback: false });
  expect(created.map(({ HostConfig }) => HostConfig)).toMatchObject([
    { PortBindings: { '29092/tcp': [{ HostIp: '127.0.0.1', HostPort: '29092' }] } },
    { PortBindings: { '29092/tcp': [{ HostPort: '29092' }] } },
  ]);
  expect(notes[0]).toBe('pulling the image a/kafka:1 (once)');
});
