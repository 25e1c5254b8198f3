import { LaterConfig } from '../../../services/router/later-config';

/** A router that has read `config` to position 10. */
function atTen() {
  const config = { position: 10, changes: 10 };
  return { config, later: new LaterConfig(config) };
}

test.each([
  ['no position', undefined, false],
  ['an earlier position', 9, false],
  ['the same position', 10, false],
  ['a later position', 11, true],
])('a message with %s: awaited is %s, %s', (_, position, awaited) => {
  expect(atTen().later.isAwaited(position, false)).toBe(awaited);
});

test('a position is awaited until it is read', () => {
  const { config, later } = atTen();
  expect(later.isAwaited(12, false)).toBe(true);
  Object.assign(config, { position: 12, changes: 12 });
  expect(later.isAwaited(12, false)).toBe(false);
});

test('a position beyond the end of config is awaited once, and not for each message', () => {
  const { later } = atTen();
  expect(later.isAwaited(50, false)).toBe(true);
  expect(later.isAwaited(50, true)).toBe(false);
  expect(later.isAwaited(50, false)).toBe(false);
  // Another ingest process knew another end.
  expect(later.isAwaited(40, false)).toBe(true);
});

test('after a change of config a position that it did not reach is awaited again', () => {
  const { config, later } = atTen();
  later.isAwaited(12, true);
  Object.assign(config, { position: 11, changes: 11 });
  expect(later.isAwaited(12, false)).toBe(true);
});
