import { LeaderCheck } from '../../../../shared/kafka/consumer/describe-group';
import { AssignedPartitions } from '../../../../shared/kafka/consumer/assigned-partitions';
import { Membership } from '../../../../shared/kafka/consumer/membership';
import { Partition } from '../../../../shared/kafka/consumer/partition';
import { GroupWorld, type Options } from './group-simulation';
import { VirtualTime } from './virtual-time';

/** `GROUP_SEED=n` runs only that schedule; `GROUP_SCHEDULES=n` runs this many of each kind. */
const SCHEDULES = Number(process.env.GROUP_SCHEDULES ?? 2_000);
const ONE = process.env.GROUP_SEED;

async function failing(options: Options, schedules = SCHEDULES): Promise<string[]> {
  const found: string[] = [];
  const seeds = ONE === undefined ? Array.from({ length: schedules }, (_, i) => i) : [Number(ONE)];
  for (const seed of seeds) {
    try {
      const problems = await new GroupWorld(seed, options).run();
      if (problems.length > 0) {
        found.push(`seed ${String(seed)}: ${problems.slice(0, 3).join('; ')}`);
      }
    } finally {
      VirtualTime.uninstall();
    }
    if (found.length >= 5) break;
  }
  return found;
}

afterEach(() => jest.restoreAllMocks());

test('while members join and leave, partitions have one owner within two rounds', async () => {
  expect(await failing({ mixed: false })).toEqual([]);
}, 900_000);

test('while members of two versions come and go, known partitions have one owner', async () => {
  expect(await failing({ mixed: true })).toEqual([]);
}, 900_000);

test('after a broker stood still beyond all sessions, members repeat nothing done', async () => {
  expect(await failing({ mixed: false, pauses: true }, SCHEDULES / 5)).toEqual([]);
}, 900_000);

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
  // Disables the leader and the members that would ask in their place.
  jest.spyOn(Membership.prototype, 'leaderAsks', 'get').mockReturnValue(false);
  jest.spyOn(LeaderCheck.prototype, 'entered').mockReturnValue();
  expect(await failing({ mixed: false }, 200)).toContainEqual(
    expect.stringMatching(/has no owner/),
  );
});

test('the leader asks for a round if members do not', async () => {
  forgetUnread();
  expect(await failing({ mixed: false }, 200)).toEqual([]);
});

test('the simulation finds two owners if a partition is released with open records', async () => {
  jest.spyOn(Partition.prototype, 'drained', 'get').mockReturnValue(true);
  expect(await failing({ mixed: false }, 500)).toContainEqual(
    expect.stringMatching(/concurrently|read again/),
  );
});

test('the simulation finds repeats if the first member back takes over all at once', async () => {
  jest.spyOn(Membership.prototype, 'accept').mockImplementation((places) => places);
  expect(await failing({ mixed: false, pauses: true }, 200)).toContainEqual(
    expect.stringMatching(/read again/),
  );
});
