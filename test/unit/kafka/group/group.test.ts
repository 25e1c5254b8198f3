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
      if (problems.length > 0) found.push(`seed ${String(seed)}: ${problems.slice(0, 3).join('; ')}`);
    } finally {
      VirtualTime.uninstall();
    }
    if (found.length >= 5) break;
  }
  return found;
}

afterEach(() => jest.restoreAllMocks());

test('while members join and leave, every partition has one owner at most two rounds later', async () => {
  expect(await failing({ mixed: false })).toEqual([]);
}, 900_000);

test('while members that read different topics join and leave, every partition has one owner', async () => {
  expect(await failing({ mixed: true })).toEqual([]);
}, 900_000);

test('after a broker stood still for longer than all sessions, no member repeats what another has done', async () => {
  expect(await failing({ mixed: false, pauses: true }, SCHEDULES / 5)).toEqual([]);
}, 900_000);

/** Restores an old fault: a member releases a revoked partition, and asks for a round, only if it had read it or found a commit. */
function forgetUnread(): void {
  const enter = AssignedPartitions.prototype.enter;
  jest.spyOn(AssignedPartitions.prototype, 'enter').mockImplementation(function (
    this: AssignedPartitions,
    memberId,
    places,
  ) {
    enter.call(this, memberId, places);
    const { membership } = (this as unknown as { parts: { membership: Membership } }).parts;
    for (const id of membership.draining.keys()) if (!this.partitions.has(id)) membership.draining.delete(id);
  });
}

test('the simulation finds partitions without an owner if members do not ask for a round after losing unread partitions', async () => {
  forgetUnread();
  // Disables the leader, which would ask in their place.
  jest.spyOn(Membership.prototype, 'leaderAsks', 'get').mockReturnValue(false);
  expect(await failing({ mixed: false }, 200)).toContainEqual(expect.stringMatching(/has no owner/));
});

test('the leader asks for a round if members do not', async () => {
  forgetUnread();
  expect(await failing({ mixed: false }, 200)).toEqual([]);
});

test('the simulation finds a partition at two members if an owner releases it before its records are done', async () => {
  jest.spyOn(Partition.prototype, 'drained', 'get').mockReturnValue(true);
  expect(await failing({ mixed: false }, 500)).toContainEqual(expect.stringMatching(/concurrently|read again/));
});

test('the simulation finds repeats if the first member to return takes the partitions of the others at once', async () => {
  jest.spyOn(Membership.prototype, 'accept').mockImplementation((places) => places);
  expect(await failing({ mixed: false, pauses: true }, 200)).toContainEqual(expect.stringMatching(/read again/));
});
