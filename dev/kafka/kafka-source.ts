import { AppError, messageOf } from '../../shared/runtime/errors';
import { loadSettings, type Settings } from '../../shared/runtime/settings';
import { type Broker, type BrokerOptions, launchBroker } from './broker';
import { launchContainer } from './container';
import { type ContainerEngine, findEngine } from './container-engine';
import { findJava } from './java';
import { bringJava } from './java-runtime';
import { type JarSettings, kafkaJars } from './kafka-jars';
import { type Note } from '../progress';

/**
 * Finds a real Kafka that this machine can run: on its Java, on a Java that is brought once,
 * otherwise in a container. (KAFKA_BROKERS has precedence over all of them: the caller has checked
 * it.)
 */

/** Starts the broker of a folder, at each call. */
export type Launch = (options: Omit<BrokerOptions, 'java' | 'jars'>) => Promise<Broker>;

/** A Java and the folder of the jars. */
export interface JavaKafka {
  java: string;
  jars: string;
}

/** Inspects the machine and downloads missing parts. @throws AppError `cannot_start` */
export interface Sources<Engine> {
  machineJava(): Promise<string | undefined>;
  bringJava(): Promise<string>;
  bringJars(): Promise<string>;
  findEngine(): Promise<Engine>;
}

type KafkaSettings = JarSettings & Pick<Settings, 'WAYPOST_KAFKA'>;

const OTHERWISE =
  'You can also install Java 17 or newer (Debian: apt-get install default-jre-headless; ' +
  'macOS: brew install openjdk) ' +
  'or set KAFKA_BROKERS to the address of a Kafka that runs.';

/**
 * Returns how to start a broker here.
 * @param note receives progress texts for slow steps
 * @throws AppError `cannot_start` with what to do
 */
export async function findKafka(
  note: Note,
  settings: KafkaSettings = loadSettings(process.env),
): Promise<Launch> {
  const chosen = await chooseKafka(settings.WAYPOST_KAFKA, sourcesOf(settings, note), note);
  if ('engine' in chosen) return (options) => launchContainer(chosen.engine, options);
  return (options) => launchBroker({ ...options, ...chosen });
}

/**
 * Returns a Java and the jars, for a caller that starts brokers itself. @throws AppError
 * `cannot_start`
 */
export function findJavaKafka(
  note: Note,
  settings: KafkaSettings = loadSettings(process.env),
): Promise<JavaKafka> {
  return javaKafka(sourcesOf(settings, note));
}

/** Chooses by the setting WAYPOST_KAFKA, then by the tools of the machine, then by a download. */
export async function chooseKafka<Engine>(
  wanted: Settings['WAYPOST_KAFKA'],
  sources: Sources<Engine>,
  note: Note,
): Promise<JavaKafka | { engine: Engine }> {
  if (wanted === 'container') return { engine: await sources.findEngine() };
  try {
    return await javaKafka(sources);
  } catch (error) {
    if (!(error instanceof AppError) || wanted === 'java') throw error;
    const engine = await sources.findEngine().catch((other: unknown) => {
      throw new AppError('cannot_start', `${error.message} ${messageOf(other)} ${OTHERWISE}`);
    });
    note(`${error.message} Running Apache Kafka in a container`);
    return { engine };
  }
}

async function javaKafka(sources: Omit<Sources<unknown>, 'findEngine'>): Promise<JavaKafka> {
  const java = (await sources.machineJava()) ?? (await sources.bringJava());
  return { java, jars: await sources.bringJars() };
}

function sourcesOf(settings: KafkaSettings, note: Note): Sources<ContainerEngine> {
  return {
    machineJava: findJava,
    bringJava: () => bringJava(settings, note),
    bringJars: () => kafkaJars(settings, note),
    findEngine: () => findEngine(note),
  };
}
