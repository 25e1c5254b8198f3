import {
  audienceBody,
  audienceDraftOf,
  audiencePatch,
  audienceProblems,
  conditionOf,
  countsAnew,
  emptyAudience,
  emptyTrait,
  namingOf,
  traitBody,
  traitDraftOf,
  traitPatch,
  traitProblems,
} from '../../../console/src/audience/draft';
import { membersOf } from '../../../console/src/audience/members-file';
import { rowsOf } from '../../../console/src/audience/rows-from-cel';
import { aRule } from '../../../console/src/audience/rows';
import { suggestionsOf } from '../../../console/src/audience/suggestions';
import {
  basisInWords,
  progressOf,
  sizeInWords,
  statusInWords,
  valueHint,
} from '../../../console/src/audience/labels';
import { AUDIENCE_LABELS, differences } from '../../../console/src/destination/conflict';
import { type Audience, type ComputedTrait, type Preview } from '../../../shared/api/operations';

const STATUS: Audience['status'] = {
  phase: 'live',
  members: 2,
  counted: 3,
  of: 3,
  full: 0,
  sent: 2,
  waiting: 0,
  upload: 0,
  lastSync: null,
};
const COMMON = {
  id: 'aud_1',
  name: 'Pro users',
  key: 'pro_users',
  source: 'src_9',
  sources: null,
  destinations: ['dst_1'],
  syncEvery: '1m',
  status: STATUS,
  version: 3,
  createdAt: '',
  updatedAt: '',
};
const AUDIENCE: Audience = { ...COMMON, condition: 'user.traits.plan == "pro"' };
const TRAIT: ComputedTrait = {
  ...COMMON,
  id: 'trt_1',
  compute: 'sum',
  event: 'Order Completed',
  property: 'total',
  window: '30d',
};

describe('the name of an audience', () => {
  const others = [{ id: 'aud_1', name: 'Pro users', key: 'pro_users' }];
  test.each([
    ['', undefined, undefined],
    ['VIP Customers', 'vip_customers', undefined],
    ['重要な顧客', '重要な顧客', undefined],
    [' pro  Users! ', 'pro_users', 'which “Pro users” already uses'],
    ['!!!', undefined, 'a letter or a digit'],
  ])('the name %j gives the trait %s', (name, key, problem) => {
    const naming = namingOf(name, others);
    expect(naming.key).toBe(key);
    if (problem === undefined) expect(naming.problem).toBeUndefined();
    else expect(naming.problem).toContain(problem);
  });
});

