import { IdleWait } from '../../../shared/kafka/idle-wait';

const BUSY = { maxWaitTime: 100, minBytes: 64_000 };
const IDLE = { maxWaitTime: 5_000, minBytes: 1 };

function setUp() {
  const at = { ms: 0 };
  return { at, wait: new IdleWait(BUSY, () => at.ms) };
}

test('a fetch waits longer after 5 s without records, and briefly again after a record', () => {
  const { at, wait } = setUp();
  const waits = [0, 4_999, 5_000, 9_000].map((ms) => {
    at.ms = ms;
    return wait.nextFetchWait();
  });
  expect(waits).toEqual([BUSY, BUSY, IDLE, IDLE]);
  wait.markActive();
  expect(wait.nextFetchWait()).toEqual(BUSY);
});

test("waiting for the log's end adds one look to a long fetch, none to a short one", async () => {
  const { at, wait } = setUp();
  const look = jest.fn().mockRejectedValueOnce(new Error('no leader')).mockResolvedValue(undefined);
  wait.nextFetchWait();
  wait.expectSoon(look);
  expect(look).not.toHaveBeenCalled();
  at.ms = 6_000;
  wait.nextFetchWait();
  wait.expectSoon(look);
  wait.expectSoon(look);
  expect(look).toHaveBeenCalledTimes(1);
  await Promise.resolve();
  wait.expectSoon(look);
  expect(look).toHaveBeenCalledTimes(2);
  expect(wait.nextFetchWait()).toEqual(BUSY);
});
