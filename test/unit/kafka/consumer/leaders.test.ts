import { type FoundOffset } from '../../../../shared/kafka/protocol/offset-requests';
import { EARLIEST, LATEST } from '../../../../shared/kafka/protocol/offset-requests';
import { type LogBrokers } from '../../../../shared/kafka/consumer/brokers';
import { Leaders } from '../../../../shared/kafka/consumer/leaders';

/** Where a log departs from what was read of it, by the answers of its leader. */

const PLACE = { topic: 't', number: 0 };
const READ = { offset: 50, epoch: 3, timestamp: 1_000 };
const found = (offset: number, errorCode = 0): FoundOffset => ({ ...PLACE, offset, errorCode });

async function leadersOf(later: number, epochEnd: FoundOffset | undefined): Promise<Leaders> {
  const topic = { errorCode: 0, id: 'a', partitions: [{ leader: 1, epoch: 4 }] };
  const leaders = new Leaders(
    {
      metadata: () => Promise.resolve(new Map([['t', topic]])),
      listOffsets: (_, __, atMs) => {
        const offset = atMs === EARLIEST ? 10 : atMs === LATEST ? 80 : later;
        return Promise.resolve([found(offset)]);
      },
      epochEnd: () => Promise.resolve(epochEnd),
    },
    ['t'],
  );
  await leaders.refresh();
  return leaders;
}

test.each([
  ['the end of its epoch', 60, found(40), 40],
  ['the first record that was appended later', 45, found(-1), 45],
  ['the start of the log', 5, found(2), 10],
  ['where it was read up to, if nothing says that it was cut', -1, found(-1), 50],
])('it departs at %s', async (_, later, epochEnd, expected) => {
  const leaders = await leadersOf(later, epochEnd);
  expect(await leaders.endOfKnown(PLACE, READ)).toBe(expected);
});

test.each([
  ['another leader since', found(-1, 6)],
  ['an older epoch than asked of', found(-1, 74)],
  ['nothing', undefined],
])('an answer that says %s decides nothing', async (_, epochEnd) => {
  const leaders = await leadersOf(-1, epochEnd);
  await expect(leaders.endOfKnown(PLACE, READ)).rejects.toThrow('no end of an epoch');
});

/** Leaders of `t` that answer only what they know of topics. */
function leadersWith(metadata: LogBrokers['metadata']): Leaders {
  const unasked = () => Promise.reject(new Error('not asked'));
  return new Leaders({ metadata, listOffsets: unasked, epochEnd: unasked }, ['t']);
}

test('a refresh returns other topics too, although one without them ends with it', async () => {
  const leaders = leadersWith((topics) => {
    const partitions = [{ leader: 1, epoch: 4 }];
    const read = topics.map((name) => [name, { errorCode: 0, id: name, partitions }] as const);
    return Promise.resolve(new Map(read));
  });
  const [read] = await Promise.all([leaders.refresh(['other']), leaders.refresh()]);
  expect([...read.keys()]).toEqual(['t', 'other']);
});

test.each([
  [0, 'a'],
  [3, undefined],
  [29, undefined],
])('metadata with error %i for a topic names it: %s', async (errorCode, expected) => {
  const topic = { errorCode, id: 'a', partitions: [] };
  const leaders = leadersWith(() => Promise.resolve(new Map([['t', topic]])));
  await leaders.refresh();
  expect(leaders.topicIdOf('t')).toBe(expected);
});
