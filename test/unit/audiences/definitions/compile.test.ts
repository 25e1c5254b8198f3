import { ofAudience } from '../../../../services/audiences/definitions/compile';
import { mergeTraits, type Profile } from '../../../../services/audiences/profiles/profile';
import { defined } from '../../../../shared/collections/defined';
import { type Audience } from '../../../../shared/model/audience-definition';

const AT = 1_700_000_000_000;
const THEIRS: [string, number] = ['theirs', 1];

function condition(text: string, sources?: string[], browser?: ReadonlySet<string>) {
  const audience: Audience = {
    id: 'aud_1',
    name: 'A',
    key: 'a',
    source: 'src_of',
    revision: 1,
    history: [],
    syncEveryMs: 60_000,
    createdAt: '',
    updatedAt: '',
    condition: text,
    ...defined({ sources }),
  };
  const failures: string[] = [];
  const definition = ofAudience(audience, (_, reason) => failures.push(reason), browser);
  return (profile: Profile) => [definition.value(profile, AT, 0), ...failures];
}

describe('a condition', () => {
  const profile: Profile = {
    traits: { src_web: { plan: ['pro', 1], constructor: THEIRS }, src_app: { plan: ['free', 2] } },
  };

  test.each([
    ['of all sources sees the latest trait', undefined, 'free'],
    ['sees only its own source', ['src_web'], 'pro'],
    ['sees only its own sources', ['src_web', 'src_app'], 'free'],
    ['sees only its own sources, in the reverse order', ['src_app', 'src_web'], 'free'],
  ])('%s, for the same user as other conditions', (_, sources, plan) => {
    expect(condition(`user.traits.plan == "${plan}"`, sources)(profile)).toEqual([true]);
  });

  test.each([
    ['sees only server sources if it names none', undefined, 'free'],
    ['sees a browser source that it names', ['src_web'], 'pro'],
    ['prefers the trait of a server source, even if it is older', ['src_web', 'src_old'], 'basic'],
  ])('%s', (_, sources, plan) => {
    const both = {
      traits: { ...profile.traits, src_old: { plan: ['basic', 0] as [string, number] } },
    };
    const browser = new Set(['src_web']);
    expect(condition(`user.traits.plan == "${plan}"`, sources, browser)(both)).toEqual([true]);
  });

  test('sees a trait named like a property of every object', () => {
    expect(condition('user.traits.constructor == "theirs"')(profile)).toEqual([true]);
    expect(condition('has(user.traits.toString)')(profile)).toEqual([false]);
    const moved = mergeTraits(
      { traits: { src_web: {} } },
      { traits: { src_web: { constructor: THEIRS } } },
    );
    expect(moved.traits?.src_web).toEqual({ constructor: THEIRS });
  });

  test('treats the traits of a user without any as missing', () => {
    expect(condition('has(user.traits.plan)')({})).toEqual([false]);
    expect(condition('user.traits.plan == "pro"')({})).toEqual([false, 'missing']);
  });

  test('sees traits that change after it was compiled', () => {
    const pro = condition('user.traits.plan == "pro"');
    expect(pro(profile)).toEqual([false]);
    expect(pro({ ...profile, traits: { src_app: { plan: ['pro', 3] } } })).toEqual([true]);
  });
});
