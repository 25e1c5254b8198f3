import { createContext, Script } from 'node:vm';
import fc from 'fast-check';
import { redact, secretTexts } from '../../../../services/delivery/http/redact';
import { cases } from '../../../support/cases';

/** The masks of secrets in what an endpoint chooses: they are complete, and made in linear time. */

/** Few letters, so that parts of a secret repeat in it and in the text. */
const text = fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 60 });
const secret = fc.string({ unit: fc.constantFrom('a', 'b'), minLength: 4, maxLength: 12 });

test('every occurrence of a secret is masked, as by a plain search', () => {
  fc.assert(
    fc.property(text, secret, (given, hidden) => {
      expect(redact(given, [hidden])).toBe(given.replaceAll(hidden, '***'));
    }),
    { numRuns: cases(2_000) },
  );
});

test('of a text that was cut off, the longest beginning of a secret at its end is masked', () => {
  fc.assert(
    fc.property(text, secret, (given, hidden) => {
      const whole = given.replaceAll(hidden, '\0');
      const begun = Array.from({ length: hidden.length - 3 }, (_, i) => hidden.slice(0, -i - 1));
      const end = begun.find((part) => part.length >= 4 && whole.endsWith(part)) ?? '';
      const expected = whole.slice(0, whole.length - end.length) + (end === '' ? '' : '***');
      expect(redact(given, [hidden], true)).toBe(expected.replaceAll('\0', '***'));
    }),
    { numRuns: cases(2_000) },
  );
});

test('what a text was cut off in is masked whole, though another secret ends there', () => {
  expect(redact('it is tokabcd', ['abcdWXYZ', 'tokabcd'], true)).toBe('it is ***');
});

test.each([
  ['JSON', (text: string) => JSON.stringify(text)],
  ['JSON of PHP', (text: string) => JSON.stringify(text).replaceAll('/', '\\/')],
  ['a URL', encodeURIComponent],
])('a secret with special characters is masked in %s', (_, write) => {
  const password = 'plan"ted\\/pass word';
  const basic = `Basic ${Buffer.from(`shop:${password}`).toString('base64')}`;
  const secrets = secretTexts('/', ['authorization', basic, 'x-key', password]);
  expect(redact(write(`got ${password}`), secrets)).not.toMatch(/plan|pass/);
});

/** Ends a search that would take hours: milliseconds are usual. */
const HANGS_MS = 60_000;
const WATCHED = new Script('run()');

test.each([
  [
    'a secret that differs from the text in the middle',
    `${'a'.repeat(250_000)}b${'a'.repeat(250_000)}`,
    'a'.repeat(1_000_000),
  ],
  [
    'a secret that differs from the text at its end',
    `${'a'.repeat(500_000)}b`,
    `${'a'.repeat(1_000_000)}c`,
  ],
])('%s is looked for in linear time', (_, hidden, given) => {
  const run = () => redact(given, [hidden], true).length;
  const length = WATCHED.runInContext(createContext({ run }), { timeout: HANGS_MS }) as number;
  expect(length).toBeLessThanOrEqual(given.length);
});
