import { deletionRecords, readDeletion } from '../../../../services/control/deletions/model';
import { type ConfigView } from '../../../../shared/config/types';

test('a deletion for too many users times sources says how many sources a request may name', () => {
  const sources = Array.from({ length: 101 }, (_, i) => ({
    data: { id: `src_${String(i)}`, enabled: true },
  }));
  const config = { list: () => sources, destinationsOf: () => [{ data: { enabled: true } }] };
  const userIds = Array.from({ length: 500 }, (_, i) => `user-${String(i)}`);
  const detail = expect.stringContaining(
    'Send several requests that each name at most 100 `sources`',
  ) as string;
  expect(() => readDeletion({ userIds }, config as unknown as ConfigView)).toThrow(
    expect.objectContaining({ also: { errors: [{ pointer: '#/userIds', detail }] } }) as Error,
  );
});

test('a deletion of a user who cannot have a profile removes no profile', () => {
  // In UTF-8 both ids are the same key.
  const users = ['a\ud800', 'a\ufffd'];
  const wanted = { users, anonymous: [], sources: null, affected: [] };
  const keys = (topic: string) =>
    deletionRecords(wanted, 1).flatMap((record) => (record.topic === topic ? record.key : []));
  expect([keys('deletions'), keys('profiles.events')]).toEqual([users, ['a\ufffd']]);
});
