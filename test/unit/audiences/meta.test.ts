import { NEW_META, withPartitions } from '../../../services/audiences/meta';

describe('the number of partitions of profiles', () => {
  it.each([
    ['is noted the first time', undefined, 4],
    ['stays', 4, 4],
  ])('%s', (_, before, now) => {
    const meta = { ...NEW_META, ...(before !== undefined && { partitions: before }) };
    expect(withPartitions(meta, now)).toEqual({ ...NEW_META, partitions: 4 });
  });

  it.each([
    ['has grown since the profiles were made', 4, 8],
    ['has shrunk: the topic was made again', 8, 4],
  ])('%s: the process does not go on', (_, before, now) => {
    const meta = { ...NEW_META, partitions: before };
    const refusal = { code: 'cannot_start', message: expect.stringContaining(`has ${now} partitions`) as string };
    expect(() => withPartitions(meta, now)).toThrow(expect.objectContaining(refusal));
  });
});
