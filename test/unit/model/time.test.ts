import fc from 'fast-check';
import { correctedTimeMs, isoTime, readTime, timeOf } from '../../../shared/model/time';

const received = Date.parse('2026-11-21T08:20:00.000Z');
const iso = (ms: number | undefined) => (ms === undefined ? undefined : new Date(ms).toISOString());

describe('readTime', () => {
  test.each([
    ['milliseconds, Z (Node, browser)', '2026-11-21T08:19:06.123Z', '2026-11-21T08:19:06.123Z'],
    ['seconds, +0000 (Go v2)', '2026-11-21T08:19:06+0000', '2026-11-21T08:19:06.000Z'],
    ['nanoseconds, Z (Go v3)', '2026-11-21T08:19:06.123456789Z', '2026-11-21T08:19:06.123Z'],
    ['three digits, +00:00 (Python)', '2026-11-21T08:19:06.123+00:00', '2026-11-21T08:19:06.123Z'],
    [
      'microseconds, +00:00 (Python)',
      '2026-11-21T08:19:06.123999+00:00',
      '2026-11-21T08:19:06.123Z',
    ],
    ['another zone', '2026-11-21T03:19:06.5-0500', '2026-11-21T08:19:06.500Z'],
    ['zone of hours', '2026-11-21T10:19:06+02', '2026-11-21T08:19:06.000Z'],
    ['no zone is UTC', '2026-11-21T08:19:06.123', '2026-11-21T08:19:06.123Z'],
    ['a space for the T', '2026-11-21 08:19:06+00:00', '2026-11-21T08:19:06.000Z'],
    ['no seconds', '2026-11-21T08:19Z', '2026-11-21T08:19:00.000Z'],
    ['a date', '2026-11-21', '2026-11-21T00:00:00.000Z'],
    ['an HTTP date', 'Sat, 21 Nov 2026 08:19:06 GMT', '2026-11-21T08:19:06.000Z'],
    ['long ago', '0001-01-01T00:00:00Z', '0001-01-01T00:00:00.000Z'],
  ])('reads %s', (_, text, expected) => {
    expect(iso(readTime(text))).toBe(expected);
  });

  test.each([
    '2015-2-02T19:14:18.381Z',
    '2026-13-01T00:00:00.000Z',
    '2026-11-21T25:00:00Z',
    'yesterday',
    'foo 2012',
    '',
    '1',
    '+002026-11-21T08:19:06.123Z',
    1_795_249_146_000,
    null,
    undefined,
    {},
    ['2026-11-21'],
    '2026-11-21T08:19:06.123Z'.padEnd(5_000, '0'),
  ])('does not read %j', (value) => {
    expect(readTime(value)).toBeUndefined();
  });
});

describe('the corrected time', () => {
  test.each([
    ['no time at all', undefined, undefined, '2026-11-21T08:20:00.000Z'],
    [
      'no sentAt, and takes the original',
      '2026-11-21T08:00:00.000Z',
      undefined,
      '2026-11-21T08:00:00.000Z',
    ],
    ['sentAt null (Java)', '2026-11-21T08:00:00.000Z', null, '2026-11-21T08:00:00.000Z'],
    ['an unreadable sentAt', '2026-11-21T08:00:00.000Z', 'now', '2026-11-21T08:00:00.000Z'],
    [
      'a call made 5 s before sending',
      '2026-11-21T08:19:50.000Z',
      '2026-11-21T08:19:55.000Z',
      '2026-11-21T08:19:55.000Z',
    ],
    [
      'a clock of 1970',
      '1970-01-01T00:00:00.000Z',
      '1970-01-01T00:00:10.000Z',
      '2026-11-21T08:19:50.000Z',
    ],
    [
      'a clock a day ahead',
      '2026-11-22T08:20:00+0000',
      '2026-11-22T08:20:01+0000',
      '2026-11-21T08:19:59.000Z',
    ],
    [
      'an import of 2012',
      '2012-12-02T00:30:12.984Z',
      '2026-11-21T08:20:00.000Z',
      '2012-12-02T00:30:12.984Z',
    ],
    ['an unreadable original', 'soon', '2026-11-21T08:19:55.000Z', '2026-11-21T08:20:00.000Z'],
    [
      'a result beyond the year 9999',
      '9999-01-01T00:00:00.000Z',
      '0001-01-01T00:00:00.000Z',
      '2026-11-21T08:20:00.000Z',
    ],
    [
      'a result before the year 0',
      '0001-01-01T00:00:00.000Z',
      '9999-01-01T00:00:00.000Z',
      '2026-11-21T08:20:00.000Z',
    ],
  ])('is right for %s', (_, original, sentAt, expected) => {
    expect(iso(correctedTimeMs(original, sentAt, received))).toBe(expected);
  });

  test('always has the delivered form', () => {
    const anything = fc.oneof(fc.anything(), fc.string(), fc.date().map(String), isoDates());
    fc.assert(
      fc.property(anything, anything, (original, sentAt) => {
        const written = new Date(correctedTimeMs(original, sentAt, received)).toISOString();
        expect(written).toMatch(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/);
      }),
    );
  });

  test("does not depend on the error of the client's clock", () => {
    const time = fc.integer({ min: Date.parse('1980-01-01'), max: Date.parse('2100-01-01') });
    fc.assert(
      fc.property(time, fc.integer({ min: 0, max: 86_400_000 }), (sentMs, ageMs) => {
        const sentAt = new Date(sentMs).toISOString();
        const original = new Date(sentMs - ageMs).toISOString();
        expect(correctedTimeMs(original, sentAt, received)).toBe(received - ageMs);
      }),
    );
  });
});

function isoDates() {
  return fc.date({ noInvalidDate: true }).map((date) => date.toISOString());
}

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
