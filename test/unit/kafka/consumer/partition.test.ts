import {
  decodeNote,
  encodeNote,
  MOST_NOTE_BYTES,
} from '../../../../shared/kafka/consumer/commit-note';
import { Partition } from '../../../../shared/kafka/consumer/partition';

/** Returns a partition from offset 0 on, with its first records taken, and its session. */
function taken(count: number) {
  let isInDoubt = false;
  const session = {
    isInDoubt: () => isInDoubt,
    noteBytes: MOST_NOTE_BYTES,
  };
  const doubt = (is: boolean) => (isInDoubt = is);
  const partition = new Partition('webhooks', 3, 0, '', session);
  partition.position.compare(undefined);
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
  return { partition, records, commit, doubt };
}

describe('a partition that is drained', () => {
  test('a partition is drained when no record is open and the done ones are committed', () => {
    const { partition, records, commit } = taken(3);
    partition.change('stop');
    records[0]!.done();
    commit();
    expect(partition.drained).toBe(false);
    records[2]!.done();
    expect(records[1]!.release()).toBe(true);
    // No record is open and the offset is committed, but the next owner would read the last record
    // again.
    expect(partition.drained).toBe(false);
    const made = commit()!;
    expect([made.offset, decodeNote(1, made.metadata).runs]).toEqual([1, [1, 1]]);
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

  test.each<[string, (set: ReturnType<typeof taken>) => void]>([
    ['is lost', ({ partition }) => partition.change('lose')],
    ['is replaced', ({ partition }) => partition.change('replace')],
    ['may be lost', ({ doubt }) => doubt(true)],
  ])('a partition that %s takes back any number of records', (_, act) => {
    const set = taken(5_000);
    act(set);
    expect(set.records.filter((record) => !record.release())).toEqual([]);
    expect(set.partition.offsets.open).toBe(0);
  });

  test('a partition that moves takes back what has room, once its session is not in doubt', () => {
    const { partition, records, doubt } = taken(5_000);
    partition.change('stop');
    doubt(true);
    expect(records[0]!.release()).toBe(true);
    doubt(false);
    expect(records.slice(1).every((record) => record.release())).toBe(false);
  });
});

describe('a partition after a lost session', () => {
  const at = (offset: number, metadata: string) => new Partition('webhooks', 3, offset, metadata);
  const last = { offset: 4, epoch: 0, timestamp: 1_000 };

  test('belongs to its last owner, if no other one has committed since', () => {
    const { partition, records, commit } = taken(4);
    // What it started with is stored.
    expect(partition.isLastOwner(at(0, ''))).toBe(true);
    records[2]!.done();
    const first = commit()!.metadata;
    records[0]!.done();
    // Kafka has stored the second commit, although no answer came.
    const second = partition.commit(Infinity)!;
    expect(partition.isLastOwner(at(0, first))).toBe(true);
    expect(partition.isLastOwner(at(second.offset, second.metadata))).toBe(true);
    const other = encodeNote(0, { owner: 1, last, runs: [1, 1] }, MOST_NOTE_BYTES);
    expect(partition.isLastOwner(at(0, other))).toBe(false);
  });

  test('starts at the offset that an operator has set, or without one', () => {
    const { partition, records, commit } = taken(4);
    for (const { done } of records) done();
    commit();
    expect(partition.isLastOwner(at(2, ''))).toBe(false);
    // Offsets that were reset have vanished.
    expect(partition.isLastOwner(Partition.uncommitted('webhooks', 3, 0))).toBe(false);
  });
});

describe('a partition whose log was cut', () => {
  /** Returns what the next owner skips. */
  function skipped({ offsets }: Partition): number[] {
    const all = Array.from({ length: 12 }, (_, offset) => offset);
    return all.filter((offset) => offset >= offsets.next && !offsets.take(offset));
  }

  function read() {
    const { partition, records } = taken(10);
    partition.position.read({ offset: 9, epoch: 3, timestamp: 1_000 }, 10);
    for (const offset of [0, 1, 4, 5, 8]) records[offset]!.done();
    return partition;
  }

  test('keeps what is known of the records below the cut', () => {
    const partition = read();
    const begun = partition.cutAt(5);
    expect([begun.position.next, begun.offsets.committable]).toEqual([2, 2]);
    expect(skipped(begun)).toEqual([4]);
  });

  test('compares the last record below the cut, although it reads older ones again', () => {
    const { position } = read().cutAt(5);
    expect(position.fetchFrom).toBe(4);
    // The log was cut again before it was fetched.
    expect(position.compare({ offset: 4, epoch: 3, timestamp: 1_001 })).toBe(false);
  });

  test('starts at a cut below all open records', () => {
    const partition = read();
    const begun = partition.cutAt(1);
    expect([begun.position.next, skipped(begun)]).toEqual([1, []]);
  });

  test('commits once it can name the record before its position, or has to move', () => {
    const begun = read().cutAt(5);
    expect(begun.commit(Infinity)).toBeUndefined();
    begun.position.compare({ offset: 1, epoch: 3, timestamp: 900 });
    const { offset, metadata } = begun.commit(Infinity)!;
    expect(decodeNote(offset, metadata).last).toEqual({ offset: 1, epoch: 3, timestamp: 900 });

    const moving = read().cutAt(5);
    moving.change('stop');
    expect(moving.commit(Infinity)).toMatchObject({ offset: 2 });
  });

  test('commits a cut below its last commit at once, and is not drained before', () => {
    const { partition, records, commit } = taken(10);
    for (const { done } of records) done();
    partition.position.read({ offset: 9, epoch: 3, timestamp: 1_000 }, 10);
    commit();
    const begun = partition.cutAt(5);
    begun.change('stop');
    expect(begun.drained).toBe(false);
    begun.acknowledged(begun.commit(0)!);
    expect([begun.committed, begun.drained]).toEqual([5, true]);
  });

  test('belongs to its last owner after a lost session, although nothing was committed since', () => {
    const { partition, records, commit } = taken(10);
    const started = new Partition('webhooks', 3, 0);
    expect(partition.cutAt(5).isLastOwner(started)).toBe(true);
    for (const { done } of records) done();
    const { offset, metadata } = commit()!;
    // Kafka has stored another commit, although no answer came.
    partition.offsets.take(10);
    partition.offsets.done(10);
    const second = partition.commit(Infinity)!;
    const begun = partition.cutAt(5).cutAt(4);
    expect(begun.isLastOwner(new Partition('webhooks', 3, offset, metadata))).toBe(true);
    expect(begun.isLastOwner(new Partition('webhooks', 3, second.offset, second.metadata))).toBe(
      true,
    );
    expect(begun.isLastOwner(Partition.uncommitted('webhooks', 3, 0))).toBe(false);
    expect(begun.isLastOwner(new Partition('webhooks', 3, offset, ''))).toBe(false);
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
