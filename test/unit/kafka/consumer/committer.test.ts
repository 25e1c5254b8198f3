import {
  KafkaJSBrokerNotFound,
  KafkaJSConnectionError,
  KafkaJSNumberOfRetriesExceeded,
  KafkaJSProtocolError,
} from 'kafkajs';
import { Committer } from '../../../../shared/kafka/consumer/committer';
import { Partition } from '../../../../shared/kafka/consumer/partition';
import { createLog } from '../../../../shared/telemetry/log';

// The constructor throws without this argument, but its types do not allow it.
const BrokerNotFound = KafkaJSBrokerNotFound as new (message: string) => Error;
const given = (cause: Error) =>
  new KafkaJSNumberOfRetriesExceeded(cause, { retryCount: 8, retryTime: 1_000 });
const refused = (type: string) =>
  Object.assign(new KafkaJSProtocolError(new Error(type)), { type });

describe('a failed commit', () => {
  test.each<[string, Error, boolean]>([
    [
      'a commit that another broker coordinates makes the member join again',
      refused('NOT_COORDINATOR_FOR_GROUP'),
      true,
    ],
    [
      'a commit that another broker coordinates, after retries, makes the member join again',
      given(refused('NOT_COORDINATOR_FOR_GROUP')),
      true,
    ],
    [
      'a commit to a coordinator that no longer exists makes the member join again',
      given(new BrokerNotFound('no such broker')),
      true,
    ],
    [
      'a commit to a coordinator that refuses connections makes the member join again',
      given(new KafkaJSConnectionError('ECONNREFUSED')),
      true,
    ],
    [
      'a commit during a rebalance does not make the member join again',
      refused('REBALANCE_IN_PROGRESS'),
      false,
    ],
    [
      'a commit in an old generation does not make the member join again',
      refused('ILLEGAL_GENERATION'),
      false,
    ],
  ])('%s', async (_, error, expected) => {
    const partition = new Partition('webhooks', 0, 0);
    partition.offsets.take(0);
    partition.offsets.done(0);
    let moved = false;
    const committer = new Committer({
      partitions: () => [partition],
      send: () => Promise.reject(error),
      after: () => undefined,
      coordinatorMoved: () => (moved = true),
      log: createLog('test', 'silent'),
    });
    await committer.run(Date.now());
    expect(moved).toBe(expected);
    // The offset is not committed, and the next round tries again.
    expect(partition.commit(Date.now())).toMatchObject({ offset: 1 });
  });
});

describe('the time of a commit', () => {
  const ownedPartition = () => {
    const sent: string[] = [];
    const partition = new Partition('webhooks', 0, 0);
    const committer = new Committer({
      partitions: () => [partition],
      send: ([entry]) => Promise.resolve(void sent.push(entry!.offset)),
      after: () => undefined,
      coordinatorMoved: () => undefined,
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
    let answer!: () => void;
    const frozen = new Promise<void>((resolve) => (answer = resolve));
    let requests = 0;
    const committer = new Committer({
      partitions: () => [partition],
      send: async () => {
        requests++;
        await frozen;
        throw refused('UNKNOWN_MEMBER_ID');
      },
      after: () => undefined,
      coordinatorMoved: () => undefined,
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
    expect(sent).toEqual(['1']);
    await committer.run(1_300);
    expect(sent).toEqual(['1', '25']);
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
    partition.drain();
    await committer.run(1_200);
    expect(sent).toEqual(['1', '26', '27', '28']);
  });
});
