import { deliveryMetrics } from '../../../services/delivery/telemetry/metrics';
import { AT_ONCE, warmUp, WEBHOOK_COUNT } from '../../../services/delivery/warm-up';
import { metrics } from '../../../shared/telemetry/metrics';
import { createLog } from '../../../shared/telemetry/log';

test.each([
  ['delivers all of its webhooks by the code of real ones', Infinity, WEBHOOK_COUNT],
  ['begins no further webhook when its time is over, and ends those that it began', 0, AT_ONCE],
])('the warm-up %s, writes no log line, and is not counted', async (_, mostMs, count) => {
  const lines: string[] = [];
  const log = createLog('delivery', 'debug', { write: (line) => void lines.push(line) });
  const { delivered, attempts, first, opened } = deliveryMetrics;
  const counted = () => [
    delivered.value,
    attempts.delivered.value,
    first.counts.reduce((a, b) => a + b),
    opened.value,
  ];
  await metrics.uncounted(async () => {
    await warmUp(log, mostMs);
    expect(counted()).toEqual([count, count, count, 0]);
  });
  expect([counted(), lines]).toEqual([[0, 0, 0, 0], []]);
});
