import { fromColumns, toColumns, toCopy } from '../../../../services/control/history/row-codec';
import { applyEvent } from '../../../../services/control/history/delivery-row';
import { aDeath, anEvent, aUrl } from '../../../support/events';
import { databaseJson } from '../../../../services/control/history/database';

test('a row survives encoding and decoding', () => {
  const row = applyEvent(undefined, anEvent());
  expect(fromColumns(toColumns(row))).toEqual(row);
});

test("an unrendered delivery's row survives its encoding, and COPY can read its error", () => {
  const error = 'request/body: a\tb';
  const row = applyEvent(undefined, aDeath({ reason: 'render_failed', n: 0, error }));
  expect(fromColumns(toColumns(row))).toEqual(row);
  expect(toColumns(row)).toMatchObject({ last_error: 'render_failed', dead_error: error });
  expect(toCopy(row)).toMatch(/\trender_failed\trequest\/body: a\\tb\t\\N\t\\N\t\\N$/);
});

test.each([
  ['a plain text', 'a', 'a'],
  ['a tab, a line and a NUL', 'a\tb\nc\rd\0', 'a\\tb\\nc\\rd\ufffd'],
  ['a backslash', 'a\\n', 'a\\\\n'],
])('COPY can read %s', (_, message, field) => {
  const row = { ...applyEvent(undefined, anEvent({ message, userId: undefined })), tries: [] };
  const line = toCopy(row);
  expect(line.split('\t')).toEqual([
    String(row.acceptedAt),
    'dlv_1',
    field,
    row.source,
    row.destination,
    row.type,
    '\\N',
    'delivered',
    '\\N',
    String(row.expiresAt),
    '\\N',
    String(row.settledAt),
    '0',
    '0',
    '1',
    'f',
    row.record,
    '[]',
    '\\N',
    '\\N',
    '\\N',
    '\\N',
    '\\N',
    '\\N',
    '\\N',
    '\\N',
  ]);
});

test('COPY can read the batches of a delivery', () => {
  const urls = ['bat_1', 'bat_2', 'bat_1'].map((id) =>
    aUrl({ batch: { id, size: 2, index: 0, first: 'dlv_1' } }),
  );
  const row = applyEvent(undefined, anEvent({ urls }));
  expect(toCopy(row).endsWith('\t{"bat_1","bat_2"}\t\\N\t\\N')).toBe(true);
  expect(toColumns(row).batches).toEqual(['bat_1', 'bat_2']);
});

test.each([
  ['a NUL', 'a\0b', 'a\ufffdb'],
  ['half a surrogate pair', 'a\ud800b\udc00', 'a\ufffdb\ufffd'],
  ['a whole surrogate pair', '😀', '😀'],
  ['the escape of a NUL as text', 'a\\u0000b', 'a\\u0000b'],
  ['a backslash and a NUL', 'a\\\0b', 'a\\\ufffdb'],
  ['a JSON text that contains a NUL', JSON.stringify('a\0b'), JSON.stringify('a\0b')],
])('PostgreSQL accepts JSON with %s', (_, given, taken) => {
  expect(JSON.parse(databaseJson({ key: given }))).toEqual({ key: taken });
});
