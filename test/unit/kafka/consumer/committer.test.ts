import {
  KafkaJSBrokerNotFound,
  KafkaJSConnectionError,
  KafkaJSNumberOfRetriesExceeded,
  KafkaJSProtocolError,
} from 'kafkajs';
import { Committer } from '../../../../shared/kafka/consumer/committer';
import { Partition } from '../../../../shared/kafka/consumer/partition';
import { createLog } from '../../../../shared/telemetry/log';

// Its types forbid the argument without which it throws.
const BrokerNotFound = KafkaJSBrokerNotFound as new (message: string) => Error;
const given = (cause: Error) => new KafkaJSNumberOfRetriesExceeded(cause, { retryCount: 8, retryTime: 1_000 });
const refused = (type: string) => Object.assign(new KafkaJSProtocolError(new Error(type)), { type });

describe('a commit that fails', () => {
  test.each<[string, Error, boolean]>([
    ['another broker coordinates', refused('NOT_COORDINATOR_FOR_GROUP'), true],
    ['another one, after retries', given(refused('NOT_COORDINATOR_FOR_GROUP')), true],
    ['the coordinator is gone', given(new BrokerNotFound('no such broker')), true],
    ['nobody listens there', given(new KafkaJSConnectionError('ECONNREFUSED')), true],
    ['the group meets', refused('REBALANCE_IN_PROGRESS'), false],
    ['another generation', refused('ILLEGAL_GENERATION'), false],
  ])('%s', async (_, error, expected) => {
    const partition = new Partition('webhooks', 0, 0);
    partition.offsets.take(0);
    partition.offsets.done(0);
    let astray = false;
    const committer = new Committer({
      partitions: () => [partition],
      send: () => Promise.reject(error),
      after: () => undefined,
      astray: () => (astray = true),
      log: createLog('test', 'silent'),
    });
    await committer.run(Date.now());
    expect(astray).toBe(expected);
    // It is not committed, and will be tried again.
    expect(partition.commit(Date.now())).toMatchObject({ offset: 1 });
  });
});
