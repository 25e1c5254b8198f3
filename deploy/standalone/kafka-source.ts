import { AppError, messageOf } from '../../shared/service/errors';
import { type Broker, type BrokerOptions, launchBroker } from './broker';
import { launchContainer } from './container';
import { findEngine } from './container-engine';
import { kafkaJars } from './kafka-jars';
import { findJava, HOW_TO_GET_KAFKA } from './java';

/**
 * Finds a real Kafka that this machine can run: Java and the jars, otherwise a container. (KAFKA_BROKERS has
 * precedence over both: the caller has checked it.)
 */

/** Starts the broker of a folder, at each call. */
export type Launch = (options: Omit<BrokerOptions, 'java' | 'jars'>) => Promise<Broker>;

/**
 * Returns how to start a broker here.
 * @param note receives progress texts for slow steps
 * @throws AppError `cannot_start` with what to install
 */
export async function findKafka(note: (text: string) => void): Promise<Launch> {
  const java = await findJava();
  if (java !== undefined) {
    const jars = await kafkaJars(note);
    return (options) => launchBroker({ ...options, java, jars });
  }
  const engine = await findEngine(note).catch((error: unknown) => {
    throw new AppError(
      'cannot_start',
      `There is no Kafka to use: no Java 17 or newer was found. ${messageOf(error)} ${HOW_TO_GET_KAFKA}`,
    );
  });
  note('no Java 17 here: running Apache Kafka in a container');
  return (options) => launchContainer(engine, options);
}
