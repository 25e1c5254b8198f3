import fc from 'fast-check';
import {
  decodeNote,
  encodeNote,
  MOST_NOTE_BYTES,
} from '../../../../shared/kafka/consumer/commit-note';
import { OffsetTracker } from '../../../../shared/kafka/consumer/offset-tracker';
import { cases } from '../../../support/cases';

const encodeRuns = (runs: number[]) =>
  encodeNote(0, { owner: 1, last: undefined, runs }, MOST_NOTE_BYTES);
const decodeRuns = (text: string) => decodeNote(0, text).runs;

/** The same rules in their simplest form: a set of open offsets. */
class NaiveTracker {
  open = new Set<number>();
  released = new Set<number>();
  next: number;
  constructor(start: number) {
    this.next = start;
  }
  take(offset: number) {
    if (this.released.delete(offset)) {
      this.open.add(offset);
      return true;
    }
    if (offset < this.next) return false;
    this.open.add(offset);
    this.next = offset + 1;
    return true;
  }
  done(offset: number) {
    this.open.delete(offset);
  }
  release(offset: number) {
    if (this.open.delete(offset)) this.released.add(offset);
  }
  get committable() {
    return Math.min(this.next, ...this.open, ...this.released);
  }
  get readFrom() {
    return Math.min(this.next, ...this.released);
  }
}

type Step =
  | { kind: 'take'; gap: number }
  | { kind: 'unread' }
  | { kind: 'done'; pick: number }
  | { kind: 'again'; pick: number }
  | { kind: 'release'; pick: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('take' as const),
      gap: fc.oneof(fc.constant(0), fc.nat(5000)),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('unread' as const) }) },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('done' as const), pick: fc.nat() }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('again' as const), pick: fc.nat() }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('release' as const), pick: fc.nat() }) },
);

/** Returns the offsets that the next owner would take after a commit. */
function openIn(tracker: OffsetTracker): number[] {
  const heir = new OffsetTracker(tracker.committable, tracker.doneRuns());
  const offsets: number[] = [];
  for (let offset = tracker.committable; offset < tracker.next; offset++) {
    if (heir.take(offset)) offsets.push(offset);
  }
  return offsets;
}

describe('the offset tracker', () => {
  test('the offset tracker agrees with a plain set of open offsets after any steps', () => {
    fc.assert(
      fc.property(fc.nat(1_000_000), fc.array(step, { maxLength: 400 }), (start, steps) => {
        const tracker = new OffsetTracker(start);
        const naive = new NaiveTracker(start);
        const taken: number[] = [];
        let fresh = false;
        for (const s of steps) {
          if (s.kind === 'take') {
            const offset = naive.next + s.gap;
            expect(tracker.take(offset)).toBe(naive.take(offset));
            taken.push(offset);
            fresh = true;
          } else if (s.kind === 'unread') {
            const last = taken.at(-1);
            // Only the last taken record can be unread.
            if (!fresh || last === undefined || !naive.open.has(last)) continue;
            fresh = false;
            taken.pop();
            naive.open.delete(last);
            naive.next = last;
            tracker.unread(last);
          } else if (taken.length > 0) {
            const offset = taken[s.pick % taken.length]!;
            if (s.kind === 'again') {
              // Offered again after a rebalance: open and done records are refused, released ones
              // are taken.
              expect(tracker.take(offset)).toBe(naive.take(offset));
            } else if (s.kind === 'release') {
              tracker.release(offset);
              naive.release(offset);
              fresh = false;
            } else {
              tracker.done(offset);
              naive.done(offset);
            }
          }
          expect(tracker.open).toBe(naive.open.size);
          expect(tracker.next).toBe(naive.next);
          expect(tracker.released).toBe(naive.released.size);
          expect(tracker.committable).toBe(naive.committable);
          expect(tracker.readFrom).toBe(naive.readFrom);
          expect(openIn(tracker)).toEqual([...naive.open, ...naive.released].sort((a, b) => a - b));
        }
      }),
      { numRuns: cases(300) },
    );
  });

  test('the committable offset stops at the lowest open record, and then reaches the end', () => {
    const tracker = new OffsetTracker(100);
    for (let offset = 100; offset < 5_100; offset++) tracker.take(offset);
    for (let offset = 101; offset < 5_100; offset++) tracker.done(offset);
    expect(tracker.committable).toBe(100);
    tracker.done(100);
    expect(tracker.committable).toBe(5_100);
    expect(tracker.open).toBe(0);
  });

  test('a late or repeated `done` has no effect', () => {
    const tracker = new OffsetTracker(0);
    tracker.take(0);
    tracker.done(0);
    tracker.done(0);
    tracker.done(7);
    expect([tracker.open, tracker.committable, tracker.next]).toEqual([0, 1, 1]);
  });

  test('a released record that is read again and refused is released again', () => {
    const tracker = new OffsetTracker(0);
    for (let offset = 0; offset < 3; offset++) tracker.take(offset);
    tracker.release(0);
    tracker.done(1);
    expect([tracker.open, tracker.committable, tracker.readFrom]).toEqual([1, 0, 0]);
    expect(tracker.take(0)).toBe(true);
    tracker.unread(0);
    expect([tracker.open, tracker.released, tracker.next]).toEqual([1, 1, 3]);
    expect(tracker.take(0)).toBe(true);
    tracker.done(0);
    tracker.done(2);
    expect([tracker.open, tracker.released, tracker.committable]).toEqual([0, 0, 3]);
  });

  test('runs are bounded while a record is open for hours, and omitted records repeat', () => {
    const long = new OffsetTracker(0);
    for (let offset = 0; offset < 1_500_000; offset++) long.take(offset);
    for (let offset = 1; offset < 1_500_000; offset++) long.done(offset);
    expect(long.doneRuns()).toEqual([1, 999_999]);

    const broken = new OffsetTracker(0, [5_000_000, 1]);
    for (let offset = 0; offset < 50_000; offset++) broken.take(offset);
    for (let offset = 1; offset < 50_000; offset += 2) broken.done(offset);
    const runs = broken.doneRuns();
    expect(runs.length).toBeLessThan(3_100);
    expect(new Set(runs)).toEqual(new Set([1]));
  });

  test('only the last taken record can be unread', () => {
    const tracker = new OffsetTracker(0);
    tracker.take(0);
    tracker.take(1);
    expect(() => tracker.unread(0)).toThrow(RangeError);
  });
});