describe('a draft of an audience', () => {
  const pro = { join: 'all' as const, rows: [aRule({ trait: 'plan', value: 'pro' })] };

  test('has a problem for each missing field', () => {
    const draft = { ...emptyAudience(), sources: [], syncEvery: '2d' };
    expect([...audienceProblems(draft).keys()]).toEqual([
      'name',
      'sources',
      'syncEvery',
      'condition',
    ]);
    expect([...audienceProblems({ ...emptyAudience('list'), name: 'A' })]).toEqual([]);
  });

  test('is sent with its condition, or without one as a list', () => {
    const draft = { ...emptyAudience(), name: ' VIP ', rows: pro };
    const condition = 'has(user.traits.plan) && user.traits.plan == "pro"';
    expect(audienceBody(draft)).toEqual({
      name: 'VIP',
      destinations: [],
      syncEvery: '1m',
      condition,
    });
    expect(audienceBody({ ...draft, by: 'list' })).toEqual({
      name: 'VIP',
      destinations: [],
      syncEvery: '1m',
    });
    expect(conditionOf({ ...draft, as: 'text', text: ' true ' })).toBe('true');
    expect(conditionOf({ ...draft, as: 'text', text: ' ' })).toBeUndefined();
  });

  test('changes nothing until edited, although rows would write the condition differently', () => {
    const draft = audienceDraftOf(AUDIENCE, rowsOf(AUDIENCE.condition ?? ''));
    expect(draft.as).toBe('rows');
    expect(audiencePatch(AUDIENCE, draft)).toEqual({});
    expect(audiencePatch(AUDIENCE, { ...draft, as: 'text' })).toEqual({});
  });

  test('changes only what differs', () => {
    const draft = audienceDraftOf(AUDIENCE, undefined);
    expect(audiencePatch(AUDIENCE, { ...draft, name: 'Pros', destinations: ['dst_2'] })).toEqual({
      name: 'Pros',
      destinations: ['dst_2'],
    });
    const patch = audiencePatch(AUDIENCE, { ...draft, text: 'true', sources: ['src_1'] });
    expect(patch).toEqual({ condition: 'true', sources: ['src_1'] });
    expect([countsAnew(patch), countsAnew({ name: 'Pros' })]).toEqual([true, false]);
    const some = { ...AUDIENCE, sources: ['src_2', 'src_1'] };
    expect(
      audiencePatch(some, { ...audienceDraftOf(some, undefined), sources: ['src_1', 'src_2'] }),
    ).toEqual({});
    expect(audiencePatch(some, { ...audienceDraftOf(some, undefined), sources: null })).toEqual({
      sources: null,
    });
  });

  test('is compared field by field with the version of somebody else', () => {
    const theirs = { ...AUDIENCE, syncEvery: '5m' };
    expect(
      differences(AUDIENCE_LABELS, { before: AUDIENCE, theirs, patch: { sources: ['src_1'] } }),
    ).toMatchObject([
      { field: 'sources', before: 'all', theirs: 'all', mine: 'src_1' },
      { field: 'syncEvery', before: '1m', theirs: '5m', mine: undefined },
    ]);
  });
});

describe('a draft of a computed trait', () => {
  test.each([
    ['count', '', []],
    ['last', '', []],
    ['sum', '', ['property']],
  ] as const)(
    'with the function %s and the property %j lacks the fields %j',
    (compute, property, missing) => {
      const draft = { ...emptyTrait(), name: 'A', event: 'B', compute, property };
      expect([...traitProblems(draft).keys()]).toEqual(missing);
    },
  );

  test('has a problem for each missing field, and is sent without empty fields', () => {
    expect([...traitProblems({ ...emptyTrait(), window: '400d' }).keys()]).toEqual([
      'name',
      'event',
      'window',
    ]);
    const body = { name: 'A', destinations: [], syncEvery: '1m', compute: 'count', event: 'B' };
    expect(traitBody({ ...emptyTrait(), name: 'A', event: 'B', property: 'left over' })).toEqual(
      body,
    );
  });

  test('changes only what differs', () => {
    const draft = traitDraftOf(TRAIT);
    expect(traitPatch(TRAIT, draft)).toEqual({});
    expect(traitPatch(TRAIT, { ...draft, window: '', compute: 'count' })).toEqual({
      compute: 'count',
      property: null,
      window: null,
    });
  });
});

describe('the suggestions of the form', () => {
  const track = (event: string, properties: object) => ({
    accepted: true,
    call: { type: 'track', event, properties },
  });
  const seen = suggestionsOf(
    [
      { name: 'Rare', count: 1 },
      { name: 'Often', count: 4 },
      { name: 'Rare', count: 9 },
    ],
    [
      { accepted: true, call: { type: 'identify', traits: { plan: 'pro', age: 3, tags: ['x'] } } },
      { accepted: true, call: { type: 'identify', traits: { plan: 'free' } } },
      { accepted: false, call: { type: 'identify', traits: { wrong: 1 } } },
      { accepted: true, call: null },
      { accepted: true, call: { type: 'identify', traits: 'none' } },
      track('New', { total: 5, cart: { size: 2 } }),
    ],
  );
  test('contain the events, traits, values and properties of recent calls', () => {
    expect(seen.events).toEqual(['Rare', 'Often', 'New']);
    expect(seen.traits).toEqual(['age', 'plan', 'tags']);
    expect([seen.valuesOf('plan'), seen.valuesOf('tags'), seen.valuesOf('none')]).toEqual([
      ['free', 'pro'],
      [],
      [],
    ]);
    expect([seen.propertiesOf('New'), seen.propertiesOf('Rare')]).toEqual([
      ['cart.size', 'total'],
      [],
    ]);
  });
});

