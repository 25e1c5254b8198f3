import fc from 'fast-check';
import {
  type Definition,
  ofAudience,
  ofTrait,
} from '../../../services/audiences/definitions/compile';
import { membersOf } from '../../../services/audiences/queries/members';
import { type ComputedTrait } from '../../../shared/model/audience-definition';
import { type Json } from '../../../shared/model/message';
import { DEATHS, PARTITIONS, USERS, World } from './audience-simulation';
import { naiveCount, naiveListed, naiveTraits, naiveUsers } from './naive-audiences';

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
/** the audience whose members are uploaded; it exists in every story */
const LIST = 'aud_list';
type Id = (typeof ids)[number] | typeof LIST;
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
  if (id === LIST) return ofAudience(made, () => undefined);
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
      death,
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('list' as const), user, listed: fc.boolean() }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('endUpload' as const),
      full: fc.boolean(),
      isAborted: fc.boolean(),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('pace' as const),
      id: fc.constantFrom(...ids, LIST),
      every: fc.constantFrom(1, 2),
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
  /** the id that was left, and the one that got its data */
  readonly #aliases: { from: number; to: number }[] = [];
  /** deleted after they were left */
  readonly #deletedLater = new Set<number>();
  readonly #wanted = new Map<Id, Wanted>();
  #sent = 0;
  #revisions = 0;
  #uploads = 0;
  /** the upload whose lines are being written */
  #upload: { number: number; from: number[] } | undefined;

  constructor(private readonly chains: boolean) {
    const history = this.world.history;
    const wanted = { which: 0, revision: 1, history, sources: undefined, syncEveryMs: MINUTE };
    this.#wanted.set(LIST, wanted);
    this.#define();
  }

  /** Returns whether a move has no place to go: see above. */
  #isChained(act: Action): boolean {
    if ((act.do !== 'alias' && act.do !== 'delete') || this.chains) return false;
    if (this.#targets.has(act.user) || (act.do === 'alias' && this.#left.has(act.to))) return true;
    this.#left.add(act.user);
    if (act.do === 'alias') this.#targets.add(act.to);
    return false;
  }

  perform(act: Action): void {
    const { world } = this;
    if (this.#isChained(act)) return;
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
        this.#aliases.push({ from: act.user, to: act.to });
        return world.send(
          { type: 'alias', userId: USERS[act.to]!, previousId: USERS[act.user]! },
          act.source,
        );
      case 'delete':
        if (this.#aliases.some(({ from }) => from === act.user)) this.#deletedLater.add(act.user);
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
        return void world.sync(act.partition, act.death);
      case 'list': {
        this.#upload ??= { number: ++this.#uploads, from: world.ends };
        return world.list(LIST, this.#upload.number, [USERS[act.user]!, act.listed]);
      }
      case 'endUpload': {
        const upload = this.#upload ?? { number: ++this.#uploads, from: world.ends };
        this.#upload = undefined;
        if (!act.isAborted) world.endUpload(LIST, upload.number, act.full, upload.from);
        return;
      }
      case 'pace':
        return this.#pace(act.id, act.every * MINUTE);
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
        world.received.delete(act.id);
        return;
    }
  }

  #pace(id: Id, syncEveryMs: number): void {
    const wanted = this.#wanted.get(id);
    if (!wanted) return;
    this.#wanted.set(id, { ...wanted, syncEveryMs });
    this.#define();
  }

  #define(): void {
    this.world.define([...this.#wanted].map(([id, wanted]) => definitionOf(id, wanted)));
  }

  /**
   * Returns the users of whom two values may be right. What an alias took along is not deleted
   * under the old id, unless a process that starts knows of the deletion before it reads the alias:
   * then it does not count under the new id either.
   */
  #uncertain(): Set<string> {
    const reached = new Set<number>();
    const reach = (user: number) => {
      for (const { from, to } of this.#aliases) {
        if (from !== user || reached.has(to)) continue;
        reached.add(to);
        reach(to);
      }
    };
    this.#deletedLater.forEach(reach);
    return new Set([...reached].map((user) => USERS[user]!));
  }

  /** Returns the true value of each user and definition, if it is sent to receivers. */
  expected(): Record<string, unknown> {
    const all: Record<string, unknown> = {};
    const uncertain = this.#uncertain();
    for (const [name, facts] of naiveUsers(this.world.log, this.world.deletions)) {
      if (uncertain.has(name)) continue;
      for (const definition of this.world.definitions.all) {
        const wanted = this.#wanted.get(definition.id as Id)!;
        const own = (part: { source: string }) => wanted.sources?.includes(part.source) ?? true;
        const isErased = ({ erasedFor = [] }: { erasedFor?: string[] }) =>
          erasedFor.some((source) => own({ source }));
        const tracks = facts.tracks.filter((each) => own(each) && !isErased(each));
        const mine = { tracks, identifies: facts.identifies.filter(own) };
        const n = (i: number) =>
          naiveCount(definition.counters[i]!, mine, this.world.nowMs) as number;
        if (definition.id === LIST) {
          all[`${LIST} ${name}`] = naiveListed(facts, this.world.log, LIST);
          continue;
        }
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

  /** Returns the same of the lists of members. */
  listed(expected: Record<string, unknown>): Record<string, unknown> {
    const valueOf = (key: string): Json => {
      const [id = '', user = ''] = key.split(' ');
      return this.#memberValue(id, user) ?? this.world.definitions.of(id)!.nothing;
    };
    return Object.fromEntries(Object.keys(expected).map((key) => [key, valueOf(key)]));
  }

  /** Returns the members without any data: those who left or were deleted. */
  get emptyMembers(): string[] {
    const uncertain = this.#uncertain();
    const users = naiveUsers(this.world.log, this.world.deletions);
    return USERS.filter((user) => !users.has(user) && !uncertain.has(user)).filter((user) =>
      this.world.definitions.all.some(({ id }) => this.#memberValue(id, user) !== undefined),
    );
  }

  #memberValue(definition: string, user: string): Json | undefined {
    const found = this.world.processors.flatMap(({ store }) => {
      const reader = { get: (name: string) => store.get(name), members: () => [] };
      return membersOf(reader, { definition, limit: 1, user }, undefined).members;
    });
    return found[0]?.value;
  }
}

const defining = (act: Action) => act.do === 'define' || act.do === 'undefine';

const USER = 0;
const PARTITION = 0;

test.each(DEATHS)(
  'a receiver has forgotten a deleted user if the process of the profiles dies: %s',
  (dies) => {
    const story = new Story(true);
    const firstOfSee = TRAITS.findIndex(({ compute }) => compute === 'first');
    story.perform({ do: 'define', id: 'trt_a', which: firstOfSee, only: undefined, every: 1 });
    const track = { do: 'track' as const, user: USER, source: PARTITION, ago: 0, total: 0 };
    story.perform({ ...track, event: 'See' });
    story.world.settle();
    const key = `trt_a ${USERS[USER]}`;
    expect(story.world.known.get(key)?.value).toBe(0);
    story.perform({ do: 'delete', user: USER, only: undefined, copied: 0 });
    story.perform({ do: 'repartition', partition: PARTITION, n: 8, crash: false });
    story.perform({ do: 'apply', partition: PARTITION, n: 1, death: dies });
    // The user returns, and a first value is not sent if it is the one that everybody begins with.
    story.perform({ ...track, event: 'Other' });
    story.world.settle();
    expect(story.actual(story.expected())).toMatchObject({ [key]: null });
  },
);

test('an alias takes no counters of a definition whose second reading has not come to it', () => {
  const [ann, bob, dan] = [0, 1, 3];
  const story = new Story(true);
  const { world } = story;
  const buy = { do: 'track' as const, source: 0, event: 'Buy' as const, total: 0, ago: 0 };
  story.perform({ ...buy, user: bob });
  story.perform({ ...buy, user: dan });
  story.perform({ do: 'alias', user: dan, to: ann, source: 0 });
  world.repartition(0, 3, false);
  world.apply(1, 3, undefined);
  story.perform({ do: 'define', id: 'aud_a', which: 0, only: undefined, every: 1 });
  // The second reading counts the call of the user whom the live reading has moved already.
  world.fill(1, 2, undefined);
  story.perform({ do: 'alias', user: dan, to: bob, source: 0 });
  world.settle();
  expect(story.actual(story.expected())).toEqual(story.expected());
  const calls = (user: string) =>
    world.processors.map(
      ({ store }) => store.get(user)?.counters?.['aud_a.1.0']?.buckets[0]?.[1] ?? 0,
    );
  expect(USERS.map((user) => Math.max(...(calls(user) as number[])))).toEqual([1, 1, 0, 0]);
});

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
        expect(story.listed(expected)).toEqual(expected);
        expect(story.emptyMembers).toEqual([]);
        const { sentValues } = story.world;
        for (let p = 0; p < PARTITIONS; p++) {
          story.world.sync(p, undefined);
        }
        expect(story.world.sentValues).toBe(sentValues);
        // A window expires without a new event.
        story.world.nowMs += 25 * MINUTE;
        story.world.settle();
        const later = story.expected();
        expect(story.actual(later)).toEqual(later);
        expect(story.listed(later)).toEqual(later);
        expect(story.world.counts).toEqual(story.world.received);
      }),
      { numRuns: Number(process.env.RUNS ?? 250) },
    );
    expect(failures).toEqual([]);
  });
});
