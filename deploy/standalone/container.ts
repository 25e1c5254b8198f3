import { createHash } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { AppError, messageOf } from '../../shared/service/errors';
import { waitForKafka } from '../../shared/kafka/connection';
import { type Broker } from './broker';
import { brokerProperties } from './broker-config';
import { storedPorts } from './stored-ports';

/**
 * The same broker in a container, for machines that have Docker but no Java. Its port is the same inside and outside,
 * because Kafka tells clients its address. Its records are in a volume named after the folder, so that the next start
 * finds them. The reaper of testcontainers removes it after this process has ended.
 */

const IMAGE = 'apache/kafka:4.1.2';
const RECORDS = '/var/lib/kafka/data';

/** Returns whether Docker or a replacement responds. Loads testcontainers only here, and only if it is installed. */
export function dockerAnswers(): Promise<boolean> {
  return import('testcontainers')
    .then(({ getContainerRuntimeClient }) => getContainerRuntimeClient())
    .then(
      () => true,
      () => false,
    );
}

/**
 * Starts the container of a folder.
 * @throws AppError `cannot_start` if the image is not available or the container does not start
 */
export async function launchContainer(dir: string): Promise<Broker> {
  const { GenericContainer, getContainerRuntimeClient, Wait } = await import('testcontainers');
  mkdirSync(dir, { recursive: true });
  const ports = await storedPorts(dir);
  const runtime = await getContainerRuntimeClient();
  const host = runtime.info.containerRuntime.host;
  const address = `${host}:${String(ports.broker)}`;
  const properties = {
    ...brokerProperties({ ports, logDir: RECORDS, host: '0.0.0.0' }),
    'advertised.listeners': `PLAINTEXT://${address}`,
  };
  const container = await new GenericContainer(IMAGE)
    .withEnvironment(asEnvironment(properties))
    .withExposedPorts({ container: ports.broker, host: ports.broker })
    .withBindMounts([{ source: volumeOf(dir), target: RECORDS }])
    .withWaitStrategy(Wait.forLogMessage(/Kafka Server started/))
    .start()
    .catch((error: unknown) => {
      throw new AppError('cannot_start', `The container ${IMAGE} did not start: ${messageOf(error)}`);
    });

  const ended = runtime.container
    .getById(container.getId())
    .wait()
    .then(
      () => ({ text: 'its container ended' }),
      (error: unknown) => ({ text: messageOf(error) }),
    );
  return {
    pid: 0,
    address,
    ended,
    ready: (deadlineMs) => waitForKafka({ brokers: [address] }, deadlineMs),
    stop: async (deadlineMs) => {
      await container.stop({ timeout: deadlineMs, removeVolumes: false });
    },
    // The reaper removes it after this process has ended.
    kill: () => undefined,
  };
}

/** Converts properties to the image's variables: `log.dirs` becomes KAFKA_LOG_DIRS. */
function asEnvironment(properties: Record<string, string>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(properties).map(([key, value]) => [`KAFKA_${key.toUpperCase().replaceAll('.', '_')}`, value]),
  );
}

function volumeOf(dir: string): string {
  return `waypost-${createHash('sha256').update(resolve(dir)).digest('hex').slice(0, 12)}`;
}
