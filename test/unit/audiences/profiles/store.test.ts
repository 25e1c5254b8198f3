import fc from 'fast-check';
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Step, type ValueChange } from '../../../../services/audiences/profiles/change-set';
import {
  type PartitionState,
  NEW_PARTITION_STATE,
} from '../../../../services/audiences/profiles/partition-state';
import { type Profile } from '../../../../services/audiences/profiles/profile';
import { Store } from '../../../../services/audiences/profiles/store';
import { cases } from '../../../support/cases';

/** Compares the store on disk with a model of a few maps, also after it is closed and opened. */

const USERS = ['ann', 'bob', 'dörte', 'ab', 'a', 'a\0b'];
const DEFINITION = 'aud_1';
const META: PartitionState = {
  ...NEW_PARTITION_STATE,
  defs: { [DEFINITION]: { revision: 1, phase: 'live', upload: 0, since: 0, told: 0 } },
};

let dir: string;
beforeEach(() => (dir = mkdtempSync(join(tmpdir(), 'waypost-store-'))));
afterEach(() => rmSync(dir, { recursive: true, force: true }));

/** One user's change in a step. */
interface Change {
  user: string;
  /** null: the profile is deleted */
  traits: Record<string, string> | null;
  /** the user has moved to another id */
  left: boolean;
  due: number | undefined;
  touches: boolean;
  value: boolean | undefined;
}

const change: fc.Arbitrary<Change> = fc.record({
  user: fc.constantFrom(...USERS),
  traits: fc.option(fc.dictionary(fc.string({ maxLength: 5 }), fc.string({ maxLength: 40 })), {
    freq: 6,
  }),
  left: fc.boolean(),
  due: fc.option(fc.integer({ min: 1, max: 50 }), { nil: undefined }),
  touches: fc.boolean(),
  value: fc.option(fc.boolean(), { nil: undefined }),
});
type Deed =
  { kind: 'step'; changes: Change[] } | { kind: 'sync' } | { kind: 'sent' } | { kind: 'reopen' };
const deed: fc.Arbitrary<Deed> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('step'),
      changes: fc.array(change, { maxLength: 4 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom('sync', 'sent', 'reopen') }) },
);

class Model {
  readonly profiles = new Map<string, Profile>();
  readonly due = new Map<string, number>();
  readonly touched = new Set<string>();
  unsent: ValueChange[] = [];
  told = 0;

  /** @returns the same as a step of the engine */
  step(changes: readonly Change[]): Step {
    const valueChanges: ValueChange[] = [];
    const [profiles, due] = [
      new Map<string, Profile | null>(),
      new Map<string, number | undefined>(),
    ];
    for (const { user, traits, left, due: at, value } of new Map(
      changes.map((each) => [each.user, each]),
    ).values()) {
      const profile: Profile = { traits: { src: {} } };
      for (const [name, text] of Object.entries(traits ?? {})) {
        profile.traits!.src![name] = [text, 1];
      }
      if (left) profile.absent = 1;
      if (traits && value !== undefined && !left) {
        valueChanges.push({ sequence: ++this.told, user, definition: DEFINITION, value, atMs: 1 });
        profile.sentValues = { [DEFINITION]: [value, 1, this.told] };
      } else if (traits && this.profiles.get(user)?.sentValues) {
        profile.sentValues = this.profiles.get(user)!.sentValues!;
      }
      profiles.set(user, traits && profile);
      due.set(user, traits ? at : undefined);
    }
    const users = [...new Set(changes.filter(({ touches }) => touches).map(({ user }) => user))];
    for (const [user, profile] of profiles) {
      this.#set(user, profile, due.get(user));
      if (users.includes(user) || !profile) this.touched.delete(user);
      if (users.includes(user) && profile) this.touched.add(user);
    }
    this.unsent.push(...valueChanges);
    const meta = { ...META, told: this.told };
    return {
      profiles,
      due,
      touched: new Set(users),
      moves: [],
      valueChanges,
      refused: 0,
      meta,
    };
  }

  #set(user: string, profile: Profile | null, due: number | undefined): void {
    this.due.delete(user);
    if (!profile) {
      this.profiles.delete(user);
      return;
    }
    this.profiles.set(user, profile);
    if (due !== undefined) this.due.set(user, due);
  }

  get members(): string[] {
    return [...this.profiles].flatMap(([user, { absent, sentValues }]) =>
      !absent && sentValues?.[DEFINITION]?.[0] === true ? user : [],
    );
  }

  /** The results of all queries. */
  get all() {
    const sorted = (users: Iterable<string>) =>
      [...users].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
    const due = [...this.due]
      .filter(([, at]) => at <= 25)
      .sort(([a, m], [b, n]) => m - n || (a < b ? -1 : 1));
    return {
      profiles: USERS.map((user) => this.profiles.get(user)),
      users: sorted(this.profiles.keys()),
      behind: sorted(this.profiles.keys())
        .filter((user) => user > 'ab')
        .slice(0, 2),
      touched: [...this.touched],
      due: new Set(due.map(([user]) => user)),
      unsent: this.unsent.map(({ sequence, user, definition }) => ({ sequence, user, definition })),
      members: sorted(this.members),
      counts: [this.profiles.size, this.members.length],
    };
  }
}

