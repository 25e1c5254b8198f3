import { type Admin } from 'kafkajs';
import { idOf } from '../../../../shared/kafka/consumer/partition';
import { AssignedPartitions } from '../../../../shared/kafka/consumer/assigned-partitions';
import { Membership } from '../../../../shared/kafka/consumer/membership';
import { type Bounds } from '../../../../shared/kafka/kafkajs/leaderless';
import { createLog } from '../../../../shared/telemetry/log';
import { eventually } from '../../../support/eventually';

const PLACE = { topic: 't', number: 0 };
const ID = idOf(PLACE);

/** A member that owns the partition from its commit on. The log has the given bounds. */
async function setUp(options: { committed?: number; log: Bounds & { newer?: number; led?: boolean } }) {
  const membership = new Membership();
  const { committed = 5, log } = options;
  const ignore = () => undefined;
  const commands: string[] = [];
  const missed: [string, number][] = [];
  let looks = 0;
  const admin = {
    fetchOffsets: () => {
      const partitions = [{ partition: 0, offset: String(committed), metadata: '' }];
      return Promise.resolve([{ topic: 't', partitions }]);
    },
    fetchTopicOffsets: () =>
      Promise.resolve(log.led === false ? [] : [{ partition: 0, low: String(log.low), high: String(log.high) }]),
    fetchTopicOffsetsByTimestamp: () => {
      looks++;
      // By default, the look-up of the new start takes longer than the round.
      if (log.newer === undefined) return new Promise(ignore);
      return Promise.resolve(log.led === false ? [] : [{ partition: 0, offset: String(log.newer) }]);
    },
  } as unknown as Admin;
  const assigned = new AssignedPartitions({
    ...{ admin, membership, groupId: 'g', prefix: '', log: createLog('test', 'silent') },
    orders: { seek: (_, offset) => commands.push(`seek ${String(offset)}`), pause: ignore, resume: ignore },
    stopping: () => false,
    onMissed: (_, reason, offsets) => missed.push([reason, offsets]),
  });
  assigned.enter('member', new Map([[ID, PLACE]]));
  const partition = await eventually(() => {
    expect(assigned.isOpen(ID)).toBe(true);
    return assigned.partitions.get(ID)!;
  });
  return { membership, assigned, partition, commands, missed, looks: () => looks };
}

test('a partition with a truncated log that moves to another member is claimed until its records are done', async () => {
  const { membership, assigned, partition } = await setUp({ log: { low: 0, high: 10 } });
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

test('a partition with a truncated log that has no leader starts at its new end once it has one, and not at 0', async () => {
  const log = { low: 0, high: 10, newer: 8, led: true };
  const { assigned, partition, commands, looks } = await setUp({ log });
  log.led = false;
  assigned.beginAgain(ID, partition, 'rewritten');
  await eventually(() => expect(looks()).toBeGreaterThan(1));
  expect([assigned.isOpen(ID), commands]).toEqual([false, []]);
  log.led = true;
  await eventually(() => expect(commands).toEqual(['seek 8']));
});

describe('deferred records that Kafka has deleted', () => {
  test.each(['readDeferred', 'a round'])('%s reports them and reads the partition from the log start', async (by) => {
    const log = { low: 0, high: 10 };
    const { assigned, partition, commands, missed } = await setUp({ committed: 0, log });
    for (let offset = 0; offset < 8; offset++) partition.offsets.take(offset);
    for (const offset of [0, 2, 6]) partition.offsets.release(offset);
    for (const offset of [1, 3, 4, 5, 7]) partition.offsets.done(offset);
    log.low = 4;
    commands.length = 0;

    if (by === 'readDeferred') assigned.readDeferred();
    else assigned.enter('member', new Map([[ID, PLACE]]));
    // No record is taken before the start of the log is known.
    expect(assigned.isOpen(ID)).toBe(false);
    await eventually(() => expect(assigned.isOpen(ID)).toBe(true));
    expect(missed).toEqual([['retention', 2]]);
    expect(commands.at(-1)).toBe('seek 6');
    expect(commands).not.toContain('seek 0');
    expect(partition.offsets.committable).toBe(6);
  });

  test('the commit of a partition that starts below the log is repeated, since kafkajs commits that it has none', async () => {
    const { partition } = await setUp({ committed: 5, log: { low: 8, high: 10 } });
    expect(partition.commit(performance.now())).toMatchObject({ offset: 5 });
  });
});
