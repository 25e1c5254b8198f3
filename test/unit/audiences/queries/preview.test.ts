import fc from 'fast-check';
import { type CounterSpec } from '../../../../services/audiences/definitions/aggregates';
import {
  type Figures,
  type Snapshot,
  MAX_SAMPLE,
  previewOf,
  PreviewWork,
} from '../../../../services/audiences/queries/preview';
import { type Profile } from '../../../../services/audiences/profiles/profile';
import { HashSample } from '../../../../services/audiences/queries/sample';
import { defined } from '../../../../shared/collections/defined';
import { EMPTY_LOG, profileStore } from '../../../support/profiles';
import { PARTITIONS, USERS, World } from '../audience-simulation';
import { naiveCount, naiveTraits, naiveUsers } from '../naive-audiences';
import { cases } from '../../../support/cases';

/**
 * A preview equals the values computed from the calls, although nothing is defined, and it changes
 * nothing.
 */

const MINUTE = 60_000;
type Facts = ReturnType<typeof naiveUsers> extends Map<string, infer F> ? F : never;

const buys = (windowMs?: number): CounterSpec => ({
  id: '',
  compute: 'count',
  event: 'Buy',
  ...defined({ windowMs }),
});
const total: CounterSpec = {
  id: '',
  compute: 'sum',
  event: 'Buy',
  property: 'total',
  windowMs: 5 * MINUTE,
};
const CONDITIONS: readonly [condition: string, naive: (facts: Facts, nowMs: number) => boolean][] =
  [
    ['user.traits.plan == "pro"', (facts) => naiveTraits(facts).plan === 'pro'],
    ['!has(user.traits.plan)', (facts) => (naiveTraits(facts).plan ?? null) === null],
    ['count("Buy") >= 2', (facts, nowMs) => (naiveCount(buys(), facts, nowMs) as number) >= 2],
    [
      'count("Buy", duration("10m")) == 0',
      (facts, nowMs) => naiveCount(buys(10 * MINUTE), facts, nowMs) === 0,
    ],
    [
      'sum("Buy", "total", duration("5m")) > 5.0',
      (facts, nowMs) => (naiveCount(total, facts, nowMs) as number) > 5,
    ],
  ];

async function ended(work: AsyncGenerator<Figures, void>): Promise<Figures> {
  let last: Figures | undefined;
  for await (const figures of work) last = figures;
  return last!;
}

const question = (condition: string, sources?: string[]) => ({
  kind: 'preview' as const,
  id: 'pre_1',
  expiresAt: 0,
  condition,
  ...defined({ sources }),
});

/** Reads three records at a time. */
function glanceAt(world: World, partition: number): Snapshot {
  const { store, engine } = world.processors[partition]!;
  const log = world.log[partition]!;
  return {
    store: Object.assign(Object.create(store) as Snapshot['store'], { size: store.profiles.size }),
    log: {
      read: (offset, end, wanted = () => true) => {
        const next = Math.min(end, offset + 3);
        const records = log.slice(offset, next).filter((record) => wanted(record.user));
        return Promise.resolve({ records, next, done: next === offset });
      },
    },
    ready: true,
    next: engine.meta.live.next,
  };
}

const user = fc.nat({ max: USERS.length - 1 });
const source = fc.nat({ max: PARTITIONS - 1 });
const act = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('track' as const),
      user,
      source,
      n: fc.integer({ min: -3, max: 6 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('identify' as const),
      user,
      source,
      plan: fc.constantFrom('pro', 'free', null),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('alias' as const), user, to: user, source }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('delete' as const),
      user,
      source: fc.option(source, { nil: undefined }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('repartition' as const),
      source,
      n: fc.integer({ min: 1, max: 6 }),
      crash: fc.boolean(),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('time' as const),
      ms: fc.integer({ min: 1, max: 8 * MINUTE }),
    }),
  },
);

type Act = typeof act extends fc.Arbitrary<infer T> ? T : never;

function told(actions: readonly Act[]): World {
  const world = new World();
  const aliased = new Set<number>();
  for (const each of actions) {
    world.nowMs += 2;
    if (each.do === 'time') world.nowMs += each.ms;
    else if (each.do === 'delete' && aliased.has(each.user)) continue;
    else if (each.do === 'repartition') world.repartition(each.source, each.n, each.crash);
    else {
      const userId = USERS[each.user]!;
      if (each.do === 'track') {
        world.send(
          { type: 'track', userId, event: 'Buy', properties: { total: each.n } },
          each.source,
        );
      }
      if (each.do === 'identify') {
        world.send({ type: 'identify', userId, traits: { plan: each.plan } }, each.source);
      }
      if (each.do === 'alias') {
        aliased.add(each.user);
        world.send({ type: 'alias', userId: USERS[each.to]!, previousId: userId }, each.source);
      }
      if (each.do === 'delete') {
        world.delete(userId, each.source === undefined ? null : [`src${String(each.source)}`]);
      }
    }
  }
  world.settle();
  return world;
}

/** Ann has bought and becomes Dan; an earlier deletion of Dan is written again afterwards. */
const DELETED_TWICE: Act[] = [
  { do: 'track', user: 0, source: 0, n: 0 },
  { do: 'alias', user: 0, to: 3, source: 0 },
  { do: 'delete', user: 3, source: 1 },
  { do: 'repartition', source: 0, n: 2, crash: false },
  { do: 'repartition', source: 1, n: 1, crash: true },
  { do: 'track', user: 3, source: 0, n: 0 },
];

