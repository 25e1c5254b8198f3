import { type GroupRequests } from '../../../../shared/kafka/consumer/brokers';
import { Member } from '../../../../shared/kafka/consumer/member';
import { ERROR } from '../../../../shared/kafka/protocol/error-codes';
import { createLog } from '../../../../shared/telemetry/log';

/** What a member does with each answer of its coordinator. */

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

const settle = () => jest.advanceTimersByTimeAsync(0);

/** A member that has joined generation 1 as `m1`, and its coordinator. */
async function joined() {
  const events: string[] = [];
  const lines: string[] = [];
  const answers = {
    join: [] as number[],
    sync: [] as number[],
    heartbeat: 0,
    commit: 0,
  };
  let joins = 0;
  let generation = 0;
  const requests: GroupRequests = {
    join: ({ memberId }) => {
      events.push(`joins as ${memberId || 'nobody'}`);
      const none = { generation: -1, leaderId: '', memberId: `m${String(++joins)}`, members: [] };
      if (memberId === '') return Promise.resolve({ ...none, errorCode: ERROR.memberIdRequired });
      const errorCode = answers.join.shift() ?? 0;
      if (errorCode !== 0) return Promise.resolve({ ...none, errorCode });
      const members = [{ memberId, metadata: Buffer.alloc(0) }];
      generation++;
      return Promise.resolve({ errorCode, generation, leaderId: memberId, memberId, members });
    },
    sync: () =>
      Promise.resolve({ errorCode: answers.sync.shift() ?? 0, assignment: Buffer.alloc(0) }),
    heartbeat: () => Promise.resolve(answers.heartbeat),
    commit: (_, commits) =>
      Promise.resolve(commits.map((commit) => ({ ...commit, errorCode: answers.commit }))),
    committed: () => Promise.resolve({ errorCode: 0, partitions: [] }),
    leave: (memberId) => {
      events.push(`${memberId} leaves`);
      return Promise.resolve();
    },
  };
  const member = new Member({
    requests,
    groupId: 'g',
    claims: () => Buffer.alloc(0),
    assign: () => Promise.resolve([]),
    onRound: (round) => events.push(`enters ${String(round.generation)}`),
    onHeartbeat: () => events.push('heartbeat'),
    onLost: () => events.push('lost'),
    onForbidden: () => events.push('forbidden'),
    log: createLog('test', 'warn', { write: (line) => lines.push(line) }),
  });
  member.join();
  await settle();
  expect(events.splice(0)).toEqual(['joins as nobody', 'joins as m1', 'heartbeat', 'enters 1']);
  return { member, answers, events, lines };
}

const commits = [{ topic: 't', partition: 0, offset: 1, metadata: '' }];
const asks = {
  heartbeat: (member: Member) => member.beat(),
  commit: (member: Member) => void member.commit(commits),
};

describe.each(['heartbeat', 'commit'] as const)('the answer to a %s', (request) => {
  test.each<[string, number, string[]]>([
    ['keeps a member of the generation', 0, ['heartbeat']],
    [
      'that asks for a round makes it join, as the member that it is',
      ERROR.rebalancing,
      ['heartbeat', 'joins as m1', 'heartbeat', 'enters 2'],
    ],
    [
      'that does not know the member ends its session, and it joins anew',
      ERROR.unknownMember,
      ['lost', 'joins as nobody', 'joins as m3', 'heartbeat', 'enters 2'],
    ],
    [
      'of another generation ends its session, and it joins anew',
      ERROR.illegalGeneration,
      ['lost', 'joins as nobody', 'joins as m3', 'heartbeat', 'enters 2'],
    ],
    ['of a coordinator that has moved costs no round', ERROR.notCoordinator, []],
    ['of a coordinator that loads costs no round', ERROR.coordinatorLoading, []],
  ])('%s', async (_, errorCode, expected) => {
    const { member, answers, events } = await joined();
    answers[request] = errorCode;
    asks[request](member);
    await settle();
    expect(events).toEqual(expected);
  });
});

test('a refusal that lasts is logged once a minute', async () => {
  const { member, answers, lines } = await joined();
  const beat = async () => {
    member.beat();
    await member.commit(commits);
    await settle();
  };
  answers.commit = ERROR.topicForbidden;
  for (let i = 0; i < 10; i++) await beat();
  expect(lines.filter((line) => line.includes('group.refused'))).toHaveLength(1);
  jest.advanceTimersByTime(60_000);
  await beat();
  expect(lines.filter((line) => line.includes('group.refused'))).toHaveLength(2);
});

test('answers during a round decide nothing', async () => {
  const { member, answers, events } = await joined();
  answers.heartbeat = ERROR.illegalGeneration;
  member.join();
  member.beat();
  await settle();
  expect(events).not.toContain('lost');
  expect(events.at(-1)).toBe('enters 2');
});

test('a round that ends before its assignment is joined again', async () => {
  const { member, answers, events } = await joined();
  answers.sync = [ERROR.rebalancing];
  member.join();
  await settle();
  expect(events).toEqual(['joins as m1', 'joins as m1', 'heartbeat', 'enters 3']);
});

test('a member that may not read with the group says so once, and joins no more', async () => {
  const { member, answers, events } = await joined();
  answers.join = [ERROR.groupForbidden];
  member.join();
  await settle();
  member.join();
  await jest.advanceTimersByTimeAsync(10_000);
  expect(events).toEqual(['joins as m1', 'forbidden']);
});

test('a member that the group has forgotten meanwhile joins anew', async () => {
  const { member, answers, events } = await joined();
  answers.join = [ERROR.unknownMember];
  member.join();
  await settle();
  expect(events).toEqual([
    'joins as m1',
    'lost',
    'joins as nobody',
    'joins as m4',
    'heartbeat',
    'enters 2',
  ]);
});

test('a member that leaves joins no more', async () => {
  const { member, events } = await joined();
  await member.leave();
  member.join();
  member.beat();
  await settle();
  expect([events, member.isJoined]).toEqual([['m1 leaves'], false]);
});

test('a member waits before it tries again to join a coordinator that refuses it', async () => {
  const { member, answers, events } = await joined();
  answers.join = [ERROR.coordinatorLoading, ERROR.coordinatorLoading];
  member.join();
  await settle();
  expect(events).toEqual(['joins as m1']);
  await jest.advanceTimersByTimeAsync(50 + 100);
  expect(events).toEqual(['joins as m1', 'joins as m1', 'joins as m1', 'heartbeat', 'enters 2']);
});
