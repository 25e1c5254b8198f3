/**
 * Corrects how a kafkajs consumer reads from the replica of its rack (KIP-392; kafkajs 2.2.4). The
 * leader names that replica, and the consumer fetches there until the name expires after five
 * minutes. kafkajs keeps the name although the broker is down, so that the partition would stop for
 * that time. It also takes "offset out of range" from a replica, which may only lag, for the end of
 * retention, and would read the partition from its start.
 *
 * Only consumers of groups read from a replica: a tail must prove the end of the log, and a replica
 * may report an older one.
 */

interface ConsumerGroup {
  /** by topic and partition */
  preferredReadReplicasPerTopicPartition: Record<string, Record<number, { nodeId: number }>>;
  cluster: { getNodeIds(): (string | number)[] };
  recoverFromFetch(error: FetchError): Promise<void>;
  findReadReplicaForPartitions(topic: string, partitions: number[]): Record<number, number[]>;
}
interface FetchError {
  name: string;
  topic?: string;
  partition?: number;
}

// eslint-disable-next-line @typescript-eslint/no-require-imports -- this part of kafkajs has no types and no other name
const groups = require('kafkajs/src/consumer/consumerGroup') as { prototype: ConsumerGroup };

/**
 * Returns to the leader after any failed fetch, and whenever the replica's broker is gone. Call it
 * once.
 */
export function patchReplicaChoice({ prototype } = groups): void {
  // eslint-disable-next-line @typescript-eslint/unbound-method -- both are called with their own `this` below
  const { recoverFromFetch: recover, findReadReplicaForPartitions: find } = prototype;
  prototype.recoverFromFetch = async function (error) {
    const { topic = '', partition = -1 } = error;
    const wasReplica =
      this.preferredReadReplicasPerTopicPartition[topic]?.[partition] !== undefined;
    this.preferredReadReplicasPerTopicPartition = {};
    // The leader knows whether the offset is out of range.
    if (error.name === 'KafkaJSOffsetOutOfRange' && wasReplica) return;
    await recover.call(this, error);
  };
  prototype.findReadReplicaForPartitions = function (topic, partitions) {
    const replicas = Object.entries(this.preferredReadReplicasPerTopicPartition[topic] ?? {});
    const nodes = this.cluster.getNodeIds().map(Number);
    if (replicas.some(([, { nodeId }]) => !nodes.includes(nodeId))) {
      const left = replicas.filter(([, { nodeId }]) => nodes.includes(nodeId));
      this.preferredReadReplicasPerTopicPartition[topic] = Object.fromEntries(left);
    }
    return find.call(this, topic, partitions);
  };
}
