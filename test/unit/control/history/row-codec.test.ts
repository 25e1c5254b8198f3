import { databaseJson, fromColumns, toColumns, toCopy } from '../../../../services/control/history/row-codec';
import { applyEvent } from '../../../../services/control/history/delivery-row';
import { anAttempt } from '../../../support/events';

it('gives back the row that it was given', () => {
  const row = applyEvent(undefined, anAttempt());
  expect(fromColumns(toColumns(row))).toEqual(row);
});

it.each([
  ['nothing to escape', 'a', 'a'],
  ['a tab, a line and a NUL', 'a\tb\nc\rd\0', 'a\\tb\\nc\\rd\ufffd'],
  ['a backslash', 'a\\n', 'a\\\\n'],
])('writes %s as COPY reads it', (_, message, field) => {
  const row = { ...applyEvent(undefined, anAttempt({ message, userId: undefined })), tries: [] };
  const line = toCopy([row]);
  expect(line.split('\t')).toEqual([
    ...[String(row.acceptedAt), 'dlv_1', field, row.source, row.destination, row.type, '\\N', 'delivered', '\\N'],
    ...[String(row.expiresAt), '\\N', String(row.settledAt), '0', '0', '1', 'f', row.record, '[]', '\\N\n'],
  ]);
});

it.each([
  ['a NUL', 'a\0b', 'a\ufffdb'],
  ['half a pair', 'a\ud800b\udc00', 'a\ufffdb\ufffd'],
  ['a whole pair', '😀', '😀'],
  ['the spelling of a NUL', 'a\\u0000b', 'a\\u0000b'],
  ['a backslash and a NUL', 'a\\\0b', 'a\\\ufffdb'],
  ['a JSON text that holds a NUL', JSON.stringify('a\0b'), JSON.stringify('a\0b')],
])('writes %s so that PostgreSQL takes it', (_, given, taken) => {
  expect(JSON.parse(databaseJson({ key: given }))).toEqual({ key: taken });
});
