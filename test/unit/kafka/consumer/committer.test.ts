import { Committer } from '../../../../shared/kafka/consumer/committer';
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
