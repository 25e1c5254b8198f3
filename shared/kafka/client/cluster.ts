import { type Kafka as KafkaJs } from 'kafkajs';

/**
 * Makes connections to the brokers of a cluster. kafkajs has them inside, and no public way to use
 * them. They are made by the symbol that its producers, consumers and admins use. The version is
 * pinned, and a test reads from a real broker this way.
 */

const CREATE_CLUSTER = 'private:Kafka:createCluster';
const METADATA_MAX_AGE_MS = 300_000;

/** Returns an unconnected cluster. The caller declares the parts of it that it uses. */
export function createCluster(client: KafkaJs): unknown {
  const symbol = Object.getOwnPropertySymbols(client).find(
    (each) => each.description === CREATE_CLUSTER,
  );
  const make =
    symbol && (client as unknown as Record<symbol, (options: object) => unknown>)[symbol];
  if (!make) throw new Error('this version of kafkajs is not supported');
  return make({ metadataMaxAge: METADATA_MAX_AGE_MS, allowAutoTopicCreation: false });
}
