import { type OpenRecord } from '../../../../shared/kafka/port';
import { randomOf } from '../../../../tools/harness/random';
import { alive, ModelBrokers } from './model-brokers';
import { modelConsumer, worldOf } from './model-consumer';
import { inVirtualTime } from './virtual-time';

/**
 * The rounds that one more member costs a large group, on models of the brokers.
 */

const [PARTITIONS, MEMBERS] = [1_000, 50];

const time = inVirtualTime();

/** Starts a group whose members release a partition up to `slowestMs` after its revocation. */
function group(slowestMs: number) {
  const random = randomOf(1);
  const world = worldOf(time, random, { partitions: PARTITIONS, records: 1 });
  const { coordinator } = world;
  const join = () => {
    const open = new Set<OpenRecord>();
    const brokers = new ModelBrokers(world, alive());
    const consumption = modelConsumer(brokers, {
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
  ['within five seconds', 5_000, 8],
])(
  'the 51st member of a group whose members release partitions %s costs few rounds',
  async (_, slowestMs, most) => {
    const { coordinator, join, settled } = group(slowestMs);
    for (let i = 0; i < MEMBERS; i++) join();
    expect(await time.run(60_000, () => coordinator.members.length === MEMBERS && settled())).toBe(
      true,
    );
    await time.pass(60_000);
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
