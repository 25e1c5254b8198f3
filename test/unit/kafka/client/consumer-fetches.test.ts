import { setImmediate as immediate } from 'node:timers/promises';
import { AssignerProtocol, logLevel } from 'kafkajs';
import { patchKafkajs } from '../../../../shared/kafka/client/patches';
import { eventually } from '../../../support/eventually';

/**
 * A consumer of kafkajs with a coordinator that forgets it, and that is loading when it joins
 * again.
 */

interface Runner {
  start(): Promise<void>;
  stop(): Promise<void>;
}
type Class<T> = new (options: object) => T;

/* eslint-disable @typescript-eslint/no-require-imports -- these parts of kafkajs have no types and no other name */
const ConsumerGroup = require('kafkajs/src/consumer/consumerGroup') as Class<object>;
const KafkaRunner = require('kafkajs/src/consumer/runner') as Class<Runner>;
const { createLogger } = require('kafkajs/src/loggers') as {
  createLogger: (options: object) => object;
};
/* eslint-enable @typescript-eslint/no-require-imports */

const failure = (type: string) => Object.assign(new Error(type), { type, retriable: true });
const done = () => Promise.resolve();

/** Returns a runner whose group is lost after its first fetch, and the steps that it takes. */
function startRunner(): { runner: Runner; steps: string[] } {
  const steps: string[] = [];
  const joins = ['first', failure('COORDINATOR_LOAD_IN_PROGRESS'), 'second'];
  let isKnown = false;
  const coordinator = {
    isConnected: () => true,
    joinGroup: () => {
      const answer = joins.shift()!;
      steps.push(answer instanceof Error ? answer.message : `joined as ${answer}`);
      if (answer instanceof Error) return Promise.reject(answer);
      isKnown = true;
      return Promise.resolve({
        generationId: 1,
        leaderId: 'other',
        memberId: answer,
        members: [],
        groupProtocol: 'p',
      });
    },
    syncGroup: () => {
      const assignment = { version: 1, assignment: { t: [0] }, userData: Buffer.alloc(0) };
      return Promise.resolve({
        memberAssignment: AssignerProtocol.MemberAssignment.encode(assignment),
      });
    },
    heartbeat: () => (isKnown ? done() : Promise.reject(failure('UNKNOWN_MEMBER_ID'))),
    offsetFetch: () =>
      Promise.resolve({ responses: [{ topic: 't', partitions: [{ partition: 0, offset: '5' }] }] }),
  };
  const fetch = async () => {
    if (!steps.includes('fetched')) isKnown = false;
    steps.push('fetched');
    await immediate();
    return { responses: [] };
  };
  const cluster = {
    connect: done,
    refreshMetadata: done,
    refreshMetadataIfNecessary: done,
    getNodeIds: () => ['1'],
    committedOffsets: () => ({ t: {} }),
    markOffsetAsCommitted: () => undefined,
    findGroupCoordinator: () => Promise.resolve(coordinator),
    findTopicPartitionMetadata: () => [{ partitionId: 0, leader: 1 }],
    findLeaderForPartitions: () => ({ '1': [0] }),
    findBroker: () => Promise.resolve({ fetch }),
  };
  const logger = createLogger({ level: logLevel.NOTHING, logCreator: () => () => undefined });
  const retry = { initialRetryTime: 1, retries: 5 };
  const common = {
    logger,
    retry,
    instrumentationEmitter: { emit: () => undefined },
    autoCommit: false,
  };
  const consumerGroup = new ConsumerGroup({
    ...common,
    cluster,
    groupId: 'g',
    topics: ['t'],
    topicConfigurations: { t: { fromBeginning: true } },
    assigners: [{ name: 'p', protocol: () => ({ name: 'p', metadata: Buffer.alloc(0) }) }],
    sessionTimeout: 1_000,
    rebalanceTimeout: 1_000,
    maxWaitTimeInMs: 1,
    minBytes: 1,
  });
  const runner = new KafkaRunner({
    ...common,
    consumerGroup,
    concurrency: 1,
    heartbeatInterval: 0,
    eachBatch: done,
    onCrash: (error: Error) => steps.push(`crashed: ${error.message}`),
  });
  return { runner, steps };
}

test('a consumer that its group no longer knows reads nothing until it rejoins', async () => {
  patchKafkajs();
  const { runner, steps } = startRunner();
  await runner.start();
  await eventually(
    () => expect(steps.filter((step) => step === 'fetched').length).toBeGreaterThan(1),
    {
      deadlineMs: 10_000,
    },
  );
  await runner.stop();
  expect(steps.slice(0, 5)).toEqual([
    'joined as first',
    'fetched',
    'COORDINATOR_LOAD_IN_PROGRESS',
    'joined as second',
    'fetched',
  ]);
});
