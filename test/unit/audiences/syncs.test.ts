import {
  Definitions,
  type Definition,
  ofAudience,
} from '../../../services/audiences/definitions/compile';
import { Syncs } from '../../../services/audiences/profiles/syncs';
import { engineUnderTest, identify, NOW } from './engine-under-test';

/** Which users a sync checks, and what it counts. */

const SECOND = 1_000;
const HOUR = 3_600_000;

function definition(id: string, plan: string, syncEveryMs: number): Definition {
  const base = { id, name: id, key: id, source: 's', revision: 1, history: [], syncEveryMs };
  const condition = `user.traits.plan == "${plan}"`;
  return ofAudience({ ...base, condition, createdAt: '', updatedAt: '' }, () => undefined);
}

function syncsUnderTest(...all: Definition[]) {
  const { engine, apply } = engineUnderTest(new Definitions(all));
  const syncs = new Syncs(2);
  const sent: string[] = [];
  const syncAt = (nowMs: number) => {
    for (let step = syncs.next(engine, nowMs); step; step = syncs.next(engine, nowMs)) {
      sent.push(...step.valueChanges.map(({ definition: id, user }) => `${id} ${user}`));
      engine.commit(step);
    }
    return sent.splice(0);
  };
  const define = (...next: Definition[]) => {
    const step = engine.adopt(new Definitions(next), NOW);
    if (step) engine.commit(step);
  };
  return { engine, apply, syncs, syncAt, define };
}

test('a shorter interval strands nobody who changed since the last sync', () => {
  const { apply, syncAt, define } = syncsUnderTest(definition('aud_a', 'pro', HOUR));
  expect(syncAt(NOW)).toEqual([]);
  apply('ann', identify({ plan: 'pro' }));
  expect(syncAt(NOW + SECOND)).toEqual([]);
  define(definition('aud_a', 'pro', SECOND));
  apply('bob', identify({ plan: 'pro' }));
  expect(syncAt(NOW + 2 * SECOND)).toEqual(['aud_a ann', 'aud_a bob']);
});

test('a sync counts the users and calls of its own definition', () => {
  const all = [definition('aud_a', 'pro', SECOND), definition('aud_b', 'none', SECOND)];
  const { apply, syncs, syncAt } = syncsUnderTest(...all);
  for (const user of ['ann', 'bob', 'cyn']) apply(user, identify({ plan: 'pro' }));
  expect(syncAt(NOW)).toHaveLength(3);
  expect(syncs.results.get('aud_a')).toMatchObject({ looked: 3, told: 3 });
  expect(syncs.results.get('aud_b')).toMatchObject({ looked: 3, told: 0 });
});

test('the first sync counts the calls of the scan that began it', () => {
  const audience = definition('aud_a', 'pro', SECOND);
  const { engine, apply, syncs, syncAt, define } = syncsUnderTest();
  for (const user of ['ann', 'bob', 'cyn']) apply(user, identify({ plan: 'pro' }));
  define(audience);
  for (let step = engine.scan(NOW, 2); step; step = engine.scan(NOW, 2)) {
    syncs.count(step);
    engine.commit(step);
  }
  syncAt(NOW);
  expect(syncs.results.get('aud_a')).toMatchObject({ told: 3 });
  expect(engine.meta.defs.aud_a).toMatchObject({ told: 3 });
  syncAt(NOW + SECOND);
  expect(syncs.results.get('aud_a')).toMatchObject({ told: 0 });
});

test('a slow definition checks the users that a fast one has checked already', () => {
  const all = [definition('aud_a', 'pro', SECOND), definition('aud_b', 'pro', HOUR)];
  const { engine, apply, syncAt } = syncsUnderTest(...all);
  syncAt(NOW);
  apply('ann', identify({ plan: 'pro' }));
  expect(syncAt(NOW + SECOND)).toEqual(['aud_a ann']);
  apply('bob', identify({ plan: 'pro' }));
  expect(syncAt(NOW + HOUR)).toEqual(['aud_b ann', 'aud_a bob', 'aud_b bob']);
  apply('cyn', identify({ plan: 'free' }));
  expect(syncAt(NOW + 2 * HOUR)).toEqual([]);
  // Users whom all definitions have checked are forgotten.
  expect(engine.sync({ ids: ['aud_new'], end: engine.lastTouch }, NOW, 10)).toBeUndefined();
});

test('a sync ends when its definitions send no more values', () => {
  const { engine, apply, syncs, syncAt, define } = syncsUnderTest(
    definition('aud_a', 'pro', SECOND),
  );
  syncAt(NOW);
  for (const user of ['ann', 'bob', 'cyn']) apply(user, identify({ plan: 'pro' }));
  const first = syncs.next(engine, NOW + SECOND)!;
  engine.commit(first);
  expect(first.valueChanges).toHaveLength(2);
  define();
  expect(engine.emitting).toEqual([]);
  expect(syncs.next(engine, NOW + SECOND)).toBeUndefined();
  expect(syncs.next(engine, NOW + 2 * SECOND)).toBeUndefined();
});