describe('records that Kafka has deleted', () => {
  test('deferred records below the log start count as done, and those in work stay open', () => {
    const tracker = new OffsetTracker(0);
    for (let offset = 0; offset < 6; offset++) tracker.take(offset);
    for (const offset of [0, 2, 5]) tracker.release(offset);
    tracker.done(3);
    expect(tracker.expire(4)).toBe(2);
    expect([tracker.committable, tracker.readFrom, tracker.released, tracker.open]).toEqual([
      1, 5, 1, 2,
    ]);
    tracker.done(1);
    expect(tracker.committable).toBe(4);
    expect(tracker.expire(100)).toBe(1);
    tracker.done(4);
    expect([tracker.committable, tracker.readFrom, tracker.released]).toEqual([6, 6, 0]);
  });

  test('a gap before the first record does not count records that an earlier owner did', () => {
    const tracker = new OffsetTracker(10, [1, 5, 2, 1]);
    expect([tracker.gapBefore(10), tracker.gapBefore(12), tracker.gapBefore(20)]).toEqual([
      0, 1, 4,
    ]);
  });
});

describe('commit metadata', () => {
  test.each([
    ['an empty text', ''],
    ['the metadata of another program', 'event-id-3'],
  ])('%s as commit metadata marks no record as done', (_, text) => {
    expect(decodeRuns(text)).toEqual([]);
  });

  test('the next owner skips exactly the done records, and repeats exactly the open ones', () => {
    const offsets = fc.array(fc.nat(400), { maxLength: 100 });
    fc.assert(
      fc.property(
        fc.nat(1_000_000),
        fc.nat(400),
        offsets,
        offsets,
        (start, count, doneFirst, doneSecond) => {
          const first = new OffsetTracker(start);
          for (let i = 0; i < count; i++) first.take(start + i);
          const done = new Set(doneFirst.filter((i) => i < count).map((i) => start + i));
          for (const offset of done) first.done(offset);

          // The first owner dies. The second one reads a part again, finishes some of it, and dies
          // as well.
          const second = new OffsetTracker(
            first.committable,
            decodeRuns(encodeRuns(first.doneRuns())),
          );
          const read = start + Math.floor(count / 2);
          for (let o = first.committable; o < read; o++) {
            expect(second.take(o)).toBe(!done.has(o));
          }
          for (const offset of doneSecond.map((i) => start + i)) {
            if (offset >= first.committable && offset < read) {
              second.done(offset);
              done.add(offset);
            }
          }
          const third = new OffsetTracker(
            second.committable,
            decodeRuns(encodeRuns(second.doneRuns())),
          );
          const again = [];
          for (let o = second.committable; o < start + count; o++) if (third.take(o)) again.push(o);
          expect(again.filter((o) => done.has(o))).toEqual([]);
          expect(third.open + done.size).toBe(count);
        },
      ),
      { numRuns: cases(200) },
    );
  });

  test('commit metadata stays below the limit of a broker, however fragmented the runs are', () => {
    const ragged = Array.from({ length: 100_000 }, () => 1);
    const text = encodeRuns(ragged);
    expect(text.length).toBeLessThanOrEqual(4_096);
    expect(decodeRuns(text)).toEqual(ragged.slice(0, decodeRuns(text).length));
  });
});
