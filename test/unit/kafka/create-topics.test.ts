import { type Admin } from 'kafkajs';
import { findDifferences } from '../../../shared/kafka/create-topics';
import { CONFIG, PROFILES, TOMBSTONES_MS, topicSpecs } from '../../../shared/kafka/topics';

const DAY_MS = 86_400_000;
const compacted = topicSpecs({ retryDelaysMs: [], windowMs: DAY_MS }).filter(({ cleanup }) => cleanup === 'compact');

/** As a broker answers whose topics keep tombstones for so long, and are as wanted in all else. */
function adminOf(tombstonesMs: number): Admin {
  const answers = {
    fetchTopicMetadata: ({ topics }: { topics: string[] }) =>
      Promise.resolve({ topics: topics.map((name) => ({ name, partitions: name === PROFILES ? [{}, {}] : [{}] })) }),
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
  ['as long as wanted are no difference', TOMBSTONES_MS, []],
  ['longer are no difference', 7 * DAY_MS, []],
  ['shorter are told of each compacted topic', 3_600_000, compacted.map(({ name }) => name)],
])('tombstones that are kept %s', async (_, tombstonesMs, topics) => {
  expect(compacted.map(({ name }) => name)).toEqual(expect.arrayContaining([CONFIG, PROFILES]));
  const found = await findDifferences(adminOf(tombstonesMs), { prefix: '', partitions: 2, replication: 1 }, compacted);
  expect(found.map(({ topic }) => topic)).toEqual(topics);
  expect(found.every(({ setting, wants }) => setting === 'delete.retention.ms' && wants === String(DAY_MS))).toBe(true);
});
