import * as fc from 'fast-check';
import { AttemptRows, readEvents, type Rows } from '../../../shared/model/attempt-rows';
import { aWait } from '../../support/events';
import { aSuccess, eventOf, rowsOf, success } from '../../support/successes';

const successes = fc.array(success, { minLength: 1, maxLength: 20 });
const parsed = (value: Buffer) => JSON.parse(value.toString()) as Rows;

test('rows have the same events as single records, in the same order', () => {
  fc.assert(
    fc.property(successes, (given) => {
      expect(readEvents(rowsOf(given))).toEqual(given.map((each) => eventOf(each)));
    }),
  );
});

test('the estimate of the length of a record is at most a little too small', () => {
  const texts = fc.array(success, { minLength: 50, maxLength: 60 });
  fc.assert(
    fc.property(texts, (given) => {
      const rows = new AttemptRows();
      for (const each of given) rows.add(each);
      expect(Buffer.byteLength(rows.toString())).toBeLessThan(2 * rows.bytes);
    }),
    { numRuns: 20 },
  );
});

test('rows share what several deliveries have in common', () => {
  const one = aSuccess();
  const later = { ...one, record: { ...one.record, offset: one.record.offset + 1 } };
  const { contexts, responses, rows } = parsed(rowsOf([one, later, one]));
  expect([contexts.length, responses.length, rows.length]).toEqual([1, 1, 3]);
});

test('rows keep the origins of two attempts apart that differ in nothing else', () => {
  const one = aSuccess();
  const other = { ...one, url: { ...one.url, origin: 'https://other.example' } };
  expect(readEvents(rowsOf([one, other]))).toEqual([eventOf(one), eventOf(other)]);
});

test('a single event is read as such', () => {
  expect(readEvents(JSON.stringify(aWait()))).toEqual([aWait()]);
});

test.each(['certificate', 'filter'])(
  'an event of the kind %s, which only alerts read, is left out',
  (kind) => {
    expect(readEvents(JSON.stringify({ kind, at: '2026-01-01T00:00:00.000Z' }))).toEqual([]);
  },
);

test('a reader finds columns by their names, and ignores columns that it does not know', () => {
  const one = aSuccess();
  const { columns, rows, ...rest } = parsed(rowsOf([one]));
  const turned = {
    ...rest,
    columns: ['newer', ...columns.toReversed()],
    rows: rows.map((row) => [1, ...row.toReversed()]),
  };
  expect(readEvents(JSON.stringify(turned))).toEqual([eventOf(one)]);
});

test.each([
  ['a column is missing', (rows: Rows) => ({ ...rows, columns: rows.columns.with(0, 'other') })],
  ['a context is missing', (rows: Rows) => ({ ...rows, contexts: [] })],
  [
    'a time is none',
    (rows: Rows) => ({ ...rows, rows: rows.rows.map((row) => row.with(6, 'then')) }),
  ],
])('rows cannot be read if %s', (_, damage) => {
  const one = aSuccess();
  expect(() => readEvents(JSON.stringify(damage(parsed(rowsOf([one])))))).toThrow(RangeError);
});
