import { ofAudience } from '../../../../services/audiences/definitions/compile';
import { mergeTraits, type Profile } from '../../../../services/audiences/profiles/profile';
import { type Audience } from '../../../../shared/model/audience-definition';

const AT = 1_700_000_000_000;
const THEIRS: [string, number] = ['theirs', 1];

function condition(text: string, sources?: string[], browser?: ReadonlySet<string>) {
  const audience: Audience = {
    ...{ id: 'aud_1', name: 'A', key: 'a', source: 'src_of', revision: 1, history: [], syncEveryMs: 60_000 },
    ...{ createdAt: '', updatedAt: '', condition: text, ...(sources && { sources }) },
  };
  const failures: string[] = [];
  const definition = ofAudience(audience, (_, reason) => failures.push(reason), browser);
  return (profile: Profile) => [definition.value(profile, AT, 0), ...failures];
}

describe('a condition', () => {
  const profile: Profile = {
    t: { src_web: { plan: ['pro', 1], constructor: THEIRS }, src_app: { plan: ['free', 2] } },
  };

  it.each([
    ['of all sources sees the latest', undefined, 'free'],
    ['sees only its own source', ['src_web'], 'pro'],
    ['sees only its own sources, in whatever order they are named', ['src_web', 'src_app'], 'free'],
    ['and the other way round', ['src_app', 'src_web'], 'free'],
  ])('%s, of the same user as others', (_, sources, plan) => {
    expect(condition(`user.traits.plan == "${plan}"`, sources)(profile)).toEqual([true]);
  });

  it.each([
    ['counts a server source alone, where none is named', undefined, 'free'],
    ['counts a browser source where it is named', ['src_web'], 'pro'],
    ['prefers what a server source has set, whatever the times', ['src_web', 'src_old'], 'basic'],
  ])('%s', (_, sources, plan) => {
    const both = { t: { ...profile.t, src_old: { plan: ['basic', 0] as [string, number] } } };
    const browser = new Set(['src_web']);
    expect(condition(`user.traits.plan == "${plan}"`, sources, browser)(both)).toEqual([true]);
  });

  it('sees a trait with a name that objects have, too', () => {
    expect(condition('user.traits.constructor == "theirs"')(profile)).toEqual([true]);
    expect(condition('has(user.traits.toString)')(profile)).toEqual([false]);
    const moved = mergeTraits({ t: { src_web: {} } }, { t: { src_web: { constructor: THEIRS } } });
    expect(moved.t?.src_web).toEqual({ constructor: THEIRS });
  });

  it('sees a user without traits', () => {
    expect(condition('has(user.traits.plan)')({})).toEqual([false]);
    expect(condition('user.traits.plan == "pro"')({})).toEqual([false, 'missing']);
  });

  it('sees what has changed since', () => {
    const pro = condition('user.traits.plan == "pro"');
    expect(pro(profile)).toEqual([false]);
    expect(pro({ ...profile, t: { src_app: { plan: ['pro', 3] } } })).toEqual([true]);
  });
});
