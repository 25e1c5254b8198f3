import { patchReplicaChoice } from '../../../../shared/kafka/client/nearest-replica';

/** The corrections to a consumer of kafkajs that reads from a replica of its rack. */

class Group {
  preferredReadReplicasPerTopicPartition: Record<string, Record<number, { nodeId: number }>> = {
    t: { 0: { nodeId: 2 }, 1: { nodeId: 3 } },
  };
  /** kafkajs has them as text */
  cluster = { getNodeIds: () => ['1', '2'] };
  recovered: unknown[] = [];
  recoverFromFetch(error: unknown): Promise<void> {
    this.recovered.push(error);
    return Promise.resolve();
  }
  /** as in kafkajs: the named replica, else the leader, which is 1 */
  findReadReplicaForPartitions(topic: string, partitions: number[]): Record<number, number[]> {
    const found: Record<number, number[]> = {};
    for (const partition of partitions) {
      const { nodeId = 1 } = this.preferredReadReplicasPerTopicPartition[topic]?.[partition] ?? {};
      (found[nodeId] ??= []).push(partition);
    }
    return found;
  }
}
const patched = class extends Group {};
patched.prototype.recoverFromFetch = function (this: Group, error) {
  return Group.prototype.recoverFromFetch.call(this, error);
};
patchReplicaChoice(patched);

test('a partition whose replica is on a broker that is gone is read from its leader', () => {
  expect(new patched().findReadReplicaForPartitions('t', [0, 1, 2])).toEqual({ 1: [1, 2], 2: [0] });
});

test('after an offset out of range at a replica the leader is asked at that offset', async () => {
  const group = new patched();
  await group.recoverFromFetch({ name: 'KafkaJSOffsetOutOfRange', topic: 't', partition: 0 });
  expect(group.recovered).toEqual([]);
  expect(group.findReadReplicaForPartitions('t', [0, 1])).toEqual({ 1: [0, 1] });

  // The leader says so as well.
  const error = { name: 'KafkaJSOffsetOutOfRange', topic: 't', partition: 0 };
  await group.recoverFromFetch(error);
  expect(group.recovered).toEqual([error]);
});

test('after any other failed fetch the leaders are asked', async () => {
  const group = new patched();
  const error = { name: 'KafkaJSConnectionError' };
  await group.recoverFromFetch(error);
  expect(group.recovered).toEqual([error]);
  expect(group.findReadReplicaForPartitions('t', [0, 1])).toEqual({ 1: [0, 1] });
});
