import {
  decodeDeletion,
  DeletedUsers,
  DELETIONS_KEPT_MS,
  encodeDeletion,
} from '../../../shared/model/deletion';

/** The deletions of users that a process knows, also with records that others wrote. */

const NOW = 1_800_000_000_000;
const call = (userId: string, sourceId = 'src_a') => ({ userId, sourceId, acceptedAt: NOW - 1 });
const deletion = (userId: string, at = NOW, sources: string[] | null = null) => ({
  userId,
  at,
  sources,
});

test.each([
  ['a user', deletion('kim')],
  ['a visitor of some sources', { anonymousId: 'v', at: NOW, sources: ['src_a'] }],
])('a deletion of %s is read as it was written', (_, written) => {
  expect(decodeDeletion(encodeDeletion(written).value)).toEqual(written);
});

test.each([
  ['no JSON', '{'],
  ['null', 'null'],
  ['a text', '"kim"'],
  ['nobody', '{"at":1,"sources":null}'],
  ['a user that is a number', '{"userId":5,"anonymousId":"v","at":1,"sources":null}'],
  ['a user that is null', '{"userId":null,"anonymousId":"v","at":1,"sources":null}'],
  ['no time', '{"userId":"kim","sources":null}'],
  ['a time without end', '{"userId":"kim","at":1e400,"sources":null}'],
  ['no sources', '{"userId":"kim","at":1}'],
])('a record with %s is unreadable', (_, value) => {
  expect(decodeDeletion(value)).toBeUndefined();
});

test('a deletion of a time far ahead makes nobody else count as not deleted', () => {
  const users = new DeletedUsers();
  users.add(deletion('kim'), NOW);
  users.add(deletion('mallory', NOW + 10 * DELETIONS_KEPT_MS), NOW + 1);
  // Audiences learns it from another log first.
  users.add(deletion('mallory', NOW + 20 * DELETIONS_KEPT_MS));
  expect(users.covers(call('kim'))).toBe(true);
  expect(users.deletedSources('kim', NOW - 1)).toBe('all');
});

test('a deletion is forgotten when Kafka no longer has its record', () => {
  const users = new DeletedUsers();
  users.add(deletion('kim'));
  users.add(deletion('kim'), NOW);
  users.add(deletion('lee'), NOW + DELETIONS_KEPT_MS);
  expect(users.covers(call('kim'))).toBe(true);
  users.add(deletion('max'), NOW + DELETIONS_KEPT_MS + 1);
  expect([users.covers(call('kim')), users.covers(call('lee'))]).toEqual([false, true]);
});

test('one that is not read yet, or never will be, holds up no other', () => {
  const users = new DeletedUsers();
  users.add(deletion('kim'));
  users.add(deletion('lee'), NOW);
  users.add(deletion('lee', NOW + 1), NOW + 1);
  // From an older log, after its own record was read and left to the later one.
  users.add(deletion('lee'));
  users.add(deletion('max'), NOW + DELETIONS_KEPT_MS + 2);
  expect([users.covers(call('kim')), users.covers(call('lee'))]).toEqual([true, false]);
});

test('deletions since a time are those that Kafka appended since, or that are not read yet', () => {
  const users = new DeletedUsers();
  users.add(deletion('kim', NOW + 5), NOW - 1);
  users.add(deletion('lee', NOW - 5), NOW);
  users.add(deletion('max', NOW - 5));
  expect(users.usersSince(NOW).map(({ userId }) => userId)).toEqual(['lee', 'max']);
});

test('two deletions of one user in one millisecond count for the sources of both', () => {
  const users = new DeletedUsers();
  users.add(deletion('kim', NOW, ['src_a']));
  users.add(deletion('kim', NOW, ['src_b']));
  expect([users.covers(call('kim', 'src_a')), users.covers(call('kim', 'src_b'))]).toEqual([
    true,
    true,
  ]);
  expect(users.covers(call('kim', 'src_c'))).toBe(false);
});

test('an earlier deletion for some sources still counts beside a later one for others', () => {
  const users = new DeletedUsers();
  users.add(deletion('kim', NOW, ['src_a']), NOW);
  users.add(deletion('kim', NOW + 5, ['src_b']), NOW + 5);
  users.add(deletion('kim', NOW + 3), NOW + 6);
  const later = { userId: 'kim', acceptedAt: NOW + 4 };
  expect(users.covers(call('kim', 'src_c'))).toBe(true);
  expect(users.covers({ ...later, sourceId: 'src_b' })).toBe(true);
  expect(users.covers({ ...later, sourceId: 'src_a' })).toBe(false);
});

test.each<[string, string[] | null, 'all' | string[]]>([
  ['all sources', null, 'all'],
  ['the same sources', ['src_b', 'src_a'], ['src_b', 'src_a']],
  ['more sources', ['src_c', 'src_b', 'src_a'], ['src_c', 'src_b', 'src_a']],
  ['fewer sources', ['src_a'], ['src_a', 'src_b', 'src_a']],
  ['other sources', ['src_c'], ['src_a', 'src_b', 'src_c']],
])('a later deletion for %s replaces what it includes', (_, sources, known) => {
  const users = new DeletedUsers();
  users.add(deletion('kim', NOW, ['src_a', 'src_b']));
  users.add(deletion('kim', NOW + 5, sources));
  expect(users.deletedSources('kim', NOW - 1)).toEqual(known);
});
