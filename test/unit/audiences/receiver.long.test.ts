import fc from 'fast-check';
import {
  type Definition,
  ofAudience,
  ofTrait,
} from '../../../services/audiences/definitions/compile';
import { type ComputedTrait } from '../../../shared/model/audience-definition';
import { DEATHS, PARTITIONS, USERS, World } from './audience-simulation';
import { naiveCount, naiveTraits, naiveUsers } from './naive-audiences';

/**
 * A receiver's values equal the values computed from the calls, for any sequence of calls,
 * definitions and crashes.
 */

const MINUTE = 60_000;
const base = {
  name: 'x',
  key: 'x',
  source: 's',
  syncEveryMs: MINUTE,
  history: [],
  createdAt: '',
  updatedAt: '',
};

const CONDITIONS = [
  'count("Buy") >= 2',
  'count("Buy", duration("10m")) == 0',
  'sum("Buy", "total", duration("5m")) > 5.0',
  'user.traits.plan == "pro" && count("See") < 3',
];
const TRAITS: Pick<ComputedTrait, 'compute' | 'event' | 'property' | 'windowMs'>[] = [
  { compute: 'count', event: 'Buy' },
  { compute: 'sum', event: 'Buy', property: 'total', windowMs: 7 * MINUTE },
  { compute: 'max', event: 'See', property: 'total' },
  { compute: 'last', event: 'Buy', property: 'total', windowMs: 20 * MINUTE },
  { compute: 'first', event: 'See', property: 'total' },
  { compute: 'unique', event: 'Buy', property: 'total' },
  { compute: 'most_frequent', event: 'Buy', property: 'total', windowMs: 9 * MINUTE },
];

/** An id for each definition, with its present revision. */
const ids = ['aud_a', 'aud_b', 'trt_a', 'trt_b'] as const;
type Id = (typeof ids)[number];
interface Wanted {
  which: number;
  revision: number;
  history: number[];
  sources: string[] | undefined;
  syncEveryMs: number;
}

function definitionOf(id: Id, { which, ...wanted }: Wanted): Definition {
  const own = { ...base, ...wanted, id };
  const { sources, ...rest } = own;
  const made = sources ? { ...rest, sources } : rest;
  if (!id.startsWith('aud')) return ofTrait({ ...made, ...TRAITS[which % TRAITS.length]! });
  const fail = (_: string, reason: string) => {
    // A missing trait is not a mistake of the condition.
    if (reason !== 'missing') failures.push(reason);
  };
  return ofAudience({ ...made, condition: CONDITIONS[which % CONDITIONS.length]! }, fail);
}
const failures: string[] = [];

const index = (max: number) => fc.nat({ max: max - 1 });
const user = index(USERS.length);
const partition = index(PARTITIONS);
const death = fc.oneof(
  { weight: 4, arbitrary: fc.constant(undefined) },
  { weight: 1, arbitrary: fc.constantFrom(...DEATHS) },
);
const action = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant('track' as const),
      user,
      source: partition,
      event: fc.constantFrom('Buy', 'See', 'Other'),
      total: fc.integer({ min: -3, max: 6 }),
      ago: fc.integer({ min: 0, max: 15 * MINUTE }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('identify' as const),
      user,
      source: partition,
      plan: fc.constantFrom('pro', 'free', null),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('alias' as const), user, to: user, source: partition }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('delete' as const),
      user,
      only: fc.option(partition, { nil: undefined }),
      /** of each partition, copied before the deletion reaches the log */
      copied: fc.nat({ max: 60 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('repeat' as const), source: partition }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('repartition' as const),
      partition,
      n: index(8),
      crash: fc.boolean(),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('apply' as const),
      partition,
      n: fc.integer({ min: 1, max: 6 }),
      death,
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('fill' as const),
      partition,
      n: fc.integer({ min: 1, max: 4 }),
      death,
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('scan' as const),
      partition,
      n: fc.integer({ min: 1, max: 2 }),
      death,
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('sync' as const),
      partition,
      every: fc.constantFrom(1, 2),
      death,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('time' as const),
      ms: fc.integer({ min: 1, max: 8 * MINUTE }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('restart' as const),
      partition,
      store: fc.constantFrom('kept' as const, 'lost' as const),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('define' as const),
      id: fc.constantFrom(...ids),
      which: index(28),
      only: fc.option(partition, { nil: undefined, freq: 3 }),
      every: fc.constantFrom(1, 2),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('undefine' as const), id: fc.constantFrom(...ids) }),
  },
);
type Action = typeof action extends fc.Arbitrary<infer T> ? T : never;

/**
 * A sequence of actions. Events under an id that a user left are counted for later definitions by
 * moving them again. If the new id was itself left or deleted in between, they have no place to go.
 * Only this case is left out here (`chains` includes it, with definitions that exist from the
 * beginning).
 */
class Story {
  readonly world = new World();
  readonly #targets = new Set<number>();
  readonly #left = new Set<number>();
  readonly #aliased = new Set<number>();
  readonly #wanted = new Map<Id, Wanted>();
  #sent = 0;
  #revisions = 0;

  constructor(private readonly chains: boolean) {}

