import { DeletedUsers } from '../../../shared/model/deletion';

const call = { userId: 'kim', acceptedAt: 10 };

test('deletions of one moment hold for the sources of each', () => {
  const users = new DeletedUsers();
  for (const source of ['src_1', 'src_2']) users.add({ userId: 'kim', at: 20, sources: [source] });
  const covered = ['src_1', 'src_2', 'src_3'].filter((sourceId) =>
    users.covers({ ...call, sourceId }),
  );
  expect(covered).toEqual(['src_1', 'src_2']);
});

test('a deletion that is read again is known once', () => {
  const users = new DeletedUsers();
  for (let i = 0; i < 2; i++) users.add({ userId: 'kim', at: 20, sources: ['src_1'] });
  expect(users.deletedSources('kim', 10)).toEqual(['src_1']);
});
