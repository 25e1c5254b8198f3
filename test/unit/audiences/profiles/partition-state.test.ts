import {
  NEW_PARTITION_STATE,
  withNewTerm,
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

test.each([
  ['begins with its takeover', undefined, 1_000, 1_000],
  ['is later than the one before', 1_000, 7_000, 7_000],
  ['is later also after the clock was set back', 7_000, 1_000, 7_001],
])("an owner's term %s", (_, before, nowMs, term) => {
  const meta = { ...NEW_PARTITION_STATE, ...defined({ term: before }) };
  expect(withNewTerm(meta, nowMs).term).toBe(term);
});
