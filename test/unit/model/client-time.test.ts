import fc from 'fast-check';
import { ExactNumber } from '../../../shared/json/json';
import { callTime, readTime } from '../../../shared/model/client-time';

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
    ['seconds', 1396594800, '2014-04-04T07:00:00.000Z'],
    ['seconds with a fraction (Python)', 1396594800.123, '2014-04-04T07:00:00.123Z'],
    [
      'seconds with nanoseconds',
      new ExactNumber('1396594800.123456789012'),
      '2014-04-04T07:00:00.123Z',
    ],
    ['milliseconds', 1396594800123, '2014-04-04T07:00:00.123Z'],
    ['the last second', 99_999_999_999, '5138-11-16T09:46:39.000Z'],
    ['the first millisecond', 100_000_000_000, '1973-03-03T09:46:40.000Z'],
    ['zero', 0, '1970-01-01T00:00:00.000Z'],
    ['before 1970', -1, '1969-12-31T23:59:59.000Z'],
    ['digits: seconds', '1396594800', '2014-04-04T07:00:00.000Z'],
    ['digits: milliseconds', '1396594800123', '2014-04-04T07:00:00.123Z'],
    ['digits with a fraction', '1396594800.5', '2014-04-04T07:00:00.500Z'],
    ['UTC by name (Ruby)', '2014-04-04 07:00:00 UTC', '2014-04-04T07:00:00.000Z'],
    ['an offset after a space (Ruby)', '2014-04-04 07:00:00 +0200', '2014-04-04T05:00:00.000Z'],
    ['Go', '2014-04-04 07:00:00.123456789 +0200 CEST', '2014-04-04T05:00:00.123Z'],
    ['Go, in a zone without letters', '2014-04-04 07:00:00 -0300 -03', '2014-04-04T10:00:00.000Z'],
    [
      'Go, with its clock',
      '2014-04-04 07:00:00.5 +0000 UTC m=+0.000012345',
      '2014-04-04T07:00:00.500Z',
    ],
    ['an abbreviation of RFC 822', '2014-04-04 07:00:00 EST', '2014-04-04T12:00:00.000Z'],
    ['basic ISO', '20140404T070000Z', '2014-04-04T07:00:00.000Z'],
    ['basic ISO with an offset', '20140404T070000.25+0200', '2014-04-04T05:00:00.250Z'],
    ['basic ISO without seconds and zone', '20140404T0700', '2014-04-04T07:00:00.000Z'],
    ['a leap second', '2016-12-31T23:59:60Z', '2017-01-01T00:00:00.000Z'],
    ['a leap second in the usual form', '2016-12-31T23:59:60.000Z', '2017-01-01T00:00:00.000Z'],
    [
      'a place beside an offset (Java)',
      '2014-04-04T07:00:00+02:00[Europe/Berlin]',
      '2014-04-04T05:00:00.000Z',
    ],
    ['a place by its newer name', '2014-04-04T07:00:00[Asia/Kolkata]', '2014-04-04T01:30:00.000Z'],
    ['a place by its older name', '2014-04-04T07:00:00[Asia/Calcutta]', '2014-04-04T01:30:00.000Z'],
    ['a renamed place', '2014-04-04T07:00:00[Europe/Kyiv]', '2014-04-04T04:00:00.000Z'],
    ['a zone of a country', '2014-04-04T07:00:00[us/eastern]', '2014-04-04T11:00:00.000Z'],
    ['UTC by its place', '2014-04-04T07:00:00[Etc/UTC]', '2014-04-04T07:00:00.000Z'],
    ['GMT as a place', '2014-04-04T07:00:00[GMT]', '2014-04-04T07:00:00.000Z'],
    ['an offset as a place', '2014-04-04T07:00:00[Etc/GMT+3]', '2014-04-04T10:00:00.000Z'],
    ['a place beside Z', '2014-04-04T07:00:00Z[Europe/Berlin]', '2014-04-04T07:00:00.000Z'],
    ['a place alone, in summer', '2014-07-04T07:00:00[Europe/Berlin]', '2014-07-04T05:00:00.000Z'],
    ['a place alone, in winter', '2014-01-04T07:00:00[Europe/Berlin]', '2014-01-04T06:00:00.000Z'],
    ['a place west of UTC', '2014-07-04T07:00:00[America/St_Johns]', '2014-07-04T09:30:00.000Z'],
    [
      'the first of two equal times',
      '2014-10-26T02:30:00[Europe/Berlin]',
      '2014-10-26T00:30:00.000Z',
    ],
    ['just before a change', '2014-03-30T01:59:59[Europe/Berlin]', '2014-03-30T00:59:59.000Z'],
    ['just after a change', '2014-03-30T03:00:00[Europe/Berlin]', '2014-03-30T01:00:00.000Z'],
    ['a time that was left out', '2014-03-30T02:30:00[Europe/Berlin]', '2014-03-30T01:30:00.000Z'],
    [
      'RFC 9557',
      '2014-04-04T07:00:00+02:00[!Europe/Berlin][u-ca=gregory]',
      '2014-04-04T05:00:00.000Z',
    ],
    ['an offset in brackets', '2014-04-04T07:00:00[+02:00]', '2014-04-04T05:00:00.000Z'],
    ['unpadded', '2014-4-4 7:00:00', '2014-04-04T07:00:00.000Z'],
    ['unpadded down to its seconds', '2014-4-4 7:5:9', '2014-04-04T07:05:09.000Z'],
    ['unpadded, with a fraction and Z', '2014-4-4T7:5:9.5Z', '2014-04-04T07:05:09.500Z'],
    ['unpadded, with T and Z', '2015-2-02T19:14:18.381Z', '2015-02-02T19:14:18.381Z'],
    ['RFC 1123', 'Fri, 04 Apr 2014 07:00:00 GMT', '2014-04-04T07:00:00.000Z'],
    ['RFC 2822', 'Fri, 4 Apr 2014 07:00:00 +0200', '2014-04-04T05:00:00.000Z'],
    ['RFC 822, without the day', '04 Apr 2014 07:00:00 EST', '2014-04-04T12:00:00.000Z'],
    ['RFC 850 with a whole year', 'Friday, 04-Apr-2014 07:00:00 GMT', '2014-04-04T07:00:00.000Z'],
    [
      "a Date's text",
      'Fri Apr 04 2014 07:00:00 GMT+0200 (Central European Summer Time)',
      '2014-04-04T05:00:00.000Z',
    ],
    ['spaces around', ' 2014-04-04T07:00:00Z\n', '2014-04-04T07:00:00.000Z'],
    ['hour 24', '2014-04-04T24:00:00Z', '2014-04-05T00:00:00.000Z'],
    ['the year 0', '0000-01-01 00:00:00', '0000-01-01T00:00:00.000Z'],
  ])('reads %s', (_, text, expected) => {
    expect(iso(readTime(text))).toBe(expected);
  });

  test.each([
    '2026-13-01T00:00:00.000Z',
    '2026-11-21T25:00:00Z',
    'yesterday',
    'foo 2012',
    '',
    '+002026-11-21T08:19:06.123Z',
    '+275760-09-13T00:00:00.000Z',
    '275761-01-01T00:00:00.000Z',
    '-000001-01-01T00:00:00Z',
    '0000-00-00 00:00:00',
    '2014-04-04 07:00:00 CEST',
    '2014-04(04T07:00:00.123Z',
    '2014-04-04 07:00:00 +2500',
    '2014-04-04 07:60:00',
    '2014-04-04 07:00:61',
    '2014-04-04 24:00:01',
    '2014-04-32',
    '2014-04-04T07:00:00[Mars/Olympus]',
    '2014-04-04T07:00:00[constructor]',
    'Fri, 04 Foo 2014 07:00:00 GMT',
    '04/05/2014 07:00:00',
    '1e12',
    '0x5f5e100',
    'Infinity',
    '-99999999999999999',
    '9'.repeat(40),
    1396594800123456,
    1e300,
    -1e300,
    NaN,
    new ExactNumber('7615917337495251231'),
    new ExactNumber('1e400'),
    true,
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
    expect(iso(callTime(original, sentAt, received).ms)).toBe(expected);
  });

  test('always has the delivered form', () => {
    const anything = fc.oneof(
      fc.anything(),
      fc.string(),
      fc.date().map(String),
      fc.double(),
      isoDates(),
    );
    fc.assert(
      fc.property(anything, anything, (original, sentAt) => {
        const written = new Date(callTime(original, sentAt, received).ms).toISOString();
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
        expect(callTime(original, sentAt, received).ms).toBe(received - ageMs);
      }),
    );
  });
});

