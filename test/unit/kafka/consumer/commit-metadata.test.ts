import fc from 'fast-check';
import { decodeRuns, encodeRuns } from '../../../../shared/kafka/consumer/commit-metadata';
import { OffsetTracker } from '../../../../shared/kafka/consumer/offset-tracker';

describe('what is done above the committed offset', () => {
  test.each<[string, string | null | undefined]>([
    ['no metadata', null],
    ['none at all', undefined],
    ['an empty text', ''],
    ['that of another program', 'event-id-3'],
  ])('%s means nothing', (_, text) => {
    expect(decodeRuns(text)).toEqual([]);
  });

  test('a successor skips exactly what was done, and repeats exactly what was open', () => {
    const offsets = fc.array(fc.nat(400), { maxLength: 100 });
    fc.assert(
      fc.property(fc.nat(1_000_000), fc.nat(400), offsets, offsets, (start, count, doneFirst, doneSecond) => {
        const first = new OffsetTracker(start);
        for (let i = 0; i < count; i++) first.take(start + i);
        const done = new Set(doneFirst.filter((i) => i < count).map((i) => start + i));
        for (const offset of done) first.done(offset);

        // It dies; the second owner reads a part again, does some of it, and dies as well.
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

  test('fits into what a broker takes, however ragged it is', () => {
    const ragged = Array.from({ length: 100_000 }, () => 1);
    const text = encodeRuns(ragged);
    expect(text.length).toBeLessThanOrEqual(4_096);
    expect(decodeRuns(text)).toEqual(ragged.slice(0, decodeRuns(text).length));
  });
});
