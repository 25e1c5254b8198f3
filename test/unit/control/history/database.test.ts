import { isAway } from '../../../../services/control/history/database';
import { AppError } from '../../../../shared/runtime/errors';

test.each<[string, unknown, boolean]>([
  ['a time that no date can have', new RangeError('Invalid time value'), false],
  ['a mistake of our own', new TypeError('undefined is no object'), false],
  ['Kafka is away', new AppError('kafka_unavailable', 'away', true), false],
  ['a row exists already', Object.assign(new Error(), { code: '23505' }), false],
  ['the connection broke', Object.assign(new Error(), { code: '08006' }), true],
  ['the server has no connection left', Object.assign(new Error(), { code: '53300' }), true],
  ['the server does not answer', new Error('timeout'), true],
])('if %s, the database is away or not', (_, error, expected) => {
  expect(isAway(error, { broken: undefined })).toBe(expected);
});

test('a broken database is away whatever it answers', () => {
  const error = Object.assign(new Error(), { code: '23505' });
  expect(isAway(error, { broken: 'its files are damaged' })).toBe(true);
});
