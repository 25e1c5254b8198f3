import { Definitions, ofAudience, ofTrait } from '../../../services/audiences/definitions/compile';
import { type ProfileEvent } from '../../../services/audiences/repartition/event';
import { type JsonObject } from '../../../shared/model/message';
import { A_DEFINITION } from '../../support/profiles';
import { engineUnderTest, NOW } from './engine-under-test';

/** What the profiles of one partition forget, and what they keep. */

const DELETED_AT = 1_000;
const pro = 'user.traits.plan == "pro"';
const all = ofAudience({ ...A_DEFINITION, id: 'aud_all', condition: pro }, () => undefined);
const onlyB = ofAudience(
  { ...A_DEFINITION, id: 'aud_b', condition: pro, sources: ['b'] },
  () => undefined,
);
const buys = ofTrait({ ...A_DEFINITION, id: 'trt_all', compute: 'count', event: 'Buy' });
const buysOfB = ofTrait({
  ...A_DEFINITION,
  id: 'trt_b',
  compute: 'count',
  event: 'Buy',
  sources: ['b'],
});

function profilesUnderTest() {
  const { engine, store, records } = engineUnderTest(new Definitions([all, onlyB, buys, buysOfB]));
  const read = (user: string, event: ProfileEvent, acceptedAt?: number) => {
    const [record] = records(user, [event]);
    engine.commit(
      engine.apply([acceptedAt === undefined ? record! : { ...record!, acceptedAt }], NOW),
    );
  };
  const sync = () => {
    const ids = engine.emitting.map(({ id }) => id);
    const step = engine.sync({ ids, end: Infinity }, NOW, 100);
    if (step) engine.commit(step);
    return (step?.valueChanges ?? []).map(({ definition, value }) => [definition, value]);
  };
  return {
    store,
    sync,
    read,
    identify: (source: string, traits: JsonObject, acceptedAt: number) =>
      read('kim', { kind: 'identify', source, traits, atMs: acceptedAt }, acceptedAt),
    buy: (source: string, acceptedAt: number, user = 'kim') =>
      read(user, { kind: 'track', source, event: 'Buy', properties: {}, atMs: NOW }, acceptedAt),
    forget: (sources: string[] | null, user = 'kim') =>
      read(user, { kind: 'delete', at: DELETED_AT, sources }),
  };
}

test('a deleted user has no profile, and receivers of audiences and traits hear nothing', () => {
  const { store, sync, identify, buy, forget } = profilesUnderTest();
  identify('a', { plan: 'pro', email: 'kim@example.com' }, 1);
  buy('b', 2);
  expect(sync()).toEqual([
    ['aud_all', true],
    ['trt_all', 1],
    ['trt_b', 1],
  ]);
  forget(null);
  expect(store.get('kim')).toBeUndefined();
  expect(sync()).toEqual([]);
});

test('an older call that reaches the profiles after the deletion does not count', () => {
  const { store, identify, buy, forget } = profilesUnderTest();
  forget(null);
  identify('a', { email: 'kim@example.com' }, DELETED_AT - 1);
  buy('a', DELETED_AT - 1);
  expect(store.get('kim')).toBeUndefined();
  buy('a', DELETED_AT);
  expect(store.get('kim')?.traits).toBeUndefined();
  expect(Object.keys(store.get('kim')?.counters ?? {})).toHaveLength(1);
});

test('an alias that is older than the deletion of its new id brings nothing', () => {
  const { store, read, forget } = profilesUnderTest();
  forget(null);
  const profile = { traits: { a: { email: ['kim@example.com', 1] as [string, number] } } };
  read('kim', { kind: 'merge', profile }, DELETED_AT - 1);
  expect(store.get('kim')).toBeUndefined();
});

test('a deletion for a source removes traits that it set last, and no older value returns', () => {
  const { store, sync, identify, forget } = profilesUnderTest();
  identify('b', { plan: 'pro', city: 'Rome' }, 1);
  identify('a', { plan: 'pro', email: 'kim@example.com' }, 2);
  expect(sync()).toEqual([
    ['aud_all', true],
    ['aud_b', true],
  ]);
  forget(['a']);
  expect(JSON.stringify(store.get('kim'))).not.toContain('kim@example.com');
  // A definition that counts only the other source keeps its value.
  expect(sync()).toEqual([['aud_all', false]]);
  expect(sync()).toEqual([]);
  expect(store.get('kim')?.traits?.b).toEqual({ plan: ['pro', 1], city: ['Rome', 1] });
});

test('an older call of the source, read later, has no value and hides the earlier ones', () => {
  const { store, sync, identify, buy, forget } = profilesUnderTest();
  identify('b', { plan: 'pro' }, 1);
  buy('b', 1);
  sync();
  forget(['a']);
  identify('a', { plan: 'pro', email: 'kim@example.com' }, 2);
  buy('a', 2);
  expect(JSON.stringify(store.get('kim'))).not.toContain('kim@example.com');
  expect(sync()).toEqual([
    ['aud_all', false],
    ['trt_all', 0],
  ]);
});

test('counters that may have counted the source start anew, and the others go on', () => {
  const { sync, buy, forget } = profilesUnderTest();
  buy('a', 1);
  buy('b', 2);
  sync();
  forget(['a']);
  expect(sync()).toEqual([['trt_all', 0]]);
  buy('b', DELETED_AT);
  expect(sync()).toEqual([
    ['trt_all', 1],
    ['trt_b', 2],
  ]);
});

test('a profile that an older alias brings lacks what was deleted for the source', () => {
  const { store, sync, read, forget } = profilesUnderTest();
  forget(['a']);
  const traits = { a: { email: ['kim@example.com', 2] as [string, number] }, b: {} };
  read('kim', { kind: 'merge', profile: { traits } }, DELETED_AT - 1);
  expect(store.get('kim')?.traits?.a).toEqual({ email: [null, 2] });
  expect(sync()).toEqual([]);
});
