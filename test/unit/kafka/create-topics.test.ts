import { type Admin } from 'kafkajs';
import { findDifferences } from '../../../shared/kafka/create-topics';
import { CONFIG, PROFILES, TOMBSTONES_MS, topicSpecs } from '../../../shared/kafka/topics';

const DAY_MS = 86_400_000;
const compacted = topicSpecs({ retryDelaysMs: [], windowMs: DAY_MS }).filter(({ cleanup }) => cleanup === 'compact');

/** Returns an admin for topics that keep tombstones for this time, and otherwise match their specification. */
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
  ['as long as specified are no difference', TOMBSTONES_MS, []],
  ['for longer are no difference', 7 * DAY_MS, []],
  ['for less are a difference of each compacted topic', 3_600_000, compacted.map(({ name }) => name)],
])('tombstones kept %s', async (_, tombstonesMs, topics) => {
  expect(compacted.map(({ name }) => name)).toEqual(expect.arrayContaining([CONFIG, PROFILES]));
  const found = await findDifferences(adminOf(tombstonesMs), { prefix: '', partitions: 2, replication: 1 }, compacted);
  expect(found.map(({ topic }) => topic)).toEqual(topics);
  expect(found.every(({ setting, wants }) => setting === 'delete.retention.ms' && wants === String(DAY_MS))).toBe(true);
});
