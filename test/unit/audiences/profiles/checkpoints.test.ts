import { Checkpoints } from '../../../../services/audiences/profiles/checkpoints';

// A changelog of one partition that ends at 100 when the store is restored from it, and a clock that goes on by hand.
function changelog() {
  const at = { high: 100, nowMs: 1_000_000 };
  const ranges = () => Promise.resolve([{ partition: 3, low: 0, high: at.high }]);
  const checkpoints = new Checkpoints({ kafka: { ranges }, partition: 3, next: 100, now: () => at.nowMs });
  return {
    checkpoints,
    /** its own records */
    write: (records: number) => {
      at.high += records;
      checkpoints.wrote(records);
    },
    /** records that it does not know of */
    others: (records: number) => (at.high += records),
    after: async (seconds: number) => {
      at.nowMs += seconds * 1_000;
      return (await checkpoints.next())?.next;
    },
  };
}

test('the end of what it wrote itself is taken down, every ten seconds, where it wrote anything', async () => {
  const { write, after } = changelog();
  expect(await after(60)).toBeUndefined();
  write(5);
  expect(await after(0)).toBe(105);
  write(2);
  expect(await after(9)).toBeUndefined();
  expect(await after(1)).toBe(107);
  expect(await after(60)).toBeUndefined();
});

test('what another wrote is never claimed by one who wakes up and writes on', async () => {
  // Given a process that was frozen: its successor has written since; then no checkpoint is taken for as long as it may
  // not know of it.
  const { write, others, after } = changelog();
  write(5);
  others(3);
  expect(await after(60)).toBeUndefined();
  write(1);
  expect(await after(10)).toBeUndefined();
  expect(await after(10)).toBeUndefined();
});

test('who keeps the partition after all goes on from the end', async () => {
  const { write, others, after } = changelog();
  write(5);
  others(3);
  expect(await after(10)).toBeUndefined();
  expect(await after(30)).toBe(108);
  write(1);
  expect(await after(10)).toBe(109);
  // Doubted again, it waits again.
  write(1);
  others(1);
  expect(await after(10)).toBeUndefined();
});
