import { type Admin, KafkaJSAggregateError, KafkaJSProtocolError } from 'kafkajs';
import {
  createTopics,
  findDifferences,
  topicConfig,
} from '../../../../shared/kafka/client/create-topics';
import {
  CONFIG,
  PROFILES,
  TOMBSTONES_MS,
  type TopicSpec,
  topicSpecs,
} from '../../../../shared/kafka/topics';
import { createLog } from '../../../../shared/telemetry/log';

const DAY_MS = 86_400_000;
const compacted = topicSpecs({ retryDelaysMs: [], windowMs: DAY_MS }).filter(
  ({ cleanup }) => cleanup === 'compact',
);

/** Every topic has one partition, but that of the profiles two. */
const reader = {
  partitionCounts: (topics: readonly string[]) =>
    Promise.resolve(new Map(topics.map((name) => [name, name === PROFILES ? 2 : 1]))),
  ranges: () => Promise.resolve([]),
};

/**
 * Returns an admin for topics that keep tombstones for this time, and otherwise match their
 * specification.
 */
function adminOf(tombstonesMs: number): Admin {
  const answers = {
    describeConfigs: ({ resources }: { resources: { name: string }[] }) =>
      Promise.resolve({
        resources: resources.map(({ name }) => ({
          resourceName: name,
          configEntries: [{ configName: 'delete.retention.ms', configValue: String(tombstonesMs) }],
        })),
      }),
  };
  return answers as unknown as Admin;
}

test.each([
  ['for the specified time are no difference', TOMBSTONES_MS, []],
  ['for a longer time are no difference', 7 * DAY_MS, []],
  [
    'for a shorter time are a difference of each compacted topic',
    3_600_000,
    compacted.map(({ name }) => name),
  ],
])('tombstones that are retained %s', async (_, tombstonesMs, topics) => {
  expect(compacted.map(({ name }) => name)).toEqual(expect.arrayContaining([CONFIG, PROFILES]));
  const found = await findDifferences(
    adminOf(tombstonesMs),
    reader,
    { prefix: '', partitions: 2, replication: 1 },
    compacted,
  );
  expect(found.map(({ topic }) => topic)).toEqual(topics);
  expect(
    found.every(
      ({ setting, wants }) => setting === 'delete.retention.ms' && wants === String(DAY_MS),
    ),
  ).toBe(true);
});

test('compaction leaves profiles until their owner or the next has looked for void records', () => {
  const lags = compacted.map((spec) => [spec.name, topicConfig(spec, 1)['min.compaction.lag.ms']]);
  expect(Object.fromEntries(lags)).toMatchObject({ [PROFILES]: '600000', [CONFIG]: undefined });
});

/** Creates two topics on a broker that refuses them with these errors. */
function refused(errors: Record<string, string>): Promise<void> {
  const failures = Object.entries(errors).map(([topic, type]) => {
    const error = new KafkaJSProtocolError(new Error('a text of kafkajs'));
    return Object.assign(error, { type, topic });
  });
  const admin = {
    listTopics: () => Promise.resolve([]),
    createTopics: () =>
      Promise.reject(new KafkaJSAggregateError('Topic creation errors', failures)),
  };
  return createTopics(admin as unknown as Admin, reader, options);
}

const options = {
  prefix: 'p.',
  specs: ['messages', 'messages.limited'].map((name): TopicSpec => ({
    name,
    partitions: 'one',
    cleanup: 'delete',
    retentionMs: DAY_MS,
  })),
  partitions: 1,
  replication: 3,
  log: createLog('test', 'silent'),
};

test('without the right to create topics the error names them and the command', async () => {
  const errors = {
    'p.messages': 'TOPIC_AUTHORIZATION_FAILED',
    'p.messages.limited': 'TOPIC_AUTHORIZATION_FAILED',
  };
  await expect(refused(errors)).rejects.toMatchObject({
    code: 'cannot_start',
    message: expect.stringMatching(
      /describe or create p\.messages, p\.messages\.limited .*node dist\/bin\/main\.js acls/,
    ),
  });
});

test("a topic just created by another process does not hide the other's error", async () => {
  const errors = {
    'p.messages': 'TOPIC_ALREADY_EXISTS',
    'p.messages.limited': 'TOPIC_AUTHORIZATION_FAILED',
  };
  await expect(refused(errors)).rejects.toMatchObject({
    message: expect.stringMatching(/describe or create p\.messages\.limited /),
  });
});

test('with fewer brokers than replicas, the error names the setting', async () => {
  const errors = { 'p.messages': 'INVALID_REPLICATION_FACTOR' };
  await expect(refused(errors)).rejects.toMatchObject({
    message: expect.stringContaining('fewer than 3 brokers; set WAYPOST_REPLICATION'),
  });
});

test('topics are awaited if a loaded controller has not said in time that they exist', async () => {
  const errors = {
    'p.messages': 'REQUEST_TIMED_OUT',
    'p.messages.limited': 'TOPIC_ALREADY_EXISTS',
  };
  await expect(refused(errors)).resolves.toBeUndefined();
});

test('new topics are ready once their leaders are found', async () => {
  const created: unknown[] = [];
  const found: unknown[] = [];
  const admin = {
    listTopics: () => Promise.resolve(['p.messages']),
    createTopics: (wanted: { topics: { topic: string }[]; waitForLeaders: boolean }) => {
      created.push(wanted.waitForLeaders, ...wanted.topics.map(({ topic }) => topic));
      return Promise.resolve(true);
    },
    describeConfigs: () => Promise.resolve({ resources: [] }),
  };
  const ranges = (...asked: unknown[]) => {
    found.push(...asked);
    return Promise.resolve([]);
  };
  await createTopics(admin as unknown as Admin, { ...reader, ranges }, options);
  expect(created).toEqual([false, 'p.messages.limited']);
  expect(found).toEqual(['messages.limited', undefined, 60_000]);
});