function isoDates() {
  return fc.date({ noInvalidDate: true }).map((date) => date.toISOString());
}

test('what could not be read is named', () => {
  const at = '2026-11-21T08:00:00.000Z';
  const warningsOf = (original: unknown, sentAt: unknown) =>
    callTime(original, sentAt, received).warnings;
  expect(warningsOf(at, at)).toEqual([]);
  expect(warningsOf(undefined, null)).toEqual([]);
  expect(warningsOf('soon', at)).toEqual(['timestamp_unreadable']);
  expect(warningsOf('', undefined)).toEqual(['timestamp_unreadable']);
  expect(warningsOf(at, 'now')).toEqual(['sent_at_unreadable']);
  expect(warningsOf({}, [])).toEqual(['timestamp_unreadable', 'sent_at_unreadable']);
  expect(warningsOf('9999-01-01T00:00:00Z', '0001-01-01T00:00:00Z')).toEqual([
    'timestamp_unreadable',
  ]);
});

test('sentAt is read in the same forms', () => {
  expect(iso(callTime(1396594795, '1396594800', received).ms)).toBe('2026-11-21T08:19:55.000Z');
  expect(
    iso(callTime('2014-04-04 06:59:55 UTC', 'Fri, 04 Apr 2014 07:00:00 GMT', received).ms),
  ).toBe('2026-11-21T08:19:55.000Z');
});

