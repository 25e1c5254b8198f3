import { encodeRuns } from '../../../../shared/kafka/consumer/last-commit';
import { Partition } from '../../../../shared/kafka/consumer/partition';

/** Returns a partition from offset 0 on, with its first records taken. */
function taken(count: number) {
  const partition = new Partition('webhooks', 3, 0);
  const records = Array.from({ length: count }, (_, offset) => {
    partition.offsets.take(offset);
    return {
      offset,
      done: () => partition.offsets.done(offset),
      release: () => partition.release(offset),
    };
  });
  const commit = () => {
    const due = partition.commit(Infinity);
    if (due) partition.acknowledged(due);
    return due;
  };
  return { partition, records, commit };
}

describe('a partition that is drained', () => {
  test('a partition is drained when no record is open and the done ones are committed', () => {
    const { partition, records, commit } = taken(3);
    partition.drain();
    records[0]!.done();
    commit();
    expect(partition.drained).toBe(false);
    records[2]!.done();
    expect(records[1]!.release()).toBe(true);
    // No record is open and the offset is committed, but the next owner would read the last record
    // again.
    expect(partition.drained).toBe(false);
    expect(commit()).toMatchObject({ offset: 1, metadata: encodeRuns([1, 1]) });
    expect(partition.drained).toBe(true);
  });

  test('a partition takes back no more records than commit metadata has room for', () => {
    const { partition, records, commit } = taken(100_000);
    // The largest entries: single records, far from each other.
    const apart = records.filter(({ offset }) => offset % 130 === 0);
    const kept = apart.filter((record) => !record.release());
    expect(kept.length).toBeGreaterThan(0);
    for (const record of records) record.done();
    const metadata = commit()?.metadata;
    const heir = new Partition('webhooks', 3, partition.committed, metadata);
    const again = records.filter(
      ({ offset }) => offset >= partition.committed && heir.offsets.take(offset),
    );
    expect(again).toEqual(apart.filter((record) => !kept.includes(record)));
  });

  test('a fenced partition takes back any number of records, which the next owner reads', () => {
    const { partition, records } = taken(5_000);
    partition.fence();
    expect(records.filter((record) => !record.release())).toEqual([]);
    expect(partition.offsets.open).toBe(0);
  });
});

describe('a partition after a lost session', () => {
  const at = (metadata: string) => new Partition('webhooks', 3, 0, metadata);

  test('after a lost session a process is the last owner if the stored commit is its own', () => {
    const { partition, records, commit } = taken(4);
    records[2]!.done();
    const made = commit()!.metadata;
    expect(partition.isLastOwner(at(made))).toBe(true);
    expect(partition.isLastOwner(at(encodeRuns([1, 1])))).toBe(false);
  });
});

describe('a truncated log', () => {
  const fetched = (from: number, count: number, timestamp: number) =>
    Array.from({ length: count }, (_, i) => ({ offset: from + i, timestamp }));

  test('a log was truncated if it ends before read records, or holds newer ones there', () => {
    const { partition } = taken(10);
    partition.fetched(fetched(0, 10, 1_000));
    expect(partition.isCut(fetched(5, 5, 1_000), 10)).toBeUndefined();
    expect(partition.isCut(fetched(10, 5, 2_000), 15)).toBeUndefined();
    expect(partition.isCut(fetched(5, 2, 1_000), 7)).toBe('ends_before');
    expect(partition.isCut(fetched(5, 10, 2_000), 15)).toBe('rewritten');
  });
});

test('the age of an open record is known even after hours of later fetches', () => {
  const partition = new Partition('messages', 0, 0);
  for (let offset = 0; offset < 50_000; offset++) {
    partition.fetched([{ offset, timestamp: 1_000 + offset }]);
    partition.offsets.take(offset);
    if (offset > 0) partition.offsets.done(offset);
  }
  expect(partition.place.oldestAtMs).toBe(1_000);
});
