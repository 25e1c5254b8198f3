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
  const holdings = new AssignedPartitions({
    ...{ admin, membership, groupId: 'g', prefix: '', log: createLog('test', 'silent') },
    orders: { seek: ignore, pause: ignore, resume: ignore },
    stopping: () => false,
    onTruncated: ignore,
  });
  holdings.enter('member', new Map([[ID, PLACE]]));
  const partition = await eventually(() => {
    expect(holdings.isOpen(ID)).toBe(true);
    return holdings.partitions.get(ID)!;
  });
  partition.offsets.take(5);

  holdings.beginAgain(ID, partition, 'ends_before');
  expect(holdings.isOpen(ID)).toBe(false);
  holdings.enter('member', new Map());
  holdings.letGo();
  expect([partition.draining, [...membership.draining.keys()]]).toEqual([true, [ID]]);

  partition.offsets.done(5);
  partition.acknowledged(partition.commit(Infinity)!);
  holdings.letGo();
  expect(membership.draining.size).toBe(0);
});
