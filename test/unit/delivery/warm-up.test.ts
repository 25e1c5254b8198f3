import { deliveryMetrics } from '../../../services/delivery/metrics';
import { warmUp, WEBHOOK_COUNT } from '../../../services/delivery/warm-up';
import { metrics } from '../../../shared/telemetry/metrics';
import { createLog } from '../../../shared/telemetry/log';

test('the warm-up delivers all of its webhooks by the code of real ones, writes no log line, and is not counted', async () => {
  const lines: string[] = [];
  const log = createLog('delivery', 'debug', { write: (line) => void lines.push(line) });
  const { delivered, attempts, first, opened } = deliveryMetrics;
  const counted = () => [delivered.value, attempts.delivered.value, first.counts.reduce((a, b) => a + b), opened.value];
  await metrics.uncounted(async () => {
    await warmUp(log);
    expect(counted()).toEqual([WEBHOOK_COUNT, WEBHOOK_COUNT, WEBHOOK_COUNT, 0]);
  });
  expect([counted(), lines]).toEqual([[0, 0, 0, 0], []]);
});
