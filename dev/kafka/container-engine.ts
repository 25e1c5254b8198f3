import { createWriteStream } from 'node:fs';
import { type ContainerRuntimeClient } from 'testcontainers';
import { defined } from '../../shared/collections/defined';
import { AppError, messageOf } from '../../shared/runtime/errors';
import { type Ending } from '../child-process';

/**
 * The container engine of this machine (Docker, podman), as far as a broker needs it.
 * testcontainers finds the engine, pulls images, and brings the reaper: a container that removes
 * ours after this process was killed.
 */

/** A container to start. Its port is the same inside and outside. */
export interface ContainerSpec {
  /** unique in the engine */
  name: string;
  image: string;
  /** replaces the program of the image */
  command: string[];
  environment: Record<string, string>;
  port: number;
  /** listen on loopback only */
  loopback: boolean;
  /** a named volume, created if missing, and the folder in the container where it appears */
  volume: { name: string; target: string };
  /** receives its output, after what is there */
  logFile: string;
}

/** The signals that a broker is sent in tests and at a forced end. */
type ContainerSignal = 'SIGKILL' | 'SIGSTOP' | 'SIGCONT';

/** A started container. */
export interface EngineContainer {
  /** Returns how it ended; undefined while it runs. @throws if the engine does not answer */
  ending(): Promise<Ending | undefined>;
  signal(name: ContainerSignal): Promise<void>;
}

/** An engine that answers. */
export interface ContainerEngine {
  /** the address at which this machine reaches the ports of containers */
  host: string;
  /** @throws AppError `cannot_start` in one sentence with the cause */
  run(spec: ContainerSpec): Promise<EngineContainer>;
  /**
   * Ends the container of that name with SIGTERM, after `graceMs` with SIGKILL, and removes it;
   * none is fine.
   */
  remove(name: string, graceMs: number): Promise<void>;
  /** Deletes a volume that no container uses; none is fine. */
  removeVolume(name: string): Promise<void>;
}

/** Finds the volumes of Waypost: `docker volume ls --filter label=waypost`. */
const LABEL = 'waypost';
const LOOPBACK = '127.0.0.1';

/**
 * Finds the engine.
 * @param note receives progress texts for slow steps
 * @throws AppError `cannot_start` if testcontainers is not installed or no engine answers
 */
export async function findEngine(note: (text: string) => void): Promise<ContainerEngine> {
  const testcontainers = await loadTestcontainers();
  const client = await testcontainers.getContainerRuntimeClient().catch((error: unknown) => {
    throw new AppError(
      'cannot_start',
      `No container engine answers (Docker or podman): ${messageOf(error)}.`,
    );
  });
  const { dockerode } = client.container;
  const { host } = client.info.containerRuntime;

  /** The session by which the reaper knows our containers. */
  const session = async (): Promise<string> => {
    const reaper = await testcontainers.getReaper(client).catch((error: unknown) => {
      throw new AppError(
        'cannot_start',
        "The container that removes Kafka's after a crash (testcontainers/ryuk) did not " +
          `start: ${messageOf(error)}. ` +
          'Make its image available, or set TESTCONTAINERS_RYUK_DISABLED=true: then the ' +
          'next start removes what a crash left.',
      );
    });
    return reaper.sessionId;
  };

  return {
    host: host === 'localhost' ? LOOPBACK : host,
    run: async (spec) => {
      const image = testcontainers.ImageName.fromString(spec.image);
      if (!(await client.image.exists(image))) note(`pulling the image ${image.string} (once)`);
      const labels = {
        [testcontainers.LABEL_TESTCONTAINERS_SESSION_ID]: await session(),
        [LABEL]: spec.name,
      };
      try {
        await client.image.pull(image);
        await dockerode.createVolume({ Name: spec.volume.name, Labels: { [LABEL]: spec.name } });
        const container = await dockerode.createContainer(
          createOptions({ ...spec, image: image.string }, labels),
        );
        await container.start();
        (await client.container.logs(container)).pipe(
          createWriteStream(spec.logFile, { flags: 'a' }),
        );
        return started(container);
      } catch (error) {
        throw new AppError(
          'cannot_start',
          `The container ${image.string} did not start: ${messageOf(error)}.`,
        );
      }
    },
    remove: async (name, graceMs) => {
      const container = dockerode.getContainer(name);
      await unless([304, 404], () => container.stop({ t: Math.ceil(graceMs / 1000) }));
      // 409: the reaper is removing it.
      await unless([404, 409], () => container.remove({ force: true, v: true }));
      await unless([404], () => container.wait({ condition: 'removed' }));
    },
    removeVolume: (name) => unless([404], () => dockerode.getVolume(name).remove()),
  };
}

type Container = ReturnType<ContainerRuntimeClient['container']['getById']>;

/**
 * Loads the package only here. It is a development dependency: an installation without those does
 * not have it.
 */
async function loadTestcontainers() {
  try {
    return await import('testcontainers');
  } catch {
    throw new AppError(
      'cannot_start',
      'The package testcontainers, which starts Kafka in a container, is not installed: ' +
        'run npm ci without --omit=dev.',
    );
  }
}

function createOptions(spec: ContainerSpec, labels: Record<string, string>) {
  const port = `${String(spec.port)}/tcp`;
  return {
    name: spec.name,
    Image: spec.image,
    Entrypoint: spec.command,
    Cmd: [],
    Env: Object.entries(spec.environment).map(([name, value]) => `${name}=${value}`),
    Labels: labels,
    ExposedPorts: { [port]: {} },
    HostConfig: {
      PortBindings: {
        [port]: [
          {
            HostPort: String(spec.port),
            ...defined({ HostIp: spec.loopback ? LOOPBACK : undefined }),
          },
        ],
      },
      Binds: [`${spec.volume.name}:${spec.volume.target}`],
    },
  };
}

function started(container: Container): EngineContainer {
  return {
    ending: async () => {
      try {
        const { State: state } = await container.inspect();
        if (state.Running) return undefined;
        return { code: state.ExitCode, text: `exit code ${String(state.ExitCode)}` };
      } catch (error) {
        if (statusOf(error) === 404) return { text: 'its container was removed' };
        throw error;
      }
    },
    signal: async (name) => {
      // 409 and 404: it has ended already.
      await unless([404, 409], () => container.kill({ signal: name }));
    },
  };
}

/** Calls the engine, and takes these statuses as success. */
async function unless(statuses: number[], call: () => Promise<unknown>): Promise<void> {
  try {
    await call();
  } catch (error) {
    if (!statuses.includes(statusOf(error) ?? 0)) throw error;
  }
}

function statusOf(error: unknown): number | undefined {
  return error instanceof Error && 'statusCode' in error ? Number(error.statusCode) : undefined;
}
