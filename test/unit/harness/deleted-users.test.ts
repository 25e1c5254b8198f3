import { DeletedUserCalls } from '../../../tools/harness/deleted-users';

/** Which requests of a deleted user break what was promised. */

const DELETED_AT = 10_000;

/** Kim is deleted at 10 s, and the answer comes at 11 s. */
function kim(wireMs = 0) {
  const calls = new DeletedUserCalls(wireMs);
  calls.deleted('kim', DELETED_AT, 11_000);
  const came = (acceptedAt: number, atMs: number, url = 'a', user = 'kim') =>
    calls.began({ user, acceptedAt, isDelete: false }, url, atMs);
  const told = (url = 'a') =>
    calls.began({ user: 'kim', acceptedAt: DELETED_AT, isDelete: true }, url, 13_000);
  return { came, told };
}

test('an older call may come until two seconds after the answer', () => {
  const { came } = kim();
  const broken = 'an older call two seconds after the deletion of its user';
  expect([came(9_999, 13_000), came(9_999, 13_001)]).toEqual([undefined, broken]);
  expect(kim(1_000).came(9_999, 14_000)).toBeUndefined();
});

test('and not after the delete, where that came', () => {
  const { came, told } = kim();
  expect(told()).toBeUndefined();
  expect(came(9_999, 12_000)).toBe('an older call after the delete of its user');
  expect(came(9_999, 12_000, 'b')).toBeUndefined();
});

test('newer calls, and those of others, may come at any time', () => {
  const { came, told } = kim();
  told();
  expect([came(DELETED_AT, 20_000), came(9_999, 20_000, 'a', 'lee')]).toEqual([
    undefined,
    undefined,
  ]);
});
