import {
  decodeNote,
  encodeNote,
  MOST_NOTE_BYTES,
} from '../../../../shared/kafka/consumer/commit-note';
import { Partition } from '../../../../shared/kafka/consumer/partition';

/** Returns a partition from offset 0 on, with its first records taken, and its session. */
function taken(count: number) {
  let isInDoubt = false;
  const doubt = (is: boolean) => (isInDoubt = is);
  const partition = new Partition('webhooks', 3, 0, '', { isInDoubt: () => isInDoubt });
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

  test('a partition takes back no more records than the notes of its member have room for', () => {
    const { partition, records } = taken(100);
    partition.commit(Infinity, 40);
    expect(records.filter(({ release }) => release())).toHaveLength(10);
  });

  test.each<[string, (set: ReturnType<typeof taken>) => void]>([
    ['is lost', ({ partition }) => partition.change('lose')],
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

  /** Ten records were read; five are done, and the others in flight. */
  function read() {
    const set = taken(10);
    set.partition.position.read({ offset: 9, epoch: 3, timestamp: 1_000 }, 10);
    for (const offset of [0, 1, 4, 5, 8]) set.records[offset]!.done();
    return set;
  }

  test('keeps what is known of the records below the cut, also of those in flight', () => {
    const { partition, records } = read();
    partition.cutAt(5);
    const { offsets, position } = partition;
    expect([position.next, offsets.next, offsets.committable, offsets.open]).toEqual([5, 5, 2, 2]);
    records[2]!.done();
    records[3]!.done();
    expect([offsets.committable, offsets.open]).toEqual([5, 0]);
  });

  test('keeps what an earlier owner has done below the cut', () => {
    const last = { offset: 9, epoch: 3, timestamp: 1_000 };
    const note = encodeNote(2, { owner: 1, last, runs: [2, 1, 3, 2] }, MOST_NOTE_BYTES);
    const partition = new Partition('webhooks', 3, 2, note);
    partition.cutAt(9);
    expect(skipped(partition)).toEqual([4, 8]);
  });

  test('reads again what was handed back below the cut, and forgets what was above', () => {
    const { partition, records } = read();
    for (const offset of [3, 7]) records[offset]!.release();
    partition.cutAt(5);
    const { offsets, position } = partition;
    expect([position.next, offsets.open, offsets.released]).toEqual([3, 1, 1]);
    expect([3, 4, 5].map((offset) => offsets.take(offset))).toEqual([true, false, true]);
  });

  test('compares the last record below the cut, although it reads older ones again', () => {
    const { partition, records } = read();
    records[2]!.release();
    partition.cutAt(5);
    const { position } = partition;
    expect([position.next, position.fetchFrom]).toEqual([2, 4]);
    // The log was cut again before it was fetched.
    expect(position.compare({ offset: 4, epoch: 3, timestamp: 1_001 })).toBe(false);
  });

  test('starts at a cut below all open records', () => {
    const { partition } = read();
    partition.cutAt(1);
    expect([partition.position.next, partition.offsets.open, skipped(partition)]).toEqual([
      1,
      0,
      [],
    ]);
  });

  test('commits once it can name the record before its position, or has to move', () => {
    const { partition } = read();
    partition.cutAt(5);
    expect(partition.commit(Infinity)).toBeUndefined();
    partition.position.compare({ offset: 4, epoch: 3, timestamp: 900 });
    const { offset, metadata } = partition.commit(Infinity)!;
    expect([offset, decodeNote(offset, metadata).last]).toEqual([
      2,
      { offset: 4, epoch: 3, timestamp: 900 },
    ]);

    const { partition: moving } = read();
    moving.cutAt(5);
    moving.change('stop');
    expect(moving.commit(Infinity)).toMatchObject({ offset: 2 });
  });

  test.each(['before', 'after'])(
    'commits a cut below its last commit, which was acknowledged %s it, and is not drained before',
    (when) => {
      const { partition, records } = taken(10);
      for (const { done } of records) done();
      partition.position.read({ offset: 9, epoch: 3, timestamp: 1_000 }, 10);
      const last = partition.commit(Infinity)!;
      if (when === 'before') partition.acknowledged(last);
      partition.cutAt(5);
      if (when === 'after') partition.acknowledged(last);
      partition.change('stop');
      expect([partition.committed, partition.drained]).toEqual([10, false]);
      partition.acknowledged(partition.commit(Infinity)!);
      expect([partition.committed, partition.drained]).toEqual([5, true]);
    },
  );

  test('belongs to its last owner after a lost session, with nothing committed since', () => {
    const { partition, records, commit } = taken(10);
    const started = new Partition('webhooks', 3, 0);
    for (const { done } of records) done();
    const { offset, metadata } = commit()!;
    // Kafka has stored another commit, although no answer came.
    partition.offsets.take(10);
    partition.offsets.done(10);
    const second = partition.commit(Infinity)!;
    partition.cutAt(5);
    partition.cutAt(4);
    expect(partition.isLastOwner(new Partition('webhooks', 3, offset, metadata))).toBe(true);
    expect(
      partition.isLastOwner(new Partition('webhooks', 3, second.offset, second.metadata)),
    ).toBe(true);
    expect(partition.isLastOwner(Partition.uncommitted('webhooks', 3, 0))).toBe(false);
    expect(partition.isLastOwner(new Partition('webhooks', 3, offset, ''))).toBe(false);

    const { partition: other } = taken(10);
    other.cutAt(5);
    expect(other.isLastOwner(started)).toBe(true);
  });
});

test('the age of an open record is known even after hours of later fetches', () => {
  const partition = new Partition('messages', 0, 0);
  for (let offset = 0; offset < 50_000; offset++) {
    partition.fetched([{ offset, timestamp: 1_000 + offset }]);
    partition.offsets.take(offset);
    if (offset > 0) partition.offsets.done(offset);
  }
  expect(partition.progress.oldestAtMs).toBe(1_000);
});
