import {
  NEW_PARTITION_STATE,
  withPartitions,
} from '../../../../services/audiences/profiles/partition-state';
import { defined } from '../../../../shared/collections/defined';

describe('the number of partitions of profiles', () => {
  test.each([
    ['is stored the first time', undefined, 4],
    ['may stay the same', 4, 4],
  ])('%s', (_, before, now) => {
    const meta = {
      ...NEW_PARTITION_STATE,
      ...defined({ partitions: before }),
    };
    expect(withPartitions(meta, now)).toEqual({ ...NEW_PARTITION_STATE, partitions: 4 });
  });

  test.each([
    ['has grown since the profiles were created', 4, 8],
    ['has shrunk because the topic was created again', 8, 4],
  ])('%s, and the process does not start', (_, before, now) => {
    const meta = { ...NEW_PARTITION_STATE, partitions: before };
    const refusal = {
      code: 'cannot_start',
      message: expect.stringContaining(`has ${now} partitions`) as string,
    };
    expect(() => withPartitions(meta, now)).toThrow(expect.objectContaining(refusal));
  });
});
