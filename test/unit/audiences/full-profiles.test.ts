import { Definitions, ofTrait } from '../../../services/audiences/definitions/compile';
import { type Step } from '../../../services/audiences/profiles/change-set';
import {
  decodeEvent,
  encodeEvent,
  type ProfileEvent,
} from '../../../services/audiences/repartition/event';
import { changelogRecords, moveRecords } from '../../../services/audiences/profiles/write-step';
import { type Profile } from '../../../services/audiences/profiles/profile';
import { encodeProfile } from '../../../services/audiences/profiles/profile-codec';
import { defined } from '../../../shared/collections/defined';
import { type InRecord } from '../../../shared/kafka/port';
import { engineUnderTest, identify, NOW } from './engine-under-test';

const KB = 1024;

/**
 * A definition that stores up to 100 values of a user. @param of the only source that counts;
 * absent: all
 */
const values = (id: string, of?: string) =>
  ofTrait({
    id,
    name: id,
    key: id,
    source: 'src_of',
    revision: 1,
    history: [],
    syncEveryMs: 1_000,
    compute: 'unique',
    event: 'Seen',
    property: 'value',
    createdAt: '',
    updatedAt: '',
    ...defined({ sources: of !== undefined ? [of] : undefined }),
  });

const seen = (value: string, source = 's'): ProfileEvent => ({
  kind: 'track',
  source,
  event: 'Seen',
  properties: { value },
  atMs: NOW,
});
const sizes = (step: Step) => changelogRecords(step, 0).map(({ value }) => value?.length ?? 0);

describe('a profile', () => {
  test('does not store a trait whose name is longer than 256 bytes', () => {
    const { apply, store } = engineUnderTest();
    const calls = Array.from({ length: 45 }, (_, i) =>
      identify({ [`${i}${'n'.repeat(30_000)}`]: 'v', plan: 'pro' }),
    );
    const step = apply('ann', ...calls);
    expect(Math.max(...sizes(step))).toBeLessThan(KB);
    expect(store.get('ann')?.traits).toEqual({ s: { plan: ['pro', NOW] } });
  });

  test('stores traits up to 256 KB, refuses further ones, and is then marked as full', () => {
    const { apply, store } = engineUnderTest();
    // 1,022 characters of three bytes each.
    const traits = (from: number) =>
      Object.fromEntries(
        Array.from({ length: 50 }, (_, i) => [`t${from + i}`, '重'.repeat(1_022)]),
      );
    const step = apply('ann', identify(traits(0)), identify(traits(50)), identify(traits(100)));
    expect(Math.max(...sizes(step))).toBeLessThan(257 * KB);
    const { traits: stored, full } = store.get('ann')!;
    expect(full).toBe(1);
    expect(step.refused).toBe(2);
    expect(Object.keys(stored!.s!).length).toBeGreaterThan(80);
    const later = apply('ann', identify({ t0: 'short', small: 'x' }));
    expect(store.get('ann')?.traits?.s?.t0).toEqual(['short', NOW]);
    expect([store.get('ann')?.traits?.s?.small, later.refused]).toEqual([['x', NOW], 0]);
  });

  test('stores counters up to 256 KB', () => {
    const { apply, store } = engineUnderTest(
      new Definitions(['a', 'b', 'c', 'd', 'e', 'f'].map((id) => values(id))),
    );
    const step = apply(
      'ann',
      ...Array.from({ length: 100 }, (_, i) => seen(`${i}${'重'.repeat(250)}`)),
    );
    expect(encodeProfile(store.get('ann')!).length).toBeLessThan(257 * KB);
    expect([store.get('ann')?.full, step.refused > 0]).toEqual([1, true]);
  });

  test('stays within 256 KB when an alias merges two', () => {
    const { apply, store } = engineUnderTest();
    const traits = (prefix: string) =>
      Object.fromEntries(
        Array.from({ length: 60 }, (_, i) => [`${prefix}${i}`, '重'.repeat(1_022)]),
      );
    apply('ann', identify(traits('a')));
    const moved = apply('old', identify(traits('b'))).moves;
    expect(moved).toEqual([]);
    const alias = apply('old', { kind: 'alias', to: 'ann' });
    expect(Math.max(...moveRecords(alias).map(({ value }) => value!.length))).toBeLessThan(
      257 * KB,
    );
    const merge = apply('ann', alias.moves[0]!.event);
    expect(Math.max(...sizes(merge))).toBeLessThan(257 * KB);
    expect(
      Object.keys(store.get('ann')!.traits!.s!).filter((name) => name.startsWith('a')),
    ).toHaveLength(60);
    expect(store.get('ann')?.full).toBe(1);
  });

  test('stores 50 traits of browser sources, and more of server sources', () => {
    const { apply, store } = engineUnderTest(new Definitions([], new Set(['b1', 'b2'])));
    const many = (source: string): ProfileEvent => ({
      kind: 'identify',
      source,
      atMs: NOW,
      traits: Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`t${i}`, 'x'])),
    });
    apply('ann', many('b1'), many('b2'), many('s'));
    const { traits: stored } = store.get('ann')!;
    expect(
      Object.entries(stored!).map(([source, traits]) => [source, Object.keys(traits).length]),
    ).toEqual([
      ['b1', 50],
      ['s', 60],
    ]);
  });

  test('accepts changes up to half its size from browser sources, and all from servers', () => {
    const kinds = ['a', 'b', 'c', 'd', 'e', 'f'].map((id) => values(id, 'b1'));
    const { apply, store } = engineUnderTest(
      new Definitions([...kinds, values('g', 's')], new Set(['b1'])),
    );
    const bytes = () => encodeProfile(store.get('ann')!).length;
    apply('ann', ...Array.from({ length: 100 }, (_, i) => seen(`${i}${'重'.repeat(250)}`, 'b1')));
    expect(bytes()).toBeGreaterThan(100 * KB);
    expect(bytes()).toBeLessThan(129 * KB);
    // Server sources have room left, and the browser source cannot use it.
    const step = apply(
      'ann',
      identify({ plan: 'pro' }),
      ...Array.from({ length: 50 }, (_, i) => seen(`server ${i}`)),
    );
    expect([store.get('ann')?.traits?.s?.plan?.[0], step.refused]).toEqual(['pro', 0]);
    const before = bytes();
    expect(apply('ann', seen('one more', 'b1')).refused).toBe(1);
    expect(bytes()).toBeLessThanOrEqual(before);
  });

  test('changes its memberships although it is full', () => {
    const definitions = new Definitions([values('a')]);
    const { apply, engine, store } = engineUnderTest(definitions);
    apply(
      'ann',
      seen('first'),
      identify(
        Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`t${i}`, '重'.repeat(1_022)])),
      ),
    );
    expect(store.get('ann')?.full).toBe(1);
    const all = { ids: ['a'], end: engine.lastTouch };
    expect(engine.sync(all, NOW, 10)?.valueChanges.map(({ value }) => value)).toEqual([['first']]);
  });

  test('that is larger than the limit stays, and does not grow', () => {
    const { apply, store } = engineUnderTest();
    const old: Profile = {
      traits: { s: { ['n'.repeat(400_000)]: ['v', NOW], plan: ['professional', NOW - 1] } },
    };
    store.put('ann', old);
    apply('ann', identify({ more: 'x'.repeat(1_000) }), identify({ plan: 'pro' }));
    expect(Object.keys(store.get('ann')!.traits!.s!)).toHaveLength(2);
    expect(store.get('ann')).toMatchObject({ full: 1, traits: { s: { plan: ['pro', NOW] } } });
  });
});

