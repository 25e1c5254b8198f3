import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type PreviewQuery,
  type ProfileResult,
  readResult,
} from '../../shared/model/profile-records';
import { createReadyTopics } from '../../shared/kafka/create-topics';
import { type Tail } from '../../shared/kafka/port';
import {
  OLD_PROFILE_QUERIES,
  OLD_PROFILE_RESULTS,
  PROFILE_QUERIES,
  PROFILE_RESULTS,
} from '../../shared/kafka/topics';
import { eventually } from '../support/eventually';
import { openProcesses, type Processes } from '../support/processes';

/**
 * Queries of old and new control processes to a new audiences process, on a Kafka that has the
 * topics of both.
 */

const PARTITIONS = 2;
const dir = mkdtempSync(join(tmpdir(), 'waypost-renamed-'));
let processes: Processes;
let tails: Tail[];
const results: { topic: string; id: string; result: ProfileResult }[] = [];

beforeAll(async () => {
  processes = await openProcesses({
    prefix: 'renamed',
    partitions: PARTITIONS,
    retryDelays: '10s',
  });
  processes.env.WAYPOST_DATA_DIR = dir;
  await createOldTopics();
  tails = await Promise.all([OLD_PROFILE_RESULTS, PROFILE_RESULTS].map(follow));
});

afterAll(async () => {
  await Promise.all(tails.map((tail) => tail.stop()));
  await processes.close();
  rmSync(dir, { recursive: true, force: true });
});

/** Creates the topics that an older version has left. */
async function createOldTopics(): Promise<void> {
  const topics = [OLD_PROFILE_QUERIES, OLD_PROFILE_RESULTS].map((name) => ({
    topic: processes.prefix + name,
    numPartitions: 1,
    replicationFactor: 1,
    configEntries: [{ name: 'message.timestamp.type', value: 'LogAppendTime' }],
  }));
  await createReadyTopics(processes.admin, topics);
}

function follow(topic: string): Promise<Tail> {
  const onFatal = (error: unknown) => {
    throw error;
  };
  return processes.kafka.tail({
    name: `test-${topic}`,
    topic,
    from: 'beginning',
    onFatal,
    onRecord: ({ key, value }) => {
      const result = readResult(value);
      if (result) results.push({ topic, id: String(key), result });
    },
  });
}

/**
 * Sends a preview as a control process does that uses these topics, and waits until each partition
 * has reported its end.
 */
async function preview(queries: string, results: string): Promise<void> {
  const query: PreviewQuery = {
    id: randomUUID(),
    kind: 'preview',
    condition: 'user.traits.plan == "pro"',
    expiresAt: Date.now() + 120_000,
  };
  await processes.producer.send([{ topic: queries, key: query.id, value: JSON.stringify(query) }]);
  await eventually(
    () => {
      expect(donePartitions(query.id)).toEqual(
        Array.from({ length: PARTITIONS }, (_, i) => `${results} ${i}`),
      );
    },
    { deadlineMs: 90_000 },
  );
}

/** Returns the topic and the number of each partition that has reported its end. */
function donePartitions(queryId: string): string[] {
  const done = results.flatMap(({ topic, id, result }) =>
    id === queryId && result.kind === 'preview' && result.state === 'done'
      ? [`${topic} ${result.partition}`]
      : [],
  );
  return [...new Set(done)].sort();
}

test('an audiences process answers on the topic pair of the query, old or new', async () => {
  const audiences = await processes.start('audiences');
  await Promise.all([
    preview(OLD_PROFILE_QUERIES, OLD_PROFILE_RESULTS),
    preview(PROFILE_QUERIES, PROFILE_RESULTS),
  ]);
  expect(audiences.output().match(/topics\.renamed/g)).toHaveLength(1);

  // The operator deletes the old topics while the process runs.
  await processes.admin.deleteTopics({
    topics: [OLD_PROFILE_QUERIES, OLD_PROFILE_RESULTS].map((name) => processes.prefix + name),
  });
  await preview(PROFILE_QUERIES, PROFILE_RESULTS);
  expect(await audiences.notReady()).toEqual([]);
  await audiences.stop();

  const next = await processes.start('audiences');
  await preview(PROFILE_QUERIES, PROFILE_RESULTS);
  expect(next.output()).not.toContain('topics.renamed');
}, 300_000);
