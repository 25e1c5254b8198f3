import { type Admin } from 'kafkajs';
import { idOf, type TopicPartition } from '../../../../shared/kafka/consumer/partition';
import { AssignedPartitions } from '../../../../shared/kafka/consumer/assigned-partitions';
import { Dispatcher } from '../../../../shared/kafka/consumer/dispatcher';
import { Membership } from '../../../../shared/kafka/client/membership';
import { type Bounds } from '../../../../shared/kafka/client/leaderless';
import { FetchedRecord } from '../../../../shared/kafka/protocol/batch';
import { createLog } from '../../../../shared/telemetry/log';
import { eventually } from '../../../support/eventually';

const PLACE = { topic: 't', number: 0 };
const ID = idOf(PLACE);

/** A member that owns the partition from its commit on. The log has the given bounds. */
async function setUp(options: {
  committed?: number;
  log: Bounds & { newer?: number; led?: boolean };
}) {
  const membership = new Membership();
  const { committed = 5, log } = options;
  const ignore = () => undefined;
  const commands: string[] = [];
  const missed: [string, number][] = [];
  let looks = 0;
  const asked: TopicPartition[][] = [];
  const readCommitted = (_: string, places: readonly TopicPartition[]) => {
    asked.push([...places]);
    return Promise.resolve(new Map([[ID, { offset: committed, metadata: '' }]]));
  };
  const admin = {
    fetchTopicOffsets: () =>
      Promise.resolve(
        log.led === false ? [] : [{ partition: 0, low: String(log.low), high: String(log.high) }],
      ),
    fetchTopicOffsetsByTimestamp: () => {
      looks++;
      // By default, the look-up of the new start takes longer than the round.
      if (log.newer === undefined) return new Promise(ignore);
      return Promise.resolve(
        log.led === false ? [] : [{ partition: 0, offset: String(log.newer) }],
      );
    },
  } as unknown as Admin;
  const assigned = new AssignedPartitions({
    admin,
    readCommitted,
    membership,
    groupId: 'g',
    prefix: '',
    log: createLog('test', 'silent'),
    orders: {
      seek: (_, offset) => commands.push(`seek ${String(offset)}`),
      pause: () => commands.push('pause'),
      resume: () => commands.push('resume'),
    },
    stopping: () => false,
    onMissed: (_, reason, offsets) => missed.push([reason, offsets]),
  });
  assigned.enter('member', new Map([[ID, PLACE]]));
  const partition = await eventually(() => {
    expect(assigned.isOpen(ID)).toBe(true);
    return assigned.partitions.get(ID)!;
  });
  // The look-up of the commit ends with a resume.
  await eventually(() => expect(commands).toEqual(['resume']));
  commands.length = 0;
  return { membership, assigned, partition, commands, missed, asked, looks: () => looks };
}

test('a new owner asks for the commits of its new partitions alone', async () => {
  const { assigned, asked } = await setUp({ log: { low: 0, high: 10 } });
  const more = { topic: 't', number: 7 };
  assigned.enter('member', new Map([PLACE, more].map((place) => [idOf(place), place])));
  expect(asked).toEqual([[PLACE], [more]]);
});

test('a moving partition with a truncated log is claimed until its work is done', async () => {
  const { membership, assigned, partition } = await setUp({ log: { low: 0, high: 10 } });
  partition.offsets.take(5);

  void assigned.beginAgain(ID, partition, 'ends_before');
  expect(assigned.isOpen(ID)).toBe(false);
  assigned.enter('member', new Map());
  assigned.letGo();
  expect([partition.draining, [...membership.draining.keys()]]).toEqual([true, [ID]]);

  partition.offsets.done(5);
  partition.acknowledged(partition.commit(Infinity)!);
  assigned.letGo();
  expect(membership.draining.size).toBe(0);
});

test('a truncated partition without a leader later starts at its new end, not at 0', async () => {
  const log = { low: 0, high: 10, newer: 8, led: true };
  const { assigned, partition, commands, looks } = await setUp({ log });
  log.led = false;
  void assigned.beginAgain(ID, partition, 'rewritten');
  await eventually(() => expect(looks()).toBeGreaterThan(1));
  expect([assigned.isOpen(ID), commands]).toEqual([false, []]);
  log.led = true;
  await eventually(() => expect(commands).toEqual(['seek 8']));
});

describe('deferred records that Kafka has deleted', () => {
  test.each(['readDeferred', 'a round'])(
    '%s reports them and reads the partition from the log start',
    async (by) => {
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
      expect(commands.slice(-2)).toEqual(['seek 6', 'resume']);
      expect(commands).not.toContain('seek 0');
      expect(partition.offsets.committable).toBe(6);
    },
  );

  test('are reported once the log start is known, also if it was not at reading', async () => {
    const log = { low: 0, high: 10, led: true };
    const { assigned, partition, commands, missed } = await setUp({ committed: 0, log });
    for (const offset of [0, 1]) partition.offsets.take(offset);
    partition.offsets.done(1);
    partition.offsets.release(0);
    Object.assign(log, { led: false, low: 1 });
    assigned.readDeferred();
    await eventually(() => expect(commands).toEqual(['seek 0', 'resume']));
    log.led = true;
    await eventually(() => expect(missed).toEqual([['retention', 1]]));
    expect(partition.offsets.committable).toBe(2);
  });

  test.each([
    ['starts below the log', { low: 8, high: 10 }],
    ['has no leader, so that the start of its log is unknown', { low: 0, high: 10, led: false }],
  ])(
    'the commit of a partition that %s is repeated, since kafkajs commits that it has none',
    async (_, log) => {
      const { partition } = await setUp({ committed: 5, log });
      expect(partition.commit(performance.now())).toMatchObject({ offset: 5 });
    },
  );
});

test('no buffered record precedes deferred ones while their log start is looked up', async () => {
  const { assigned, partition, commands } = await setUp({
    committed: 0,
    log: { low: 0, high: 10 },
  });
  const taken: number[] = [];
  const dispatcher = new Dispatcher({
    onRecord: ({ offset }) => (taken.push(offset) < 3 ? 'accepted' : { againInMs: 60_000 }),
    command: (what) => commands.push(what),
    stopping: () => false,
    onFull: () => undefined,
  });
  const batch = { buffer: Buffer.alloc(0), isControl: false, context: undefined as never };
  dispatcher.dispatch(
    partition,
    [0, 1, 2, 3].map((offset) => new FetchedRecord(batch, 0, offset, 0)),
  );
  partition.offsets.release(0);
  expect([partition.waits, commands]).toEqual([true, ['pause']]);

  assigned.readDeferred();
  dispatcher.dispatchBuffered(partition);
  expect(taken).toEqual([0, 1, 2]);
  await eventually(() => expect(assigned.isOpen(ID)).toBe(true));
  // It stays paused until the seek: a fetch before that would only be dropped.
  expect(commands).toEqual(['pause', 'seek 0', 'resume']);
});
