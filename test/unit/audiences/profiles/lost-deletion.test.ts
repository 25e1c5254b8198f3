import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Definitions } from '../../../../services/audiences/definitions/compile';
import { type PartitionProcessor } from '../../../../services/audiences/profiles/partition-processor';
import { encodeEvent } from '../../../../services/audiences/repartition/event';
import { type Kafka } from '../../../../shared/kafka/port';
import { eventually } from '../../../support/eventually';
import { fakeDeletions } from '../../../support/fakes';
import { memoryLog } from '../../../support/memory-log';
import { identify } from '../engine-under-test';
import { processorUnderTest } from '../processor-under-test';

/** A deletion whose record in `profiles.events` expired before an audiences process read it. */

const EVENTS = 'profiles.events';
const NO_DEFINITIONS = new Definitions([]);

const path = mkdtempSync(join(tmpdir(), 'waypost-lost-deletion-'));
afterAll(() => rmSync(path, { recursive: true }));

test('a user is forgotten, though the log has lost the deletion, and others are not', async () => {
  const memory = memoryLog();
  const producer = await memory.kafka.producer({ maxPendingBytes: 1, deliveryTimeoutMs: 'retry' });
  const deletions = fakeDeletions();
  /** the first record that retention has left */
  let low = 0;
  const kafka: Pick<Kafka, 'read' | 'ranges' | 'committed'> = {
    committed: memory.kafka.committed,
    ranges: async (topic, sinceMs) => {
      const ranges = await memory.kafka.ranges(topic, sinceMs);
      return topic === EVENTS ? ranges.map((range) => ({ ...range, low })) : ranges;
    },
    read: async (at) => {
      const read = await memory.kafka.read(at);
      const isGone = at.topic === EVENTS && at.offset < low;
      return isGone ? { ...read, records: [], next: at.offset, gone: true } : read;
    },
  };
  const open = async (): Promise<PartitionProcessor> => {
    const processor = processorUnderTest({
      kafka,
      tryingKafka: kafka,
      producer,
      path: join(path, 'store'),
      definitions: () => NO_DEFINITIONS,
      deletions,
      now: Date.now,
    });
    await eventually(() => expect(processor.snapshot?.next).toBe(memory.records(EVENTS).length));
    return processor;
  };
  const close = async (processor: PartitionProcessor) => {
    processor.close({ lost: false });
    await processor.closed;
  };
  for (const user of ['ann', 'bob', 'cyn']) {
    memory.append([{ topic: EVENTS, key: user, ...encodeEvent(identify({ plan: 'pro' })) }]);
  }
  // cyn was deleted before, and has come back: that deletion must not be applied again.
  const longAgo = Date.now() - 600_000;
  deletions.add({ userId: 'cyn', at: longAgo }, longAgo);
  await close(await open());

  // The clock of control is behind that of the brokers.
  const at = Date.now() - 5_000;
  deletions.add({ userId: 'ann', at }, Date.now());
  const lost = encodeEvent({ kind: 'delete', at, sources: null });
  memory.append([{ topic: EVENTS, key: 'ann', ...lost }]);
  low = memory.records(EVENTS).length;

  const processor = await open();
  const users = processor.snapshot?.store.users(undefined, 9);
  await close(processor);
  expect(users).toEqual(['bob', 'cyn']);
});
