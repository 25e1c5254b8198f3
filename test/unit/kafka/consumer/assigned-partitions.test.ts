import { type Admin } from 'kafkajs';
import { idOf } from '../../../../shared/kafka/consumer/committed-offsets';
import { AssignedPartitions } from '../../../../shared/kafka/consumer/assigned-partitions';
import { Membership } from '../../../../shared/kafka/consumer/membership';
import { createLog } from '../../../../shared/telemetry/log';
import { eventually } from '../../../support/eventually';

const PLACE = { topic: 't', number: 0 };
const ID = idOf(PLACE);

test('a partition with a truncated log that moves to another member is claimed until its records are done', async () => {
  const membership = new Membership();
  const ignore = () => undefined;
  const admin = {
    fetchOffsets: () => Promise.resolve([{ topic: 't', partitions: [{ partition: 0, offset: '5', metadata: '' }] }]),
    fetchTopicOffsets: () => Promise.resolve([{ partition: 0, low: '0', high: '10' }]),
    // The look-up of the new start takes longer than the round.
    fetchTopicOffsetsByTimestamp: () => new Promise(ignore),
  } as unknown as Admin;
  const assigned = new AssignedPartitions({
    ...{ admin, membership, groupId: 'g', prefix: '', log: createLog('test', 'silent') },
    orders: { seek: ignore, pause: ignore, resume: ignore },
    stopping: () => false,
    onTruncated: ignore,
  });
  assigned.enter('member', new Map([[ID, PLACE]]));
  const partition = await eventually(() => {
    expect(assigned.isOpen(ID)).toBe(true);
    return assigned.partitions.get(ID)!;
  });
  partition.offsets.take(5);

  assigned.beginAgain(ID, partition, 'ends_before');
  expect(assigned.isOpen(ID)).toBe(false);
  assigned.enter('member', new Map());
  assigned.letGo();
  expect([partition.draining, [...membership.draining.keys()]]).toEqual([true, [ID]]);

  partition.offsets.done(5);
  partition.acknowledged(partition.commit(Infinity)!);
  assigned.letGo();
  expect(membership.draining.size).toBe(0);
});
