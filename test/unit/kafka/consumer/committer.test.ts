import { Committer, dueCommits } from '../../../../shared/kafka/consumer/committer';
import { Partition } from '../../../../shared/kafka/consumer/partition';
import { createLog } from '../../../../shared/telemetry/log';

test('records of a commit that failed are committed by the next one', async () => {
  const partition = new Partition('webhooks', 0, 0);
  partition.offsets.take(0);
  partition.offsets.done(0);
  const log = createLog('test', 'silent');
  const [warn, debug] = [jest.spyOn(log, 'warn'), jest.spyOn(log, 'debug')];
  const committer = new Committer({
    partitions: () => [partition],
    send: () => Promise.reject(new Error('the coordinator is loading')),
    after: () => undefined,
    log,
  });
  partition.change('stop');
  await committer.run(1_000);
  expect(partition.commit(Infinity)).toMatchObject({ offset: 1 });
  await committer.run(2_000);
  // A broker that restarts refuses many in a row.
  expect([warn.mock.calls.length, debug.mock.calls.length]).toEqual([1, 1]);
});

test('only the commits that Kafka has stored count', async () => {
  const partitions = [0, 1].map((number) => new Partition('webhooks', number, 0));
  for (const { offsets } of partitions) {
    offsets.take(0);
    offsets.done(0);
  }
  for (const partition of partitions) partition.change('stop');
  const committer = new Committer({
    partitions: () => partitions,
    send: (commits) => Promise.resolve(commits.slice(1)),
    after: () => undefined,
    log: createLog('test', 'silent'),
  });
  await committer.run(1_000);
  expect(partitions.map(({ drained }) => drained)).toEqual([false, true]);
});

/** Returns a partition of which every second record is done: its note is as long as it may be. */
function fragmented(number: number): Partition {
  const partition = new Partition('webhooks', number, 0);
  partition.position.compare(undefined);
  for (let offset = 0; offset < 4_000; offset++) partition.offsets.take(offset);
  for (let offset = 1; offset < 4_000; offset += 2) partition.offsets.done(offset);
  return partition;
}

test.each<[what: string, count: number, part: number]>([
  ['of a few partitions are as long as the broker takes', 20, 1],
  ['of 150 partitions are half as long', 150, 2],
  ['of 500 partitions are a quarter as long', 500, 4],
  ['of 1,500 partitions are a sixteenth as long', 1_500, 16],
])('notes %s, so that one request has room for all', (_, count, part) => {
  const partitions = Array.from({ length: count }, (_, number) => fragmented(number));
  const whole = partitions[0]!.commit(1_000)!.metadata.length;
  const due = dueCommits(partitions, 1_000);
  expect(due.map(({ partition }) => partition)).toEqual(partitions);
  const lengths = due.map(({ commit }) => commit.metadata.length);
  expect(lengths.reduce((sum, length) => sum + length, 0)).toBeLessThan(600_000);
  expect(Math.min(...lengths)).toBeGreaterThan(whole / part - 10);
  expect(Math.max(...lengths)).toBeLessThan(whole / part + 10);
});

describe('the time of a commit', () => {
  const ownedPartition = () => {
    const sent: number[] = [];
    const partition = new Partition('webhooks', 0, 0);
    partition.position.compare(undefined);
    const committer = new Committer({
      partitions: () => [partition],
      send: (commits) => {
        sent.push(commits[0]!.commit.offset);
        return Promise.resolve(commits);
      },
      after: () => undefined,
      log: createLog('test', 'silent'),
    });
    let next = 0;
    const finish = (records: number) => {
      for (const end = next + records; next < end; next++) {
        partition.offsets.take(next);
        partition.offsets.done(next);
      }
    };
    return { sent, partition, committer, finish };
  };

  test('while a commit waits for its answer no other one queues up behind it', async () => {
    const partition = new Partition('webhooks', 0, 0);
    partition.position.compare(undefined);
    let answer!: () => void;
    const frozen = new Promise<void>((resolve) => (answer = resolve));
    let requests = 0;
    const committer = new Committer({
      partitions: () => [partition],
      send: async () => {
        requests++;
        await frozen;
        throw new Error('not a member');
      },
      after: () => undefined,
      log: createLog('test', 'silent'),
    });
    partition.offsets.take(0);
    partition.offsets.done(0);
    const runs = Array.from({ length: 500 }, (_, tick) => committer.run(1_000 + tick * 100));
    answer();
    await Promise.all(runs);
    expect(requests).toBe(1);
    await committer.run(60_000);
    expect(requests).toBe(2);
  });

  test('few records are committed together, 300 ms after the last commit', async () => {
    const { sent, committer, finish } = ownedPartition();
    finish(1);
    await committer.run(1_000);
    finish(24);
    await committer.run(1_100);
    await committer.run(1_200);
    expect(sent).toEqual([1]);
    await committer.run(1_300);
    expect(sent).toEqual([1, 25]);
  });

  test("many records, a moving partition's and the last are committed immediately", async () => {
    const { sent, partition, committer, finish } = ownedPartition();
    finish(1);
    await committer.run(1_000);
    finish(25);
    await committer.run(1_100);
    finish(1);
    await committer.run(Infinity);
    finish(1);
    partition.change('stop');
    await committer.run(1_200);
    expect(sent).toEqual([1, 26, 27, 28]);
  });
});
