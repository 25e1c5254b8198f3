import { countableSpan } from '../../../../services/control/history/count-series';

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

test('a span that begins before the oldest minute is in whole hours', () => {
  const span = {
    sinceMs: 10 * HOUR_MS + 20 * MINUTE_MS,
    untilMs: 12 * HOUR_MS + 10 * MINUTE_MS,
    stepMs: 10 * MINUTE_MS,
  };
  expect(countableSpan(span, 10 * HOUR_MS)).toEqual(span);
  const whole = { sinceMs: 10 * HOUR_MS, stepMs: HOUR_MS };
  expect(countableSpan(span, 11 * HOUR_MS)).toEqual({ ...whole, untilMs: span.untilMs });
  expect(countableSpan(span, 20 * HOUR_MS)).toEqual({ ...whole, untilMs: 13 * HOUR_MS });
});
