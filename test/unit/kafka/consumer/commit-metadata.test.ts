import fc from 'fast-check';
import { decodeRuns, encodeRuns } from '../../../../shared/kafka/consumer/commit-metadata';
import { OffsetTracker } from '../../../../shared/kafka/consumer/offset-tracker';

describe('commit metadata', () => {
  test.each<[string, string | null | undefined]>([
    ['null', null],
    ['undefined', undefined],
    ['an empty text', ''],
    ['the metadata of another program', 'event-id-3'],
  ])('%s as commit metadata marks no record as done', (_, text) => {
    expect(decodeRuns(text)).toEqual([]);
  });

  test('the next owner skips exactly the records that were done, and repeats exactly those that were open', () => {
    const offsets = fc.array(fc.nat(400), { maxLength: 100 });
    fc.assert(
      fc.property(fc.nat(1_000_000), fc.nat(400), offsets, offsets, (start, count, doneFirst, doneSecond) => {
        const first = new OffsetTracker(start);
        for (let i = 0; i < count; i++) first.take(start + i);
        const done = new Set(doneFirst.filter((i) => i < count).map((i) => start + i));
        for (const offset of done) first.done(offset);

        // The first owner dies. The second one reads a part again, finishes some of it, and dies as well.
        const second = new OffsetTracker(first.committable, decodeRuns(encodeRuns(first.doneRuns())));
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
        const third = new OffsetTracker(second.committable, decodeRuns(encodeRuns(second.doneRuns())));
        const again = [];
        for (let o = second.committable; o < start + count; o++) if (third.take(o)) again.push(o);
        expect(again.filter((o) => done.has(o))).toEqual([]);
        expect(third.open + done.size).toBe(count);
      }),
      { numRuns: 200 },
    );
  });

  test('commit metadata stays below the limit of a broker, however fragmented the runs are', () => {
    const ragged = Array.from({ length: 100_000 }, () => 1);
    const text = encodeRuns(ragged);
    expect(text.length).toBeLessThanOrEqual(4_096);
    expect(decodeRuns(text)).toEqual(ragged.slice(0, decodeRuns(text).length));
  });
});
