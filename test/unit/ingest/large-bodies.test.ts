import { LargeBodies } from '../../../services/ingest/large-bodies';
import { type Steps } from '../../../services/ingest/calls/steps';
import { FairShares } from '../../../shared/collections/fair-shares';
import { eventually } from '../../support/eventually';
import { startTestIngest } from './start';

/** How large bodies take turns, and who may go between their slices. */

const BODY = { body: Buffer.alloc(100), receivedSteadyMs: 0 };

/** A clock on which each look takes half of a millisecond, and turns of an event loop. */
function bench(total = 10_000) {
  let now = 0;
  const turns: (() => void)[] = [];
  const shares = new FairShares(total);
  return {
    shares,
    bodies: new LargeBodies({
      now: () => (now += 0.5),
      nextTurn: () => new Promise<void>((resolve) => turns.push(resolve)),
    }),
    owner: (name: string) => ({ shares, share: shares.of(name) }),
    later: (ms: number) => void (now += ms),
    /** Lets the event loop turn until nothing waits for it. */
    async turn(times = Infinity): Promise<number> {
      let turned = 0;
      for (; turned < times; turned++) {
        await settled();
        const next = turns.shift();
        if (!next) break;
        next();
      }
      await settled();
      return turned;
    },
  };
}

async function settled(): Promise<void> {
  for (let i = 0; i < 20; i++) await Promise.resolve();
}

function* steps(count: number, log: string[], name: string): Steps<string> {
  for (let i = 0; i < count; i++) {
    log.push(name);
    yield;
  }
  return name;
}

test('a long work leaves the event loop to others between its slices', async () => {
  const { bodies, owner, turn } = bench();
  const log: string[] = [];
  const work = bodies.work(owner('a'), BODY, () => steps(9, log, 'a'));
  expect(log.length).toBeLessThan(9);
  const turns = await turn();
  expect(turns).toBeGreaterThan(2);
  await expect(work).resolves.toBe('a');
  expect(log).toHaveLength(9);
});

test('a slice is longer where the others take longer, up to a bound', async () => {
  const turnsOf = async (othersMs: number) => {
    const { bodies, owner, turn, later } = bench();
    const work = bodies.work(owner('a'), BODY, () => steps(99, [], 'a'));
    let turns = 0;
    for (; (await turn(1)) > 0; turns++) later(othersMs);
    await work;
    return turns;
  };
  const [alone, beside, besideMany] = [await turnsOf(0), await turnsOf(3), await turnsOf(300)];
  expect(beside).toBeLessThan(alone / 2);
  expect(besideMany).toBeGreaterThan(99 / 10);
});

test('one body at a time is worked on', async () => {
  const { bodies, owner, turn } = bench();
  const log: string[] = [];
  const works = ['a', 'b'].map((name) => bodies.work(owner(name), BODY, () => steps(9, log, name)));
  await turn();
  expect(await Promise.all(works)).toEqual(['a', 'b']);
  expect(log.join('')).toBe('a'.repeat(9) + 'b'.repeat(9));
});

test('an owner of many bodies waits for itself', async () => {
  const { bodies, owner, turn } = bench();
  const log: string[] = [];
  const works = ['a1', 'a2', 'a3', 'a4', 'b1', 'c1', 'b2'].map((name) =>
    bodies.work(owner(name.charAt(0)), BODY, () => steps(3, log, name)),
  );
  await turn();
  await Promise.all(works);
  expect([...new Set(log)]).toEqual(['a1', 'a2', 'b1', 'c1', 'a3', 'b2', 'a4']);
});

test('a body that waited too long is not worked on', async () => {
  const { bodies, owner, turn, later } = bench();
  const log: string[] = [];
  const works = ['a', 'b'].map((name) => bodies.work(owner(name), BODY, () => steps(3, log, name)));
  later(2_000);
  await turn();
  expect(await Promise.all(works)).toEqual(['a', 'overloaded']);
  expect(log).not.toContain('b');
});

test('a body that waited for something else before has less time to wait', async () => {
  const { bodies, owner, turn, later } = bench();
  const work = (name: string, receivedSteadyMs: number) =>
    bodies.work(owner(name), { ...BODY, receivedSteadyMs }, () => steps(3, [], name));
  later(3_000);
  const works = [work('a', 3_000), work('b', 1_500), work('c', 3_000)];
  later(1_000);
  await turn();
  expect(await Promise.all(works)).toEqual(['a', 'overloaded', 'c']);
});

test('waiting bodies stay within the share of their owner, and give it back', async () => {
  const { bodies, owner, shares, turn } = bench(400);
  const works = ['a', 'a', 'a', 'b'].map((name) =>
    bodies.work(owner(name), BODY, () => steps(3, [], name)),
  );
  await turn();
  expect(await Promise.all(works)).toEqual(['a', 'a', 'overloaded', 'b']);
  expect(shares.of('a').held + shares.of('b').held).toBe(0);
});

test('a work that fails holds up none of the others', async () => {
  const { bodies, owner, shares, turn } = bench();
  const failing = bodies.work(owner('a'), BODY, () => {
    throw new Error('a fault of ours');
  });
  const other = bodies.work(owner('b'), BODY, () => steps(1, [], 'b'));
  await expect(failing).rejects.toThrow('a fault of ours');
  await turn();
  await expect(other).resolves.toBe('b');
  expect(shares.of('a').held).toBe(0);
});

describe('while ingest works on a large body', () => {
  const CALL = '{"type":"track","userId":"u","event":"large"}';
  const calls = Array.from({ length: 500 }, () => CALL).join();

  /** Starts an ingest whose event loop turns for large bodies only once `open` is called. */
  async function start(limits = { maxPerSecond: 1_000_000, processes: 1 }) {
    let open: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => (open = resolve));
    let begin: () => void = () => undefined;
    const begun = new Promise<void>((resolve) => (begin = resolve));
    let now = 0;
    const largeBodies = new LargeBodies({
      now: () => (now += 0.5),
      nextTurn: () => {
        begin();
        return gate;
      },
    });
    const work = jest.spyOn(largeBodies, 'work');
    return { ingest: await startTestIngest({ largeBodies, limits }), work, begun, open };
  }

  test.each([
    ['clean', `{"batch":[${calls}]}`],
    ['broken', `{"batch":[,${calls}`],
  ])('that is %s, others are answered', async (_, body) => {
    const { ingest, begun, open } = await start();
    const large = ingest.post('/v1/batch', body);
    await begun;
    const small = await ingest.post('/v1/track', { userId: 'u', event: 'small' });
    expect(small.status).toBe(200);
    expect(ingest.producer.values('messages')).toMatchObject([{ event: 'small' }]);
    open();
    expect(await large).toMatchObject({ status: 200, body: { success: true } });
    expect(ingest.producer.values('messages')).toHaveLength(501);
    await ingest.stop();
  });

  test('a further one of its source is held to the limit that the first has used up', async () => {
    const { ingest, work, begun, open } = await start({ maxPerSecond: 10, processes: 1 });
    const first = ingest.post('/v1/batch', `{"batch":[${calls}]}`);
    await begun;
    const second = ingest.post('/v1/batch', `{"batch":[${calls}]}`);
    await eventually(() => expect(work).toHaveBeenCalledTimes(2));
    open();
    expect([(await first).status, (await second).status]).toEqual([200, 429]);
    await ingest.stop();
  });
});
