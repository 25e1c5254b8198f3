import { type Admin, logLevel } from 'kafkajs';
import { SERVICES, type ServiceName } from '../../bin/service-list';
import { kafkajsClient } from '../../shared/kafka/client/patches';
import { MESSAGES, tierTopic, WEBHOOKS } from '../../shared/kafka/topics';
import { type LoadedSystem, openLoadedSystem } from '../../tools/harness/loaded-system';
import { eventually } from '../support/eventually';
import { healthPortOf } from '../support/service';

/**
 * A system under load whose topics are deleted and made again, with fewer partitions and with more.
 * Every call that is acknowledged afterwards is delivered by the same processes, all of which
 * become ready again, and what was read of the former topic is counted as cut off.
 */

const RECOVERED = { deadlineMs: 120_000 };
/** Calls of some seconds. */
const CALLS = 105;
const TIER = tierTopic(2_000);

let rig: LoadedSystem;
let admin: Admin;
beforeAll(async () => {
  rig = await openLoadedSystem();
  const brokers = rig.system.env.KAFKA_BROKERS!.split(',');
  admin = kafkajsClient({ brokers, logLevel: logLevel.NOTHING }).admin();
  await admin.connect();
}, 500_000);
afterAll(async () => {
  await admin.disconnect();
  await rig.close();
});

const fullName = (topic: string) => rig.system.prefix + topic;
const pids = () => SERVICES.map((name) => rig.system.pids(name));

async function deleteTopic(topic: string): Promise<void> {
  await admin.deleteTopics({ topics: [fullName(topic)] });
  await eventually(async () => expect(await admin.listTopics()).not.toContain(fullName(topic)));
}

async function makeTopic(topic: string, numPartitions: number): Promise<void> {
  const configEntries = [{ name: 'message.timestamp.type', value: 'LogAppendTime' }];
  await eventually(async () => {
    await admin.createTopics({
      topics: [{ topic: fullName(topic), numPartitions, configEntries }],
    });
    expect(await admin.listTopics()).toContain(fullName(topic));
  });
}

async function health(name: ServiceName, path: string): Promise<Response> {
  const port = healthPortOf(rig.system.env, name);
  // The service ends a connection that was idle for some seconds, just when it is used again.
  return fetch(`http://127.0.0.1:${port}${path}`, { headers: { connection: 'close' } });
}

/** Returns the value of a service's metric, over all of its series with these labels. */
async function sumOf(service: ServiceName, metric: string, labels: RegExp): Promise<number> {
  const text = await (await health(service, '/metrics')).text();
  const values = text
    .split('\n')
    .filter((line) => line.startsWith(`${metric}{`) && labels.test(line))
    .map((line) => Number(line.slice(line.lastIndexOf(' '))));
  return values.reduce((sum, value) => sum + value, 0);
}

const cutOf = (group: ServiceName, topic: string) =>
  sumOf(group, 'waypost_log_cut_total', new RegExp(`group="${group}",topic="${topic}"`));

async function allWell(): Promise<void> {
  const answers = await Promise.all(
    SERVICES.map(async (name) => {
      const ready = await health(name, '/readyz');
      return {
        name,
        reasons: ready.ok ? '' : await ready.text(),
        blocked: await sumOf(name, 'waypost_producer_blocked', /./),
        unassigned: await sumOf(name, 'waypost_consumer_unassigned', /./),
      };
    }),
  );
  const isWell = { reasons: '', blocked: 0, unassigned: 0 };
  expect(answers).toEqual(SERVICES.map((name) => ({ name, ...isWell })));
}

/** Resolves when these calls have come to the endpoint that fails sometimes, and to the other. */
async function arrived(calls: readonly string[]): Promise<void> {
  const { healthy, failing } = rig;
  const isMissing = (id: string) => !healthy.messages.has(id) || !failing.messages.has(id);
  await eventually(() => expect(calls.filter(isMissing)).toEqual([]), RECOVERED);
}

interface Case {
  topic: string;
  /** the group that reads it */
  reader: ServiceName;
  when: 'at once' | 'after its group had given it up';
  partitions: number;
}

const READERS: [string, ServiceName][] = [
  [MESSAGES, 'router'],
  [WEBHOOKS, 'delivery'],
  [TIER, 'retry'],
];
const ALL = READERS.flatMap(([topic, reader]): Case[] => [
  {
    topic,
    reader,
    when: 'at once',
    partitions: 1,
  },
  {
    topic,
    reader,
    when: 'after its group had given it up',
    partitions: 5,
  },
]);
/** Each topic once, and each way. `CASES=all` tries each topic in both ways. */
const EACH_ONCE = [ALL[0]!, ALL[3]!, ALL[4]!];

test.each(process.env.CASES === 'all' ? ALL : EACH_ONCE)(
  'after `$topic` was deleted under load and made again $when with $partitions partitions, what ' +
    'is acknowledged is delivered',
  async ({ topic, reader, when, partitions }) => {
    const { load } = rig;
    await rig.flowing();
    const before = { pids: pids(), cut: await cutOf(reader, topic) };
    await deleteTopic(topic);
    if (when !== 'at once') await givenUp(topic, reader);
    await makeTopic(topic, partitions);

    const from = load.acknowledged.size;
    await eventually(
      () => expect(load.acknowledged.size).toBeGreaterThanOrEqual(from + CALLS),
      RECOVERED,
    );
    await arrived([...load.acknowledged].slice(from));
    await eventually(allWell, RECOVERED);
    expect(pids()).toEqual(before.pids);
    expect(await cutOf(reader, topic)).toBeGreaterThan(before.cut);
  },
  500_000,
);

/** Resolves when the group holds no partition of the topic any more. */
async function givenUp(topic: string, group: ServiceName): Promise<void> {
  const labels = new RegExp(`group="${group}",topic="${topic}"`);
  await eventually(
    async () => expect(await sumOf(group, 'waypost_consumer_partitions', labels)).toBe(0),
    RECOVERED,
  );
}
