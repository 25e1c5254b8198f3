import { timeOf } from '../../../console/src/lib/times';

test('a span of time ends now, at a whole minute, and a date stays one', () => {
  const now = Date.parse('2026-01-01T12:00:34Z');
  expect(timeOf('1h', now)).toBe('2026-01-01T11:00:00.000Z');
  expect(timeOf('2025-12-31T08:00:00+01:00', now)).toBe('2025-12-31T07:00:00.000Z');
  expect(timeOf('never', now)).toBe('never');
  expect(timeOf('2025-12-31', now)).toBe(new Date(2025, 11, 31).toISOString());
});