  perform(act: Action): void {
    const { world } = this;
    if ((act.do === 'alias' || act.do === 'delete') && !this.chains) {
      if (this.#targets.has(act.user) || (act.do === 'alias' && this.#left.has(act.to))) return;
      this.#left.add(act.user);
      if (act.do === 'alias') this.#targets.add(act.to);
    }
    // No two calls at the same time: their order would be undefined.
    world.nowMs += 2;
    const at = (ago: number) => new Date(world.nowMs - ago * 2 - (this.#sent++ % 2)).toISOString();
    switch (act.do) {
      case 'track': {
        const properties = { total: act.total };
        const ago = Math.floor(act.ago / 200_000) * 100_000 + this.#sent;
        return world.send(
          {
            type: 'track',
            userId: USERS[act.user]!,
            event: act.event,
            properties,
            timestamp: at(ago),
          },
          act.source,
        );
      }
      case 'identify':
        return world.send(
          { type: 'identify', userId: USERS[act.user]!, traits: { plan: act.plan } },
          act.source,
        );
      case 'alias':
        this.#aliased.add(act.user);
        return world.send(
          { type: 'alias', userId: USERS[act.to]!, previousId: USERS[act.user]! },
          act.source,
        );
      case 'delete':
        // What an alias took along is not deleted under the old id. A process that starts knows the
        // deletion before it reads the alias, and does not count it under the new id either.
        if (this.#aliased.has(act.user)) return;
        for (let p = 0; p < PARTITIONS; p++) world.repartition(p, act.copied, false);
        return world.delete(
          USERS[act.user]!,
          act.only === undefined ? null : [`src${String(act.only)}`],
        );
      case 'repeat':
        return world.repeat(act.source);
      case 'repartition':
        return world.repartition(act.partition, act.n, act.crash);
      case 'apply':
        return void world.apply(act.partition, act.n, act.death);
      case 'fill':
        return void world.fill(act.partition, act.n, act.death);
      case 'scan':
        return void world.scan(act.partition, act.n, act.death);
      case 'sync':
        return void world.sync(act.partition, act.every * MINUTE, act.death);
      case 'time':
        world.nowMs += act.ms;
        return;
      case 'restart':
        return world.restart(act.partition, act.store);
      case 'define': {
        const sources = act.only === undefined ? undefined : [`src${act.only}`];
        const { which } = act;
        this.#wanted.set(act.id, {
          which,
          revision: ++this.#revisions,
          history: world.history,
          sources,
          syncEveryMs: act.every * MINUTE,
        });
        return this.#define();
      }
      case 'undefine':
        // A new definition gets another id: ids are never used again.
        if (!this.#wanted.delete(act.id)) return;
        this.#define();
        world.settle();
        for (const key of world.known.keys()) {
          if (key.startsWith(`${act.id} `)) world.known.delete(key);
        }
        return;
    }
  }

  #define(): void {
    this.world.define([...this.#wanted].map(([id, wanted]) => definitionOf(id, wanted)));
  }

  /** Returns the true value of each user and definition, if it is sent to receivers. */
  expected(): Record<string, unknown> {
    const all: Record<string, unknown> = {};
    for (const [name, facts] of naiveUsers(this.world.log, this.world.deletions)) {
      for (const definition of this.world.definitions.all) {
        const wanted = this.#wanted.get(definition.id as Id)!;
        const own = (part: { source: string }) => wanted.sources?.includes(part.source) ?? true;
        const isErased = ({ erasedFor = [] }: { erasedFor?: string[] }) =>
          erasedFor.some((source) => own({ source }));
        const tracks = facts.tracks.filter((each) => own(each) && !isErased(each));
        const mine = { tracks, identifies: facts.identifies.filter(own) };
        const n = (i: number) =>
          naiveCount(definition.counters[i]!, mine, this.world.nowMs) as number;
        const isMember = [
          () => n(0) >= 2,
          () => n(0) === 0,
          () => n(0) > 5,
          () => naiveTraits(mine).plan === 'pro' && n(0) < 3,
        ][wanted.which % CONDITIONS.length]!;
        all[`${definition.id} ${name}`] = definition.kind === 'audience' ? isMember() : n(0);
      }
    }
    return all;
  }

  actual(expected: Record<string, unknown>): Record<string, unknown> {
    const nothing = (key: string) => this.world.definitions.of(key.split(' ')[0]!)!.nothing;
    return Object.fromEntries(
      Object.keys(expected).map((key) => [key, this.world.known.get(key)?.value ?? nothing(key)]),
    );
  }
}

const defining = (act: Action) => act.do === 'define' || act.do === 'undefine';

describe('a receiver that applies all messages has the true values after any crashes', () => {
  test.each([
    ['definitions are created, changed and deleted', false],
    ['moved users move again, and deleted users return', true],
  ])('when %s', (_, chains) => {
    fc.assert(
      fc.property(fc.array(action, { minLength: 10, maxLength: 120 }), (actions) => {
        const story = new Story(chains);
        const first = chains ? actions.filter(defining) : [];
        for (const act of [...first, ...actions.filter((each) => !(chains && defining(each)))]) {
          story.perform(act);
        }
        story.world.settle();
        const expected = story.expected();
        expect(story.actual(expected)).toEqual(expected);
        const { sentValues } = story.world;
        for (let p = 0; p < PARTITIONS; p++) {
          for (const every of [1, 2]) story.world.sync(p, every * MINUTE, undefined);
        }
        expect(story.world.sentValues).toBe(sentValues);
        // A window expires without a new event.
        story.world.nowMs += 25 * MINUTE;
        story.world.settle();
        const later = story.expected();
        expect(story.actual(later)).toEqual(later);
      }),
      { numRuns: Number(process.env.RUNS ?? 250) },
    );
    expect(failures).toEqual([]);
  });
});
