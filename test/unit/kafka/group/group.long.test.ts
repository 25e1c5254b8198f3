import { type GroupRequests } from '../../../../shared/kafka/consumer/brokers';
import { AssignedPartitions } from '../../../../shared/kafka/consumer/assigned-partitions';
import { Member } from '../../../../shared/kafka/consumer/member';
import { Membership } from '../../../../shared/kafka/consumer/membership';
import { Partition } from '../../../../shared/kafka/consumer/partition';
import { Position } from '../../../../shared/kafka/consumer/position';
import { ERROR } from '../../../../shared/kafka/protocol/error-codes';
import { fewerCases, seedOf, seedRanges } from '../../../support/cases';
import { GroupWorld, type Options } from './group-simulation';
import { VirtualTime } from './virtual-time';

/** `GROUP_SEED=n` runs only that schedule; `GROUP_SCHEDULES=n` runs this many of each kind. */
const SCHEDULES = Number(process.env.GROUP_SCHEDULES ?? fewerCases(2_000));
const ONE = process.env.GROUP_SEED;
const FIRST = seedOf('GROUP_SEED');

/** Returns the ranges of seeds that one test plays each. */
function rangesOf(schedules: number): [number, number][] {
  return seedRanges(ONE === undefined ? schedules : 1, 20, FIRST);
}

/**
 * Plays schedules until five of them have problems, or one has the problem that is looked for.
 * @returns the problems of each such schedule
 */
async function failing(
  options: Options,
  [from, to]: [number, number],
  soughtProblem?: RegExp,
): Promise<string[]> {
  const found: string[] = [];
  for (let seed = from; seed < to && found.length < 5; seed++) {
    try {
      const problems = await new GroupWorld(seed, options).run();
      if (problems.length > 0) {
        found.push(`seed ${String(seed)}: ${problems.slice(0, 3).join('; ')}`);
      }
    } finally {
      VirtualTime.uninstall();
    }
    if (soughtProblem?.test(found.at(-1) ?? '')) break;
  }
  return found;
}

// A test that ran out of time would play on in the virtual time of the next one.
jest.setTimeout(240_000);
afterEach(() => jest.restoreAllMocks());

test.each(rangesOf(SCHEDULES))(
  'while members join and leave, partitions have one owner in two rounds (seeds %i to %i)',
  async (...seeds) => expect(await failing({ mixed: false }, seeds)).toEqual([]),
);

test.each(rangesOf(SCHEDULES))(
  'members that read different topics leave no partition without owner (seeds %i to %i)',
  async (...seeds) => expect(await failing({ mixed: true }, seeds)).toEqual([]),
);

test.each(rangesOf(SCHEDULES / 5))(
  'after a broker stood still beyond all sessions, nothing is repeated (seeds %i to %i)',
  async (...seeds) => expect(await failing({ mixed: false, pauses: true }, seeds)).toEqual([]),
);

test.each(rangesOf(SCHEDULES))(
  'after logs were cut and topics made again, no record is left out (seeds %i to %i)',
  async (...seeds) => expect(await failing({ mixed: false, cuts: true }, seeds)).toEqual([]),
);

test.each(rangesOf(SCHEDULES / 2))(
  'while some brokers do not know new partitions, all are read without repeats (seeds %i to %i)',
  async (...seeds) => expect(await failing({ mixed: false, grows: true }, seeds)).toEqual([]),
);

test('the simulation finds lost records if a position is not compared with the log', async () => {
  const compare = Position.prototype.compare;
  jest.spyOn(Position.prototype, 'compare').mockImplementation(function (this: Position) {
    compare.call(this, undefined);
    return true;
  });
  const problem = /not settled: .*not done by/;
  expect(await failing({ mixed: false, cuts: true }, [0, 200], problem)).toContainEqual(
    expect.stringMatching(problem),
  );
});

test('the simulation finds a member that reads on without its session', async () => {
  // A heartbeat counts when it is sent.
  const beat = Member.prototype.beat;
  jest.spyOn(Member.prototype, 'beat').mockImplementation(function (this: Member) {
    beat.call(this);
    const { parts } = this as unknown as { parts: { onHeartbeat: (...of: number[]) => void } };
    parts.onHeartbeat(1, performance.now());
  });
  const problem = /after its session/;
  expect(await failing({ mixed: false }, [0, 500], problem)).toContainEqual(
    expect.stringMatching(problem),
  );
});

/** Lets members take the answer that they are no members of the generation for another one. */
function mistakeTheEndFor(other: number): void {
  const isEnd = (code: number) => code === ERROR.unknownMember || code === ERROR.illegalGeneration;
  const heard = (code: number) => (isEnd(code) ? other : code);
  const join = Member.prototype.join;
  jest.spyOn(Member.prototype, 'join').mockImplementation(function (this: Member) {
    const { parts } = this as unknown as { parts: { requests: GroupRequests } };
    const { requests } = parts;
    parts.requests = {
      ...requests,
      heartbeat: async (member) => heard(await requests.heartbeat(member)),
      commit: async (member, commits) => {
        const answers = await requests.commit(member, commits);
        return answers.map((answer) => ({ ...answer, errorCode: heard(answer.errorCode) }));
      },
    };
    join.call(this);
  });
}

test.each([
  ['ignores the end of its session', ERROR.notCoordinator, /not settled: Empty/, 300],
  ['takes the end of its session for its prolongation', 0, /after its session/, 0],
])('the simulation finds a member that %s', async (_, other, problem, from) => {
  mistakeTheEndFor(other);
  expect(await failing({ mixed: false }, [from, from + 300], problem)).toContainEqual(
    expect.stringMatching(problem),
  );
});

/**
 * Restores an old fault: a member releases a revoked partition, and asks for a round, only if it
 * had read it or found a commit.
 */
function forgetUnread(): void {
  const enter = AssignedPartitions.prototype.enter;
  jest.spyOn(AssignedPartitions.prototype, 'enter').mockImplementation(function (
    this: AssignedPartitions,
    memberId,
    places,
  ) {
    enter.call(this, memberId, places);
    const { membership } = (this as unknown as { parts: { membership: Membership } }).parts;
    for (const id of membership.draining.keys()) {
      if (!this.partitions.has(id)) membership.draining.delete(id);
    }
  });
}

test('the simulation finds ownerless partitions if members ask for no new round', async () => {
  forgetUnread();
  // Disables the leader, which would ask in their place.
  jest.spyOn(Membership.prototype, 'leaderAsksIn', 'get').mockReturnValue(Infinity);
  const problem = /has no owner/;
  expect(await failing({ mixed: false }, [0, 200], problem)).toContainEqual(
    expect.stringMatching(problem),
  );
});

test.each(rangesOf(SCHEDULES / 10))(
  'the leader asks for a round if members do not (seeds from %i to %i)',
  async (...seeds) => {
    forgetUnread();
    expect(await failing({ mixed: false }, seeds)).toEqual([]);
  },
);

test('the simulation finds two owners if a partition is released with open records', async () => {
  jest.spyOn(Partition.prototype, 'drained', 'get').mockReturnValue(true);
  const problem = /concurrently|read again/;
  expect(await failing({ mixed: false }, [0, 500], problem)).toContainEqual(
    expect.stringMatching(problem),
  );
});

test('the simulation finds repeats if the first member back takes over all at once', async () => {
  jest.spyOn(Membership.prototype, 'accept').mockImplementation((places) => places);
  const problem = /read again/;
  expect(await failing({ mixed: false, pauses: true }, [0, 200], problem)).toContainEqual(
    expect.stringMatching(problem),
  );
});