test('a preview is the true count, or for earlier ids within its uncertainty', async () => {
  const stories = fc.array(act, { minLength: 5, maxLength: 60 });
  await fc.assert(
    fc.asyncProperty(
      stories,
      fc.nat({ max: CONDITIONS.length - 1 }),
      fc.option(source, { nil: undefined }),
      async (actions, which, only) => {
        const world = told(actions);
        const before = JSON.stringify(world.processors.map(({ store }) => [...store.profiles]));
        const [condition, naive] = CONDITIONS[which]!;
        const sources = only === undefined ? undefined : [`src${only}`];
        const own = (part: { source: string }) => sources?.includes(part.source) ?? true;
        const expected = [...naiveUsers(world.log, world.deletions).values()].filter(
          ({ tracks, identifies }) => {
            const isErased = ({ erasedFor = [] }: (typeof tracks)[number]) =>
              erasedFor.some((source) => own({ source }));
            const counted = tracks.filter((each) => own(each) && !isErased(each));
            return naive({ tracks: counted, identifies: identifies.filter(own) }, world.nowMs);
          },
        ).length;
        let [members, unsure] = [0, 0];
        for (let p = 0; p < PARTITIONS; p++) {
          const snapshot = glanceAt(world, p);
          const figures = await ended(
            previewOf(question(condition, sources), () => snapshot, {
              now: () => world.nowMs,
              work: new PreviewWork(),
            }),
          );
          expect([figures.state, figures.known]).toEqual(['done', figures.profiles]);
          members += figures.members;
          unsure += figures.unsure;
        }
        expect(Math.abs(members - expected)).toBeLessThanOrEqual(unsure);
        if (which < 2) expect(unsure).toBe(0);
        expect(JSON.stringify(world.processors.map(({ store }) => [...store.profiles]))).toBe(
          before,
        );
      },
    ),
    { numRuns: cases(300), examples: [[DELETED_TWICE, 2, undefined]] },
  );
});

const many = (count: number): Record<string, Profile> =>
  Object.fromEntries(
    Array.from({ length: count }, (_, i) => [
      `user-${i}`,
      { traits: { s: { n: [i, 0], plan: ['pro', 0] } } },
    ]),
  );
const glanceOf = (profiles: Record<string, Profile>): Snapshot => ({
  store: profileStore(profiles),
  log: EMPTY_LOG,
  ready: true,
  next: 1,
});

test('a preview reads all profiles for trait conditions, and a sample for events', async () => {
  const snapshot = glanceOf(many(2 * MAX_SAMPLE));
  const traits = await ended(
    previewOf(question('user.traits.n < 1000'), () => snapshot, {
      now: () => 0,
      work: new PreviewWork(),
    }),
  );
  expect(traits).toMatchObject({
    state: 'done',
    members: 1_000,
    known: 2 * MAX_SAMPLE,
    looked: 2 * MAX_SAMPLE,
  });
  const events = await ended(
    previewOf(question('user.traits.n < 1000 && count("x") == 0'), () => snapshot, {
      now: () => 0,
      work: new PreviewWork(),
    }),
  );
  expect(events).toMatchObject({
    state: 'done',
    profiles: 2 * MAX_SAMPLE,
    known: MAX_SAMPLE,
    of: MAX_SAMPLE,
  });
});

test('a preview shows ten members, with the traits of the condition first', async () => {
  const traits = Object.fromEntries(
    Array.from({ length: 100 }, (_, i) => [`t${i}`, ['x'.repeat(300), 0]]),
  );
  const snapshot = glanceOf({
    ...many(20),
    big: { traits: { s: { ...traits, plan: ['best', 0] } } },
  });
  const { sample } = await ended(
    previewOf(question('user.traits.plan == "pro"'), () => snapshot, {
      now: () => 0,
      work: new PreviewWork(),
    }),
  );
  expect(sample).toHaveLength(10);
  expect(sample[0]).toEqual({ userId: 'user-0', traits: { plan: 'pro', n: 0 } });
  const big = await ended(
    previewOf(question('user.traits.plan == "best"'), () => snapshot, {
      now: () => 0,
      work: new PreviewWork(),
    }),
  );
  expect(Object.keys(big.sample[0]!.traits)[0]).toBe('plan');
  expect(JSON.stringify(big.sample).length).toBeLessThan(3_000);
});

test('a preview counts failed evaluations as no members, and reports their number', async () => {
  const snapshot = glanceOf({ ...many(3), none: {} });
  const figures = await ended(
    previewOf(question('user.traits.plan == "pro"'), () => snapshot, {
      now: () => 0,
      work: new PreviewWork(),
    }),
  );
  expect(figures).toMatchObject({ members: 3, failed: 1, known: 4 });
});

test('a preview waits until earlier messages count, and ends with a lost partition', async () => {
  let snapshot: Snapshot | undefined = { ...glanceOf(many(500)), ready: false };
  const work = previewOf(question('true'), () => snapshot, {
    now: () => 0,
    work: new PreviewWork(),
  });
  expect((await work.next()).value).toMatchObject({ state: 'waiting', known: 0, of: 500 });
  snapshot.ready = true;
  expect((await work.next()).value).toMatchObject({ state: 'counting', looked: 100, of: 500 });
  snapshot = undefined;
  expect(await work.next()).toEqual({ done: true, value: undefined });
});

test('the sample draws all users with equal probability, and the same users each time', () => {
  const drawn = (from: number, to: number) => {
    const draw = new HashSample(100);
    for (let i = from; i < to; i++) draw.offer(`user-${i}`);
    return draw.users;
  };
  const all = drawn(0, 10_000);
  expect(all).toHaveLength(100);
  expect(new Set(drawn(0, 10_000))).toEqual(new Set(all));
  // About half from each half: a fair coin is off by more than 25 of 100 once in some million
  // times.
  const firstHalf = all.filter((name) => Number(name.slice(5)) < 5_000).length;
  expect(Math.abs(firstHalf - 50)).toBeLessThan(25);
  expect(drawn(0, 50)).toHaveLength(50);
});
