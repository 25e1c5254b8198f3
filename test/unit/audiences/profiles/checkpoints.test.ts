import { Checkpoints } from '../../../../services/audiences/profiles/checkpoints';
import { type Store } from '../../../../services/audiences/profiles/store';
import { aRecord } from '../../../support/factories';

const TERM = 7;

// A changelog of one partition that ends at 100 when the store is restored from it, and a manual
// clock.
function changelog() {
  const at = { high: 100, nowMs: 1_000_000, brokersMs: 5_000 };
  /** of the records of other processes, by offset */
  const terms = new Map<number, number>();
  const store: Pick<Store, 'checkpoint' | 'written'> = { checkpoint: undefined, written: 0 };
  let reads = 0;
  const ranges = () => Promise.resolve([{ partition: 3, low: 0, high: at.high }]);
  const read = ({ offset }: { offset: number }) => {
    reads++;
    return Promise.resolve({
      records:
        offset < at.high
          ? [
              aRecord({
                topic: 'profiles',
                partition: 3,
                offset,
                timestampMs: at.brokersMs,
                key: Buffer.from(`u${String(offset)}`),
                value: Buffer.from('{}'),
                headers: { format: '1', term: String(terms.get(offset) ?? TERM) },
              }),
            ]
          : [],
      next: Math.min(offset + 1, at.high),
      end: at.high,
      gone: false,
      era: '',
    });
  };
  const checkpoints = new Checkpoints({
    kafka: { ranges, read },
    store,
    partition: 3,
    next: 100,
    term: TERM,
    now: () => at.nowMs,
  });
  return {
    checkpoints,
    reads: () => reads,
    /** its own records */
    write: (records: number) => {
      at.high += records;
      Object.assign(store, { written: store.written + records });
    },
    /** records that it does not know of, of the process that owned the partition in a term */
    others: (records: number, term: number) => {
      for (let i = 0; i < records; i++) terms.set(at.high++, term);
    },
    time: () => store.checkpoint?.last[2],
    setBrokersClock: (ms: number) => (at.brokersMs = ms),
    /** a power cut of the brokers */
    cut: (records: number) => (at.high -= records),
    after: async (seconds: number) => {
      at.nowMs += seconds * 1_000;
      const next = await checkpoints.next();
      if (next === undefined || typeof next === 'string') return next;
      if ('rewrite' in next) return [...next.rewrite];
      Object.assign(store, { written: 0, checkpoint: next.checkpoint });
      return next.checkpoint.last[0];
    },
  };
}

test("a checkpoint covers the process's writes, every ten seconds if there are any", async () => {
  const { write, after } = changelog();
  expect(await after(60)).toBeUndefined();
  write(5);
  expect(await after(0)).toBe(104);
  write(2);
  expect(await after(9)).toBeUndefined();
  expect(await after(1)).toBe(106);
  expect(await after(60)).toBeUndefined();
});

test('a process that was frozen never claims the writes of its successor', async () => {
  const { write, others, after, checkpoints } = changelog();
  write(5);
  expect(await checkpoints.isOvertaken()).toBe(false);
  others(3, TERM + 1);
  expect(await checkpoints.isOvertaken()).toBe(true);
  expect(await after(60)).toBe('overtaken');
});

test('a process is not overtaken by an earlier owner', async () => {
  const { write, others, checkpoints } = changelog();
  write(5);
  others(3, TERM - 1);
  expect(await checkpoints.isOvertaken()).toBe(false);
});

test('what an earlier owner wrote last is written again, and then covered', async () => {
  const { write, others, after, checkpoints } = changelog();
  write(2);
  others(2, TERM - 1);
  expect(await checkpoints.isOvertaken()).toBe(false);
  expect(await after(10)).toEqual(['102', '103']);
  write(3);
  expect(await after(10)).toBe(106);
});

test('a request that was written twice is covered', async () => {
  const { write, others, after } = changelog();
  write(2);
  others(2, TERM);
  expect(await after(10)).toBe(103);
});

test('a request that was written twice is read once, and then covered', async () => {
  const { write, others, after, checkpoints, reads } = changelog();
  write(50);
  others(50, TERM);
  expect(await checkpoints.isOvertaken()).toBe(false);
  const before = reads();
  write(1);
  expect(await checkpoints.isOvertaken()).toBe(false);
  expect(reads() - before).toBe(1);
  expect(await after(10)).toBe(200);
});

test('a changelog that holds less than the process wrote was cut', async () => {
  const { write, cut, after } = changelog();
  write(5);
  expect(await after(10)).toBe(104);
  write(50);
  cut(30);
  // A new leader may not know for a moment what is acknowledged.
  expect(await after(10)).toBeUndefined();
  write(60);
  expect(await after(10)).toBe('cut');
});

test("a checkpoint keeps the latest time, although a new leader's clock is behind", async () => {
  const { write, after, time, setBrokersClock } = changelog();
  write(1);
  expect([await after(10), time()]).toEqual([100, 5_000]);
  setBrokersClock(4_000);
  write(1);
  expect([await after(10), time()]).toEqual([101, 5_000]);
});