describe('a file of members', () => {
  test('is read in parts, so that its size does not matter', async () => {
    const ids = Array.from({ length: 30_000 }, (_, i) => `user-é-${i}-${'x'.repeat(40)}`);
    const { body, lines } = await membersOf(new Blob([`${ids.join('\r\n')}\n\n`]));
    expect(lines).toBe(ids.length);
    expect(
      (await body.text())
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as string),
    ).toEqual(ids);
  });
});

describe('the console in words', () => {
  const preview = (given: Partial<Preview>): Preview => ({
    id: 'prv_1',
    phase: 'done',
    members: 0,
    looked: 0,
    of: 0,
    exact: true,
    plusMinus: 0,
    failed: 0,
    sample: [],
    detail: null,
    expiresAt: '',
    ...given,
  });

  test.each<[Partial<Preview>, string, string]>([
    [{ members: 1, looked: 5, of: 5 }, '1 user', '5 profiles checked.'],
    [
      {
        members: 12_300,
        looked: 2_000,
        of: 2_000,
        exact: false,
        plusMinus: 400,
        detail: 'Estimated from 2000 of 9000 profiles',
      },
      'about 12,300 users, give or take 400 (estimate)',
      '2,000 profiles checked. Estimated from 2000 of 9000 profiles.',
    ],
    [{ phase: 'counting', of: 100 }, 'Counting …', '0 of 100 profiles checked.'],
    [
      { phase: 'counting', members: 7, looked: 10, of: 100 },
      'So far about 7 users',
      '10 of 100 profiles checked.',
    ],
    [
      { members: 2, looked: 5, failed: 3 },
      '2 users',
      '5 profiles checked. 3 could not be evaluated and do not match.',
    ],
  ])('describes the preview %j', (given, size, basis) => {
    expect([sizeInWords(preview(given)), basisInWords(preview(given))]).toEqual([size, basis]);
  });

  test.each([
    [{ ...STATUS }, undefined, 'Changes are sent to receivers'],
    [{ ...STATUS, phase: 'first_sync' as const, counted: 1, of: 3 }, 33, '1 of 3 profiles'],
    [{ ...STATUS, phase: 'first_sync' as const, counted: 0, of: 0 }, 0, '0 of 0'],
    [{ ...STATUS, phase: 'counting' as const }, undefined, 'Nothing is sent before'],
    [{ ...STATUS, phase: 'none' as const }, undefined, 'Nothing has been counted yet'],
  ])('describes the status %j', (status, percent, words) => {
    expect(progressOf(status)).toBe(percent);
    expect(statusInWords({ status, destinations: ['dst_1'] })).toContain(words);
  });

  test.each(['first_sync', 'live'] as const)(
    'says in the phase %s without a destination that nothing is sent, and where to choose one',
    (phase) => {
      const said = statusInWords({ status: { ...STATUS, phase }, destinations: [] });
      expect(said).toBe('Nothing is sent until you choose a destination under Settings.');
    },
  );

  test.each([
    ['42', 'text', 'is a number'],
    ['true', 'text', 'yes or no'],
    ['pro', 'text', undefined],
    ['42', 'number', undefined],
    [' ', 'text', undefined],
  ] as const)('gives the right hint for the value %j as %s', (value, kind, hint) => {
    if (hint === undefined) expect(valueHint({ value, kind })).toBeUndefined();
    else expect(valueHint({ value, kind })).toContain(hint);
  });
});
