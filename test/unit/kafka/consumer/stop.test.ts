import { type OpenRecord } from '../../../../shared/kafka/port';
import { ERROR } from '../../../../shared/kafka/protocol/error-codes';
import { randomOf } from '../../../../tools/harness/random';
import { alive, ModelBrokers } from '../group/model-brokers';
import { modelConsumer, startMember, worldOf } from '../group/model-consumer';
import { ended, inVirtualTime } from '../group/virtual-time';

/** What a consumer does while it stops, and a record is in flight for longer than a session. */

const IN_FLIGHT_MS = 20_000;
const PARTITIONS = 4;

const time = inVirtualTime();

/** A group with one member, which has taken one record of each partition. */
async function setUp() {
  const world = worldOf(time, randomOf(1), { partitions: PARTITIONS, records: 1 });
  const first = startMember(world);
  await time.run(60_000, () => first.open.length === PARTITIONS);
  const stop = (deadlineMs: number) => ended(first.consumption.stop(deadlineMs));
  const committed = (number: number) => world.coordinator.committed.get(`t/${String(number)}`);
  return { world, first, stop, committed };
}

test('it stays a member, and commits the record when it is done', async () => {
  const { world, first, stop, committed } = await setUp();
  const [slow, ...others] = first.open;
  const isOver = stop(30_000);
  for (const record of others) record.done();
  await time.pass(IN_FLIGHT_MS);
  expect(world.coordinator.has(first.brokers.memberId)).toBe(true);
  for (const { partition } of others) expect(committed(partition)).toMatchObject({ offset: 1 });
  slow!.done();
  await time.run(time.now + 2_000, isOver);
  expect([isOver(), committed(slow!.partition)?.offset, world.coordinator.members.length]).toEqual([
    true,
    1,
    0,
  ]);
});

test('another member soon reads the partitions without a record in flight', async () => {
  const { world, first, stop } = await setUp();
  for (const record of first.open.splice(0)) record.done();
  const second = startMember(world);
  await time.pass(5_000);
  const append = () => world.logs.forEach((log) => log.append(1, () => time.now));
  append();
  // A model broker answers an idle fetch at its end only.
  await time.pass(6_000);
  const [slow, fast] = first.open;
  expect([first.open.length, second.open.length]).toEqual([2, 2]);
  const isOver = stop(30_000);
  fast!.done();
  await time.pass(5_000);
  append();
  await time.pass(1_000);
  const read = () =>
    second.open.map(({ partition, offset }) => `${String(partition)}/${String(offset)}`);
  expect(read()).toContain(`${String(fast!.partition)}/2`);
  expect(read()).not.toContain(`${String(slow!.partition)}/2`);
  slow!.done();
  await time.run(time.now + 2_000, isOver);
  await time.pass(1_000);
  expect(read()).toContain(`${String(slow!.partition)}/2`);
  expect(new Set(read()).size).toBe(second.open.length);
  await time.run(time.now + 2_000, ended(second.consumption.stop(0)));
});

test('its records in flight are in doubt once its session has ended', async () => {
  const { world, first, stop } = await setUp();
  const { sync } = first.brokers.group;
  let isJoining = false;
  first.brokers.group.sync = async (...input) => {
    isJoining = true;
    await time.sleep(2_000);
    return sync(...input);
  };
  const isOver = stop(30_000);
  await time.pass(1_000);
  expect(first.open.map(({ isInDoubt }) => isInDoubt)).toEqual(Array(PARTITIONS).fill(false));
  isJoining = false;
  world.coordinator.leave(first.brokers.memberId);
  await time.run(time.now + 5_000, () => isJoining);
  expect([isJoining, isOver()]).toEqual([true, false]);
  expect(first.open.map(({ isInDoubt }) => isInDoubt)).toEqual(Array(PARTITIONS).fill(true));
  await time.run(time.now + 40_000, isOver);
});

test('a round that began before gives it no partitions', async () => {
  const world = worldOf(time, randomOf(1), { partitions: PARTITIONS, records: 1 });
  const brokers = new ModelBrokers(world, alive());
  const open: OpenRecord[] = [];
  const given: number[][] = [];
  const consumption = modelConsumer(brokers, {
    topics: ['t'],
    onRecord: (record) => {
      open.push(record);
      return 'accepted';
    },
    rebalanceListener: {
      onAssigned: (partitions) => given.push([...partitions]),
      onLost: () => undefined,
      isDraining: () => false,
    },
  });
  const { group } = brokers;
  const { join } = group;
  let isJoining = false;
  let goOn = Promise.resolve();
  group.join = async (input) => {
    isJoining = true;
    const joined = await join(input);
    await goOn;
    return joined;
  };
  void consumption.start();
  await time.run(60_000, () => open.length === PARTITIONS);
  expect(given.at(-1)).toHaveLength(PARTITIONS);
  isJoining = false;
  let release!: () => void;
  goOn = new Promise((resolve) => (release = resolve));
  const second = startMember(world);
  expect(await time.run(time.now + 10_000, () => isJoining)).toBe(true);
  given.length = 0;
  const isOver = ended(consumption.stop(30_000));
  release();
  await time.pass(5_000);
  expect(given.length).toBeGreaterThan(0);
  expect(given.flat()).toEqual([]);
  for (const record of open) record.done();
  await time.run(time.now + 2_000, isOver);
  expect(isOver()).toBe(true);
  await time.run(time.now + 2_000, ended(second.consumption.stop(0)));
});

test('it does not wait for commits of a topic that was deleted', async () => {
  const { world, first, stop, committed } = await setUp();
  await time.pass(1_000);
  world.counts.delete('t');
  for (const record of first.open) record.done();
  const isOver = stop(30_000);
  await time.run(time.now + 2_000, isOver);
  expect([isOver(), committed(0)?.offset]).toEqual([true, 0]);
});

test('it waits for commits of a topic that only its coordinator does not know yet', async () => {
  const { first, stop, committed } = await setUp();
  await time.pass(1_000);
  const { group } = first.brokers;
  const { commit } = group;
  const knowsAt = time.now + 3_000;
  group.commit = async (member, commits) => {
    if (time.now >= knowsAt) return commit(member, commits);
    await time.sleep(5);
    return commits.map((each) => ({ ...each, errorCode: ERROR.unknownTopic }));
  };
  for (const record of first.open) record.done();
  const isOver = stop(30_000);
  await time.run(knowsAt + 2_000, isOver);
  expect([isOver(), committed(0)?.offset]).toEqual([true, 1]);
});
