import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { createEncryptor } from '../../../shared/config/encryption';

const OLD = randomBytes(32);
const NEW = randomBytes(32);
const SECRET = 'planted-secret-value';

describe('the encryptor', () => {
  test('decrypts every text that it encrypted', () => {
    const encryptor = createEncryptor([NEW]);
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.string(), (text, owner) => {
        expect(encryptor.decrypt(encryptor.encrypt(text, owner), owner)).toEqual({ text });
      }),
    );
  });

  test('encrypts a text differently each time, and names its key', () => {
    const encryptor = createEncryptor([NEW]);
    const [a, b] = [encryptor.encrypt(SECRET, 'dst_1'), encryptor.encrypt(SECRET, 'dst_1')];
    expect(a).not.toBe(b);
    expect(a).toMatch(/^[\w-]{8}\.[\w-]{16}\.[\w-]+\.[\w-]{22}$/);
    expect(a.slice(0, 8)).toBe(b.slice(0, 8));
  });

  test('encrypts with the first key of a list and decrypts with all', () => {
    const before = createEncryptor([OLD]).encrypt(SECRET, 'dst_1');
    const both = createEncryptor([NEW, OLD]);
    expect(both.decrypt(before, 'dst_1').text).toBe(SECRET);
    expect(createEncryptor([NEW]).decrypt(both.encrypt(SECRET, 'dst_1'), 'dst_1').text).toBe(
      SECRET,
    );
  });

  const sealed = createEncryptor([OLD]).encrypt(SECRET, 'dst_1');
  const [id, iv, text, tag] = sealed.split('.') as [string, string, string, string];
  test.each([
    ['another owner', OLD, sealed, 'dst_2', /belongs to another entry/],
    ['another key', NEW, sealed, 'dst_1', /WAYPOST_SECRET_KEY does not contain/],
    ['a changed text', OLD, [id, iv, `A${text.slice(1, -1)}A`, tag].join('.'), 'dst_1', /damaged/],
    ['a truncated tag', OLD, [id, iv, text, tag.slice(0, 6)].join('.'), 'dst_1', /malformed/],
    ['a text with a missing part', OLD, [id, iv, text].join('.'), 'dst_1', /malformed/],
    ['a plain text', OLD, SECRET, 'dst_1', /malformed/],
    ['an empty text', OLD, '', 'dst_1', /malformed/],
  ])(
    'refuses %s with a clear reason and without the secret',
    (...[, key, value, owner, message]) => {
      const opened = createEncryptor([key]).decrypt(value, owner);
      expect(opened).toEqual({ why: expect.stringMatching(message) });
      expect(opened.why).not.toMatch(new RegExp(`${SECRET}|${text}`));
    },
  );

  test('refuses an empty list and keys of another length', () => {
    expect(() => createEncryptor([])).toThrow(/one or more keys/);
    expect(() => createEncryptor([randomBytes(16)])).toThrow(/32 bytes/);
  });
});