test('every text that Date reads back is read as by Date', () => {
  fc.assert(
    fc.property(
      fc.date({ noInvalidDate: true, min: new Date('0100-01-01'), max: new Date('9999-12-31') }),
      (date) => {
        const wholeSeconds = Math.floor(date.getTime() / 1_000) * 1_000;
        expect(readTime(date.toISOString())).toBe(date.getTime());
        expect(readTime(date.toUTCString())).toBe(wholeSeconds);
        expect(readTime(String(date))).toBe(wholeSeconds);
      },
    ),
  );
});

test('no text of pieces of times throws, and long ones are not searched', () => {
  const piece = fc.constantFrom(
    '2014',
    '-',
    '04',
    ':',
    'T',
    ' ',
    'Z',
    '+',
    '[',
    ']',
    'UTC',
    '.',
    '9',
    'Fri',
    ',',
    'Apr',
    '=',
    'm=',
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
      const ms = readTime(pieces.join(''));
      if (ms !== undefined) expect(Number.isInteger(ms)).toBe(true);
    }),
    { numRuns: 5_000 },
  );
});

test('names that no zone has are not tried, and each zone is prepared once', () => {
  const make = jest.spyOn(Intl, 'DateTimeFormat');
  try {
    for (let i = 0; i < 100; i++) {
      readTime(`2014-04-04T07:00:00[Nowhere/${i}]`);
      readTime('2014-04-04T07:00:00[Japan]');
    }
    expect(make.mock.calls.length).toBeLessThanOrEqual(1);
  } finally {
    make.mockRestore();
  }
});
