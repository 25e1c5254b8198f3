import { SESSION_MS } from '../../../../shared/kafka/consumer/membership';
import { ERROR } from '../../../../shared/kafka/protocol/error-codes';
import { randomOf } from '../../../../tools/harness/random';
import { alive, ModelBrokers } from '../group/model-brokers';
import { modelConsumer, startMember, worldOf } from '../group/model-consumer';
import { inVirtualTime } from '../group/virtual-time';

/**
 * A process stands still for longer than its session: it starts no record before its coordinator
 * has answered a request that it sent afterwards.
 */

const STALL_MS = SESSION_MS + 1_000;

const time = inVirtualTime();

/** A member that is idle. Its handler may be busy. */
async function setUp() {
  const world = worldOf(time, randomOf(1), { partitions: 1, records: 0 });
  const brokers = new ModelBrokers(world, alive());
  const held: { answers: (() => void)[] | undefined } = { answers: undefined };
  const openFetches = brokers.openFetches.bind(brokers);
  brokers.openFetches = async () => {
    const connection = await openFetches();
    const fetch = connection.fetch.bind(connection);
    connection.fetch = (input, done) =>
      fetch(input, (error, answer) => {
        if (held.answers) held.answers.push(() => done(error, answer));
        else done(error, answer);
      });
    return connection;
  };
  /** for how long the coordinator had said nothing when a record was offered, ms */
  const unheard: number[] = [];
  let isBusy = false;
  const consumption = modelConsumer(brokers, {
    topics: ['t'],
    onRecord: () => {
      unheard.push(time.now - brokers.heardAt);
      return isBusy ? 'busy' : 'accepted';
    },
  });
  void consumption.start();
  await time.pass(10_000);
  const append = () => world.logs.get('t/0')!.append(1, () => Math.floor(time.now));
  const stand = () => {
    unheard.length = 0;
    isBusy = false;
    time.now += STALL_MS;
  };
  const busy = () => (isBusy = true);
  return { brokers, consumption, unheard, append, stand, busy, held };
}

test('nor one of a fetch that was answered meanwhile', async () => {
  const { unheard, append, stand, held } = await setUp();
  append();
  held.answers = [];
  await time.run(time.now + 1_000, () => held.answers!.length > 0);
  stand();
  // Answers are read before timers run.
  for (const answer of held.answers.splice(0)) answer();
  held.answers = undefined;
  await time.pass(5_000);
  expect(unheard).toHaveLength(1);
  expect(unheard[0]).toBeLessThan(SESSION_MS);
});

test('nor one that it held back, when there is room again', async () => {
  const { consumption, unheard, append, stand, busy } = await setUp();
  busy();
  append();
  await time.pass(500);
  expect(unheard.length).toBeGreaterThan(0);
  stand();
  consumption.resume();
  await time.pass(5_000);
  expect(unheard).toHaveLength(1);
  expect(unheard[0]).toBeLessThan(SESSION_MS);
});

test('and an answer from before the stall proves nothing', async () => {
  const { brokers, unheard, append, stand } = await setUp();
  const { heartbeat } = brokers.group;
  let deliver: (() => void) | undefined;
  brokers.group.heartbeat = async (member) => {
    const errorCode = await heartbeat(member);
    if (!deliver) await new Promise<void>((resolve) => (deliver = resolve));
    return errorCode;
  };
  await time.run(time.now + 5_000, () => deliver !== undefined);
  stand();
  append();
  // Its timers run before the answer is read.
  await time.pass(50);
  deliver!();
  await time.pass(5_000);
  expect(unheard).toHaveLength(1);
  expect(unheard[0]).toBeLessThan(SESSION_MS);
});

test('nor does an assignment from before the stall', async () => {
  const { brokers, unheard, append, stand, held } = await setUp();
  const { sync } = brokers.group;
  let deliver: (() => void) | undefined;
  brokers.group.sync = async (...input) => {
    const answer = await sync(...input);
    if (!deliver) await new Promise<void>((resolve) => (deliver = resolve));
    return answer;
  };
  askForRound(brokers);
  await time.run(time.now + 5_000, () => deliver !== undefined);
  append();
  held.answers = [];
  await time.run(time.now + 1_000, () => held.answers!.length > 0);
  stand();
  // Answers are read before timers run.
  deliver!();
  for (let i = 0; i < 50; i++) await Promise.resolve();
  for (const answer of held.answers.splice(0)) answer();
  held.answers = undefined;
  await time.pass(5_000);
  expect(unheard).toHaveLength(1);
  expect(unheard[0]).toBeLessThan(SESSION_MS);
});

test('a member whose assignment takes long is not in doubt, and joins no more often', async () => {
  const { brokers, consumption, unheard, append } = await setUp();
  const { sync, join } = brokers.group;
  let joins = 0;
  brokers.group.join = (input) => {
    joins++;
    return join(input);
  };
  brokers.group.sync = async (...input) => {
    await time.sleep(20_000);
    return sync(...input);
  };
  askForRound(brokers);
  const wasOut = time.run(time.now + 40_000, () => !consumption.joined);
  setTimeout(append, 19_000);
  setTimeout(append, 30_000);
  expect(await wasOut).toBe(false);
  expect([joins, unheard.length]).toEqual([1, 2]);
});

/** The coordinator says once that a round has begun. */
function askForRound({ group }: ModelBrokers): void {
  const { heartbeat } = group;
  group.heartbeat = () => {
    group.heartbeat = heartbeat;
    return Promise.resolve(ERROR.rebalancing);
  };
}

test('records in flight are in doubt before timers run, and reread if handed back', async () => {
  const world = worldOf(time, randomOf(1), { partitions: 1, records: 2 });
  const { open } = startMember(world);
  await time.run(time.now + 60_000, () => open.length === 2);
  const [first] = open;
  expect([first!.isRevoking, first!.isInDoubt]).toEqual([false, false]);
  time.now += STALL_MS;
  expect([first!.isRevoking, first!.isInDoubt]).toEqual([true, true]);
  expect(first!.handBack()).toBe(true);
  await time.run(time.now + 10_000, () => open.length === 3);
  expect(open.map(({ offset }) => offset)).toEqual([0, 1, 0]);
  expect(open[2]!.isInDoubt).toBe(false);
});
