import { type Admin } from 'kafkajs';
import { KafkaConsumption } from '../../../../shared/kafka/consumer/consumer';
import { Membership } from '../../../../shared/kafka/client/membership';
import { type OpenRecord } from '../../../../shared/kafka/port';
import { createLog } from '../../../../shared/telemetry/log';
import { randomOf } from '../../../../tools/harness/random';
import { type Around, ModelConsumer } from './consumer';
import { Coordinator } from './coordinator';
import { VirtualTime } from './virtual-time';

/**
 * The rounds that one more member costs a large group, on models of kafkajs and the coordinator.
 */

const [PARTITIONS, MEMBERS] = [1_000, 50];
const log = createLog('model', 'silent');
const partsOfAdmin = {
  fetchTopicOffsets: () => Promise.resolve([]),
  fetchTopicMetadata: () =>
    Promise.resolve({ topics: [{ name: 't', partitions: Array(PARTITIONS).fill({}) }] }),
  describeGroups: () => Promise.resolve({ groups: [] }),
};

let time: VirtualTime;
beforeEach(() => {
  time = new VirtualTime();
  time.install();
});
afterEach(() => VirtualTime.uninstall());

/** Starts a group whose members release a partition up to `slowestMs` after its revocation. */
function group(slowestMs: number) {
  const random = randomOf(1);
  const coordinator = new Coordinator(time, random);
  const ids = Array.from({ length: PARTITIONS }, (_, number) => `t/${String(number)}`);
  const around: Around = {
    time,
    random,
    coordinator,
    counts: new Map([['t', PARTITIONS]]),
    ends: new Map(ids.map((id) => [id, 1])),
  };
  const join = () => {
    const membership = new Membership();
    const open = new Set<OpenRecord>();
    const parts = {
      make: () =>
        new ModelConsumer(around, { dead: false, awayUntil: 0 }, membership.assigner).asConsumer,
      membership,
      groupId: 'g',
      prefix: '',
      log,
      partitionOf: () => 0,
      admin: partsOfAdmin as unknown as Admin,
      readCommitted: () => {
        const commits = [...coordinator.committed].map(([id, { offset, metadata }]) => {
          return [id, { offset: Number(offset), metadata }] as const;
        });
        return Promise.resolve(new Map(commits));
      },
      appendedAt: () => Promise.resolve(undefined),
    };
    const consumption = new KafkaConsumption(parts, {
      group: 'g',
      topics: ['t'],
      onRecord: (record) => {
        open.add(record);
        return 'accepted';
      },
      onRevoking: () => {
        for (const record of [...open].filter(({ isRevoking }) => isRevoking)) {
          open.delete(record);
          setTimeout(() => record.done(), random.between(0, slowestMs));
        }
      },
      onFatal: (error) => {
        throw error;
      },
    });
    void consumption.start();
  };
  const settled = () => {
    const owned = coordinator.members.map(({ assignment }) => countOf(assignment));
    return (
      coordinator.state === 'Stable' && owned.reduce((sum, count) => sum + count, 0) === PARTITIONS
    );
  };
  return { coordinator, join, settled };
}

/** Returns the number of partitions in an assignment of one topic. */
function countOf(assignment: Buffer): number {
  // version, number of topics, and the name `t` come first
  return assignment.length < 13 ? 0 : assignment.readInt32BE(2 + 4 + 2 + 1);
}

test.each([
  ['at once', 0, 2],
  ['within five seconds', 5_000, 6],
])(
  'the 51st member of a group whose members release partitions %s costs few rounds',
  async (_, slowestMs, most) => {
    const { coordinator, join, settled } = group(slowestMs);
    for (let i = 0; i < MEMBERS; i++) join();
    expect(await time.run(60_000, () => coordinator.members.length === MEMBERS && settled())).toBe(
      true,
    );
    await time.run(time.now + 60_000, () => false);
    const before = coordinator.generation;
    join();
    await time.run(time.now + 1_000, () => coordinator.members.length > MEMBERS);
    expect(
      await time.run(time.now + 60_000, () => coordinator.members.length > MEMBERS && settled()),
    ).toBe(true);
    expect(coordinator.generation - before).toBeLessThanOrEqual(most);
  },
  300_000,
);
