import { existsSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { compact } from '../../shared/collections/defined';
import { sleep } from '../../shared/runtime/async';
import { AppError, messageOf } from '../../shared/runtime/errors';
import { ROOT } from '../../shared/runtime/repo-root';
import { type Broker, type BrokerOptions, readyUnlessEnded, STALE_STOP_MS } from './broker';
import {
  brokerProperties,
  javaArguments,
  loggingProperties,
  newClusterId,
  propertiesText,
} from './broker-config';
import { propertiesFile, recordsOf, volumeFile, volumeOf } from './broker-folder';
import { brokerLogin, clientSettings, formatArguments } from './broker-login';
import { type Ending } from '../child-process';
import { type ContainerEngine, type EngineContainer } from './container-engine';
import { storedPorts } from '../stored-ports';

/**
 * The same broker in a container, for machines that have a container engine but no Java. Its port
 * is the same inside and outside, because Kafka tells clients its address. Its records are in a
 * volume of the engine, whose name is in the broker's folder. The container has that name too, so
 * that two brokers never run on one volume.
 */

/**
 * Returns the image that Docker Compose runs, with the digest if it is pinned: one place says which
 * Kafka it is.
 */
export function kafkaImage(): string {
  const compose = readFileSync(join(ROOT, 'docker-compose.yml'), 'utf8');
  const image = /^ *image: (apache\/kafka:\S+)/m.exec(compose)?.[1];
  if (image === undefined) throw new Error('docker-compose.yml names no image of Kafka');
  return image;
}

/** Folders of the image. */
const RECORDS = '/var/lib/kafka/data';
const JARS = '/opt/kafka/libs';
const LOG_BYTES = 10_000_000;
const POLL_MS = 500;

/**
 * Starts the container of a folder. A container that a killed process left is stopped first.
 * @throws AppError `cannot_start` if the folder belongs to a broker without a container, or the
 *   container does not start
 */
export async function launchContainer(
  engine: ContainerEngine,
  options: Omit<BrokerOptions, 'java' | 'jars'>,
  pollMs = POLL_MS,
): Promise<Broker> {
  const { dir } = options;
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const hasRecords = existsSync(volumeFile(dir)) || existsSync(recordsOf(dir));
  const login = options.open ? undefined : brokerLogin(dir, hasRecords);
  const volume = volumeOf(dir);
  await engine.remove(volume, STALE_STOP_MS);
  const ports = await storedPorts(dir);
  const text = propertiesText(
    published(
      { ...brokerProperties({ ports, logDir: RECORDS, login }), ...options.properties },
      ports.broker,
      engine.host,
    ),
  );
  writeFileSync(propertiesFile(dir), text, { mode: 0o600 });
  const container = await engine.run({
    name: volume,
    image: kafkaImage(),
    command: ['sh', '-c', script(options)],
    environment: {
      WAYPOST_PROPERTIES: text,
      WAYPOST_LOGGING: loggingProperties(),
      WAYPOST_FORMAT: login ? formatArguments(login) : '',
    },
    port: ports.broker,
    // An engine on another machine must listen where this one reaches it.
    loopback: engine.host === '127.0.0.1',
    volume: { name: volume, target: RECORDS },
    logFile: rolled(join(dir, 'kafka.log')),
  });

  const removed = new AbortController();
  const ended = untilEnded(container, removed.signal, pollMs);
  const stop = async (deadlineMs: number) => {
    try {
      await engine.remove(volume, deadlineMs);
    } catch (error) {
      throw new AppError(
        'cannot_start',
        `The container ${volume} could not be stopped: ${messageOf(error)}. The next start ` +
          'stops it.',
      );
    } finally {
      removed.abort();
    }
    await ended;
  };
  const address = `${engine.host}:${String(ports.broker)}`;
  const environment = clientSettings(address, login);
  return {
    address,
    environment,
    ended,
    ready: (deadlineMs) => readyUnlessEnded(ended, { environment, dir, deadlineMs }),
    // The image has an archive of its own.
    archiveClasses: () => Promise.resolve(),
    stop,
    // If the engine does not answer, the broker's end is not seen either.
    kill: () => void container.signal('SIGKILL').catch(() => undefined),
    pause: () => container.signal('SIGSTOP'),
    resume: () => container.signal('SIGCONT'),
    discard: async () => {
      await stop(0);
      await engine.removeVolume(volume);
    },
  };
}

/** Makes the listener reachable from outside the container, under the address that clients use. */
function published(
  properties: Record<string, string>,
  port: number,
  host: string,
): Record<string, string> {
  const loopback = `//127.0.0.1:${String(port)}`;
  return {
    ...properties,
    listeners: (properties.listeners ?? '').replace(loopback, `//0.0.0.0:${String(port)}`),
    'advertised.listeners': (properties['advertised.listeners'] ?? '').replace(
      loopback,
      `//${host}:${String(port)}`,
    ),
  };
}

/**
 * Returns the shell script of the container. It formats a new volume: Kafka writes
 * `meta.properties` last. Passwords are in variables and files, because every user of the machine
 * can read the arguments of a process.
 */
function script(options: Pick<BrokerOptions, 'open'>): string {
  const java = ['java', ...javaArguments(JARS, '/tmp/logging.properties')];
  const config = '/tmp/broker.properties';
  const users = '/tmp/format-arguments';
  const format = compact([
    'kafka.tools.StorageTool',
    'format',
    '-t',
    newClusterId(),
    '-c',
    config,
    options.open ? undefined : `@${users}`,
  ]);
  return [
    'set -e',
    'umask 077',
    `printf %s "$WAYPOST_PROPERTIES" > ${config}`,
    'printf %s "$WAYPOST_LOGGING" > /tmp/logging.properties',
    `printf %s "$WAYPOST_FORMAT" > ${users}`,
    `[ -e ${RECORDS}/meta.properties ] || ${quoted([...java, ...format])}`,
    `exec ${quoted([...java, 'kafka.Kafka', config])}`,
  ].join('\n');
}

function quoted(words: string[]): string {
  return words.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(' ');
}

/**
 * Resolves when it has ended or `removed` is aborted. An engine that restarts does not answer, and
 * says nothing.
 */
async function untilEnded(
  container: EngineContainer,
  removed: AbortSignal,
  pollMs: number,
): Promise<Ending> {
  while (!removed.aborted) {
    const ending = await container.ending().catch(() => undefined);
    if (ending) return ending;
    await sleep(pollMs, { signal: removed });
  }
  return { text: 'its container was removed' };
}

/** Keeps a log of bounded size: an old one makes room. */
function rolled(file: string): string {
  if (existsSync(file) && statSync(file).size > LOG_BYTES) renameSync(file, `${file}.1`);
  return file;
}