function allOf(store: Store): Model['all'] {
  return {
    profiles: USERS.map((user) => store.get(user)),
    users: store.users(undefined, 10),
    behind: store.users('ab', 2),
    touched: store.touched(0, 10).map(({ user }) => user),
    due: new Set(store.due(25, 10)),
    unsent: store.unsent(0),
    members: store.members(DEFINITION, undefined, 10),
    counts: [store.size, store.memberCount(DEFINITION)],
  };
}

async function act(store: Store, model: Model, what: Deed): Promise<Store> {
  switch (what.kind) {
    case 'step':
      store.write(model.step(what.changes));
      return store;
    case 'sync': {
      const last = store.touched(0, 2).at(-1)?.place ?? 0;
      const synced = { places: { [DEFINITION]: last, aud_ahead: last + 1 }, looked: {} };
      store.write({ ...model.step([]), synced });
      for (const user of [...model.touched].slice(0, 2)) model.touched.delete(user);
      return store;
    }
    case 'sent':
      model.unsent = [];
      store.sent({ ...META, told: model.told, sent: model.told });
      return store;
    case 'reopen':
      await store.close();
      return new Store(join(dir, 'store'));
  }
}

test('every query of the store returns the written data, also after a reopening', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(deed, { maxLength: 12 }), async (deeds) => {
      rmSync(join(dir, 'store'), { recursive: true, force: true });
      let store = new Store(join(dir, 'store'));
      const model = new Model();
      try {
        for (const each of deeds) {
          store = await act(store, model, each);
          expect(allOf(store)).toEqual(model.all);
        }
      } finally {
        await store.close();
      }
    }),
    { numRuns: cases(60) },
  );
});

test('a user who returns after an alias is listed again, although nothing is sent', async () => {
  let store = new Store(join(dir, 'store'));
  const write = (profile: Profile, valueChanges: ValueChange[]) =>
    store.write({
      profiles: new Map([['ann', profile]]),
      due: new Map(),
      touched: new Set(),
      moves: [],
      valueChanges,
      refused: 0,
      meta: META,
    });
  const listed = () => [store.members(DEFINITION, undefined, 9), store.memberCount(DEFINITION)];
  const sentValues: Profile['sentValues'] = { [DEFINITION]: [true, 1, 1] };
  write({ sentValues }, [
    { sequence: 1, user: 'ann', definition: DEFINITION, value: true, atMs: 1 },
  ]);
  expect(listed()).toEqual([['ann'], 1]);
  // The alias takes the profile along, and leaves what receivers know of the old id.
  write({ sentValues, absent: 1 }, []);
  expect(listed()).toEqual([[], 0]);
  write({ sentValues }, []);
  expect(listed()).toEqual([['ann'], 1]);
  await store.close();
  store = new Store(join(dir, 'store'));
  expect(listed()).toEqual([['ann'], 1]);
  await store.close();
});

test('the store counts users whose profiles are full, also after a reopening', async () => {
  let store = new Store(join(dir, 'store'));
  const write = (profiles: Record<string, Profile | null>) => {
    const step = {
      due: new Map(),
      touched: new Set<string>(),
      moves: [],
      valueChanges: [],
      refused: 0,
      meta: META,
    };
    store.write({ ...step, profiles: new Map(Object.entries(profiles)) });
  };
  write({ ann: { full: 1 }, bob: { full: 1 }, dan: {} });
  write({ ann: { full: 1 }, bob: {} });
  expect(store.full).toBe(1);
  await store.close();
  store = new Store(join(dir, 'store'));
  expect(store.full).toBe(1);
  write({ ann: null });
  expect(store.full).toBe(0);
  await store.close();
});

test.each([
  [
    'is from before the machine started',
    (path: string) => writeFileSync(join(path, 'boot'), 'another'),
  ],
  ['is truncated', (path: string) => truncateSync(join(path, 'data.mdb'), 8_192)],
])('a store that %s is not trusted', async (_, harm) => {
  const path = join(dir, 'store');
  const store = new Store(path);
  store.write(
    new Model().step([
      { user: 'ann', traits: {}, left: false, due: 1, touches: true, value: true },
    ]),
  );
  await store.close();
  harm(path);
  const again = new Store(path);
  expect([again.size, again.meta]).toEqual([0, undefined]);
  await again.close();
});
