import fc from 'fast-check';
import { isoTime, timeOf } from '../../../shared/model/time';

describe('timeOf', () => {
  test('a time of isoTime is read as by Date.parse', () => {
    const ms = fc.integer({ min: 0, max: Date.parse('2999-12-31T23:59:59.999Z') });
    fc.assert(fc.property(ms, (each) => expect(timeOf(isoTime(each))).toBe(each)));
  });

  test.each([
    '2026-11-21T08:20:00.000Z',
    '2026-11-21T08:20:59.999Z',
    '2026-11-21T08:20:60.000Z',
    '2026-11-21T08:20:0x.000Z',
    '2026-11-21T08:20:00.0-0Z',
    '2026-11-21T08:20:00.000z',
    '2026-11-21T08:20:00+00:00',
    '2026-13-21T08:20:00.000Z',
    '2026-11-21T24:00:00.000Z',
    '2026-11-21T24:00:00.001Z',
    '2026-11-21T24:00:30.000Z',
    '2026-02-30T00:00:00.000Z',
    '+012026-11-21T08:20:00.000Z',
    '2026-11-21T08:20:00Z',
    '2026-11-21',
    'no time at all, but long.Z',
    '',
  ])('the text "%s" is read as by Date.parse', (text) =>
    expect(timeOf(text)).toBe(Date.parse(text)),
  );
});
