import fc from 'fast-check';
import { createDedupWindow, messageRef, type MessageRef } from '../../../shared/model/dedup-window';
import { cases } from '../../support/cases';
import { anyText } from '../../support/any-text';

const at = (offset: number, partition = 0, messageId = 'm1', sourceId = 's1') =>
  messageRef(sourceId, messageId, partition, offset);

describe('the deduplication window', () => {
  test.each<[string, MessageRef, boolean]>([
    ['at a higher offset', at(6), true],
    ['at the same offset: the record read again', at(5), false],
    ['at a lower offset', at(4), false],
    ['in another partition', at(6, 1), false],
    ['with another id', at(6, 0, 'm2'), false],
    ['of another source', at(6, 0, 'm1', 's2'), false],
  ])('compares a message remembered at offset 5 with one %s', (_, met, duplicate) => {
    const seen = createDedupWindow();
    seen.remember(at(5), 0);
    expect(seen.isDuplicate(met, 0)).toBe(duplicate);
  });

  test('does not know a message before it is remembered, since its output may be lost', () => {
    expect(createDedupWindow().isDuplicate(at(9), 0)).toBe(false);
  });

  test('keeps the first position when a duplicate is remembered', () => {
    const seen = createDedupWindow();
    seen.remember(at(5), 0);
    seen.remember(at(9), 0);
    expect(seen.size).toBe(1);
    expect(seen.isDuplicate(at(9), 0)).toBe(true);
    expect(seen.isDuplicate(at(5), 0)).toBe(false);
  });

  test('keeps the lower position when records are acknowledged out of order', () => {
    const seen = createDedupWindow();
    seen.remember(at(9), 0);
    seen.remember(at(5), 0);
    expect([at(5), at(6), at(9)].map((s) => seen.isDuplicate(s, 0))).toEqual([false, true, true]);
  });

  test('takes no copy for a duplicate of what was cut off, at any offset', () => {
    const seen = createDedupWindow();
    for (const [id, offset, partition] of [
      ['kept', 4, 0],
      ['cut', 5, 0],
      ['elsewhere', 9, 1],
    ] as const) {
      seen.remember(at(offset, partition, id), 0);
    }
    seen.forget(0, 5);
    const copies = [at(5, 0, 'kept'), at(4, 0, 'cut'), at(12, 0, 'cut'), at(12, 1, 'elsewhere')];
    expect(copies.map((copy) => seen.isDuplicate(copy, 0))).toEqual([true, false, false, true]);
    // The copy is the first one now.
    seen.remember(at(12, 0, 'cut'), 0);
    expect([12, 13].map((offset) => seen.isDuplicate(at(offset, 0, 'cut'), 0))).toEqual([
      false,
      true,
    ]);
  });

  test('forgets what was cut off in its time, and its copies in theirs', () => {
    const seen = createDedupWindow({ keepMs: 60_000 });
    seen.remember(at(5), 0);
    seen.forget(0, 0);
    seen.remember(at(7), 30_000);
    for (let i = 0; i < 3; i++) seen.remember(at(20 + i, 0, `other-${String(i)}`), 70_000);
    expect(seen.isDuplicate(at(8), 70_000)).toBe(true);
    expect(seen.size).toBe(4);
  });

  test('compares offsets beyond 32 bits', () => {
    const seen = createDedupWindow();
    seen.remember(at(2 ** 40), 0);
    expect([2 ** 40 - 1, 2 ** 40, 2 ** 40 + 1].map((o) => seen.isDuplicate(at(o), 0))).toEqual([
      false,
      false,
      true,
    ]);
  });

  test('forgets an id after its time', () => {
    const seen = createDedupWindow({ keepMs: 60_000 });
    seen.remember(at(1), 1_000);
    expect(seen.isDuplicate(at(2), 61_999)).toBe(true);
    expect(seen.isDuplicate(at(2), 62_000)).toBe(false);
  });

  test('remembers an expired id again, and only its first entry expires', () => {
    const seen = createDedupWindow({ keepMs: 1_000, maxIds: 4 });
    seen.remember(at(1), 0);
    seen.remember(at(2), 5_000);
    for (let i = 0; i < 3; i++) seen.remember(at(10 + i, 0, `other${String(i)}`), 5_000);
    expect(seen.isDuplicate(at(3), 5_000)).toBe(true);
  });

  test('forgets the oldest ids beyond its limit', () => {
    const seen = createDedupWindow({ maxIds: 3 });
    for (let i = 0; i < 5; i++) seen.remember(at(i, 0, `m${String(i)}`), 0);
    expect(seen.size).toBe(3);
    expect([0, 1, 2, 3, 4].map((i) => seen.isDuplicate(at(99, 0, `m${String(i)}`), 0))).toEqual([
      false,
      false,
      true,
      true,
      true,
    ]);
  });

  test('forgets the earliest minute first, in whatever order the ids came', () => {
    const seen = createDedupWindow({ maxIds: 3 });
    const minutes = [50, 10, 30, 20, 40];
    for (const minute of minutes) {
      seen.remember(at(minute, 0, `m${String(minute)}`), minute * 60_000);
    }
    const known = minutes.filter((minute) =>
      seen.isDuplicate(at(99, 0, `m${String(minute)}`), 50 * 60_000),
    );
    expect(known).toEqual([50, 30, 40]);
  });

  test('an id that is met again at an earlier time counts as long as at the later one', () => {
    const seen = createDedupWindow({ maxIds: 2 });
    seen.remember(at(5), 120_000);
    seen.remember(at(3), 0);
    seen.remember(at(0, 0, 'other'), 120_000);
    seen.remember(at(0, 0, 'another'), 60_000);
    expect(seen.isDuplicate(at(9), 120_000)).toBe(true);
  });

  test('takes no room for a record that is read again', () => {
    const seen = createDedupWindow();
    seen.remember(at(5), 0);
    seen.remember(at(5), 1_000);
    expect(seen.size).toBe(1);
  });

  test('keeps all ids when it grows', () => {
    const seen = createDedupWindow();
    for (let i = 0; i < 10_000; i++) seen.remember(at(i, i % 3, `m${String(i)}`), i);
    expect(seen.size).toBe(10_000);
    const known = (name: string) =>
      Array.from({ length: 10_000 }, (_, i) =>
        seen.isDuplicate(at(i + 1, i % 3, name + String(i)), 10_000),
      );
    expect(known('m')).not.toContain(false);
    expect(known('x')).not.toContain(true);
  });

  /** The same without tricks: a list, searched from its end. */
  function naive(maxIds: number, keepS: number) {
    let list: { key: string; partition: number; offset: number; second: number }[] = [];
    const key = (s: MessageRef) => `${String(s.high)}:${String(s.low)}`;
    const find = (s: MessageRef, nowS: number) => {
      const known = list.findLast((entry) => entry.key === key(s));
      return known && nowS - known.second <= keepS && known.partition === s.partition
        ? known
        : undefined;
    };
    const earliest = () => Math.min(...list.map(({ second }) => Math.floor(second / 60)));
    const forgetEarliest = () => {
      const i = list.findIndex(({ second }) => Math.floor(second / 60) === earliest());
      list = list.toSpliced(i, 1);
    };
    return {
      isDuplicate: (s: MessageRef, nowS: number) => (find(s, nowS)?.offset ?? Infinity) < s.offset,
      remember(s: MessageRef, atS: number) {
        if ((find(s, atS)?.offset ?? Infinity) <= s.offset) return;
        const later = list.findLast((entry) => entry.key === key(s) && entry.second > atS);
        if (later) {
          later.partition = s.partition;
          later.offset = s.offset;
          return;
        }
        for (let n = 0; n < 2 && list.length > 0; n++) {
          const first = list.find(({ second }) => Math.floor(second / 60) === earliest())!;
          if (atS - first.second > keepS) forgetEarliest();
        }
        if (list.length === maxIds) {
          if (Math.floor(atS / 60) < earliest()) return;
          forgetEarliest();
        }
        list.push({ key: key(s), partition: s.partition, offset: s.offset, second: atS });
      },
    };
  }

  test('agrees with a naive list after any operations', () => {
    // Few ids with clustered hashes, so that probing, holes and evictions meet all the time.
    const step = fc.record({
      low: fc.constantFrom(0, 1, 2, 3, 6, 7, 0xffffffff, 0xfffffffe, 0x80000000),
      high: fc.nat(2),
      partition: fc.nat(1),
      offset: fc.nat(20),
      wait: fc.constantFrom(0, 0, 0, 1, 2, 30),
      ago: fc.constantFrom(0, 0, 0, 1, 60, 150),
      remember: fc.boolean(),
    });
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 300 }),
        fc.integer({ min: 1, max: 24 }),
        (steps, maxIds) => {
          const seen = createDedupWindow({ maxIds, keepMs: 125_000 });
          const model = naive(maxIds, 125);
          let nowS = 1_000;
          for (const { wait, ago, remember, ...met } of steps) {
            nowS += wait;
            // No `expect` for each step: it would cost more than everything else.
            if (seen.isDuplicate(met, nowS * 1_000) !== model.isDuplicate(met, nowS)) {
              throw new Error('they differ');
            }
            if (!remember) continue;
            seen.remember(met, (nowS - ago) * 1_000);
            model.remember(met, nowS - ago);
            if (seen.size > maxIds) throw new Error('too many');
          }
        },
      ),
      { numRuns: cases(5_000) },
    );
  });
});

describe('a message reference', () => {
  test('separates the source from the message id', () => {
    expect(at(1, 0, 'bc', 'a')).not.toEqual(at(1, 0, 'c', 'ab'));
  });

  test('is two unsigned 32-bit halves, the same for the same message', () => {
    fc.assert(
      fc.property(fc.string(), anyText(), (source, message) => {
        const s = messageRef(source, message, 3, 7);
        expect(s).toEqual(messageRef(source, message, 3, 7));
        for (const half of [s.high, s.low]) expect(half).toBe(half >>> 0);
        expect([s.partition, s.offset]).toEqual([3, 7]);
      }),
    );
  });
});
