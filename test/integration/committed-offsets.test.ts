import { randomUUID } from 'node:crypto';
import { type Admin, Kafka as KafkaJs, logLevel } from 'kafkajs';
import { createReadyTopics } from '../../shared/kafka/client/create-topics';
import { adminWithOffsets } from '../../shared/kafka/client/committed-offsets';

/** Committed offsets of single partitions, from a real broker. */

const name = `offsets-${randomUUID().slice(0, 8)}`;
let admin: Admin;
const client = new KafkaJs({ brokers: [process.env.KAFKA_BROKERS!], logLevel: logLevel.NOTHING });
const narrow = adminWithOffsets(client);
beforeAll(async () => {
  admin = client.admin();
  await admin.connect();
  const topics = [1, 2].map((i) => ({ topic: `${name}.${i}`, numPartitions: 50 }));
  await createReadyTopics(admin, topics);
  for (const i of [1, 2]) {
    const partitions = Array.from({ length: 40 }, (_, partition) => ({
      partition,
      offset: String(100 * i + partition),
      metadata: `m${i}.${partition}`,
    }));
    await admin.setOffsets({ groupId: name, topic: `${name}.${i}`, partitions });
  }
});
afterAll(async () => {
  await narrow.admin.disconnect();
  await admin.deleteTopics({ topics: [`${name}.1`, `${name}.2`] });
  await admin.disconnect();
});

test('the answer has the asked partitions and no others, with or without a commit', async () => {
  const places = [
    { topic: `${name}.1`, number: 3 },
    { topic: `${name}.2`, number: 39 },
    { topic: `${name}.2`, number: 45 },
  ];
  expect([...(await narrow.readCommitted(name, places))].sort()).toEqual([
    [`${name}.1/3`, { offset: 103, metadata: expect.any(String) }],
    [`${name}.2/39`, { offset: 239, metadata: expect.any(String) }],
    [`${name}.2/45`, { offset: -1, metadata: '' }],
  ]);
});

test('a group without commits has none, and an empty question gets no answer', async () => {
  const place = { topic: `${name}.1`, number: 0 };
  const found = await narrow.readCommitted(`${name}-other`, [place]);
  expect([...found.values()]).toEqual([{ offset: -1, metadata: '' }]);
  expect((await narrow.readCommitted(name, [])).size).toBe(0);
});