test('an event of a browser source counts only if the definition names that source', () => {
  const trait = (id: string, sources?: string[]) =>
    ofTrait(
      {
        id,
        name: id,
        key: id,
        source: 'src_of',
        revision: 1,
        history: [],
        syncEveryMs: 1_000,
        ...defined({ sources }),
        compute: 'count',
        event: 'Seen',
        createdAt: '',
        updatedAt: '',
      },
      new Set(['web']),
    );
  const { apply, store } = engineUnderTest(
    new Definitions([trait('all'), trait('named', ['web'])], new Set(['web'])),
  );
  apply('ann', seen('x'), { ...seen('y'), source: 'web' } as ProfileEvent);
  const counters = Object.entries(store.get('ann')!.counters!).map(([id, { buckets }]) => [
    id,
    buckets[0]![1],
  ]);
  expect(counters).toEqual([
    ['all.1.0', 1],
    ['named.1.0', 1],
  ]);
});

test('a sum stops at the largest number', () => {
  const trait = {
    ...values('a'),
    counters: values('a').counters.map((spec) => ({ ...spec, compute: 'sum' as const })),
  };
  const { apply, store } = engineUnderTest(new Definitions([trait]));
  const add = (value: number): ProfileEvent =>
    ({ ...seen(''), properties: { value } }) as ProfileEvent;
  apply('ann', add(1e308), add(1e308), add(1e308), add(-1));
  expect(Object.values(store.get('ann')!.counters!)[0]!.buckets).toEqual([[0, Number.MAX_VALUE]]);
});

test('an event that cannot be applied is skipped, and the others count', () => {
  const { apply, store, unusable } = engineUnderTest();
  const bad = { kind: 'identify', source: 's', traits: null, atMs: NOW } as unknown as ProfileEvent;
  apply('ann', identify({ a: '1' }), bad, identify({ b: '2' }));
  expect(Object.keys(store.get('ann')!.traits!.s!)).toEqual(['a', 'b']);
  expect(unusable).toHaveLength(1);
});

test.each([
  ['an id of 20 KB', 'x'.repeat(20_000), { kind: 'delete', at: 1, sources: null }, false],
  ['an empty id', '', { kind: 'delete', at: 1, sources: null }, false],
  ['an alias to an id of 20 KB', 'ann', { kind: 'alias', to: 'x'.repeat(20_000) }, false],
  ['an alias to nothing', 'ann', { kind: 'alias' }, false],
  ['an id of 512 bytes', 'x'.repeat(512), { kind: 'delete', at: 1, sources: null }, true],
])('an event with %s is decoded only if its ids are valid', (_, user, event, taken) => {
  const { value, headers } = encodeEvent(event as ProfileEvent);
  const record = {
    key: Buffer.from(user),
    value: Buffer.from(value),
    headers,
    offset: 0,
  } as unknown as InRecord;
  expect(decodeEvent(record) !== undefined).toBe(taken);
});

test('an event of a newer format is not decoded, and ends the process before it counts', () => {
  const { value, headers } = encodeEvent({ kind: 'delete', at: 1, sources: null });
  const about = {
    topic: 'profiles.events',
    partition: 1,
    offset: 7,
    key: Buffer.from('ann'),
    value: Buffer.from(value),
  };
  const record = { ...about, headers: { ...headers, format: '9' } } as unknown as InRecord;
  expect(() => decodeEvent(record)).toThrow(/profiles\.events .*partition 1, offset 7.*format 9/);
});
