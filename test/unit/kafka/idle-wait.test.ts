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
