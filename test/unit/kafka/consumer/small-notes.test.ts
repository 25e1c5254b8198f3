import { decodeNote } from '../../../../shared/kafka/consumer/commit-note';
import { ERROR } from '../../../../shared/kafka/protocol/error-codes';
import { randomOf } from '../../../../tools/harness/random';
import { startMember, worldOf } from '../group/model-consumer';
import { inVirtualTime } from '../group/virtual-time';

/** Brokers whose `offset.metadata.max.bytes` is smaller than the default. */

const time = inVirtualTime();
const RECORDS = 400;

/** Starts a member at brokers that take commit metadata up to this length. */
async function startAt(mostLength: number, partitions = 1) {
  const world = worldOf(time, randomOf(1), { partitions, records: RECORDS });
  const member = startMember(world);
  const { group } = member.brokers;
  const { commit } = group;
  const refusals: number[] = [];
  group.commit = async (id, commits) => {
    const answers = await commit(
      id,
      commits.filter(({ metadata }) => metadata.length <= mostLength),
    );
    const refused = commits.filter(({ metadata }) => metadata.length > mostLength);
    refusals.push(...refused.map(({ partition }) => partition));
    return [...answers, ...refused.map((each) => ({ ...each, errorCode: ERROR.metadataTooLarge }))];
  };
  await time.run(60_000, () => member.open.length === partitions * RECORDS);
  const committed = (number = 0) => world.coordinator.committed.get(`t/${String(number)}`);
  return { ...member, committed, refusals };
}

test('a commit notes as many records as the broker takes', async () => {
  const { open, committed } = await startAt(100);
  for (const record of open.filter((_, i) => i % 2 === 1)) record.done();
  const runs = () => decodeNote(0, committed()!.metadata).runs;
  await time.run(time.now + 10_000, () => runs().length > 0);
  expect([committed()!.offset, runs().slice(0, 4)]).toEqual([0, [1, 1, 1, 1]]);
});

test('what the notes of one partition have shown holds for all', async () => {
  const { open, committed, refusals } = await startAt(100, 2);
  const finishHalf = async (number: number) => {
    const records = open.filter(({ partition }) => partition === number);
    for (const record of records.filter((_, i) => i % 2 === 1)) record.done();
    const noted = () => decodeNote(0, committed(number)!.metadata).runs.length > 0;
    await time.run(time.now + 10_000, noted);
    return noted();
  };
  expect([await finishHalf(0), refusals.length > 0]).toEqual([true, true]);
  expect([await finishHalf(1), refusals.includes(1)]).toEqual([true, false]);
});

test('a broker that takes no metadata stores offsets', async () => {
  const { open, committed } = await startAt(0);
  for (const record of open.slice(0, 3)) record.done();
  await time.run(time.now + 10_000, () => committed()?.offset === 3);
  expect(committed()).toEqual({ offset: 3, metadata: '' });
});
