import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { createEncryptor } from '../../../shared/config/encryption';
import { secretFields, writeKeyField } from '../../../shared/model/secret-fields';

const OLD = randomBytes(32);
const NEW = randomBytes(32);
const SECRET = 'planted-secret-value';
const FIELD = secretFields.url('dst_1', 'whk_1');

describe('the encryptor', () => {
  test('decrypts every text that it encrypted', () => {
    const encryptor = createEncryptor([NEW]);
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme' }),
        fc.string(),
        fc.array(fc.string()),
        (text, id, path) => {
          const field = { kind: 'destination' as const, id, path };
          expect(encryptor.decrypt(encryptor.encrypt(text, field), field)).toEqual({ text });
        },
      ),
    );
  });

  test('encrypts a text differently each time, and names its key', () => {
    const encryptor = createEncryptor([NEW]);
    const [a, b] = [encryptor.encrypt(SECRET, FIELD), encryptor.encrypt(SECRET, FIELD)];
    expect(a).not.toBe(b);
    expect(a).toMatch(/^[\w-]{8}\.[\w-]{16}\.[\w-]+\.[\w-]{22}$/);
    expect(a.slice(0, 8)).toBe(b.slice(0, 8));
  });

  test('encrypts with the first key of a list and decrypts with all', () => {
    const before = createEncryptor([OLD]).encrypt(SECRET, FIELD);
    const both = createEncryptor([NEW, OLD]);
    expect(both.decrypt(before, FIELD).text).toBe(SECRET);
    expect(createEncryptor([NEW]).decrypt(both.encrypt(SECRET, FIELD), FIELD).text).toBe(SECRET);
  });

  const sealed = createEncryptor([OLD]).encrypt(SECRET, FIELD);
  const [id, iv, text, tag] = sealed.split('.') as [string, string, string, string];
  test.each([
    ['another entry', OLD, sealed, secretFields.url('dst_2', 'whk_1'), /belongs to another/],
    ['another webhook', OLD, sealed, secretFields.url('dst_1', 'whk_2'), /belongs to another/],
    ['a header', OLD, sealed, secretFields.header('dst_1', 'whk_1', 'x-key'), /belongs to another/],
    ['another kind', OLD, sealed, { ...FIELD, kind: 'source' as const }, /belongs to another/],
    ['a write key', OLD, sealed, writeKeyField('dst_1'), /belongs to another/],
    ['another key', NEW, sealed, FIELD, /WAYPOST_SECRET_KEY does not contain/],
    ['a changed text', OLD, [id, iv, `A${text.slice(1, -1)}A`, tag].join('.'), FIELD, /damaged/],
    ['a truncated tag', OLD, [id, iv, text, tag.slice(0, 6)].join('.'), FIELD, /malformed/],
    ['a text with a missing part', OLD, [id, iv, text].join('.'), FIELD, /malformed/],
    ['a plain text', OLD, SECRET, FIELD, /malformed/],
    ['an empty text', OLD, '', FIELD, /malformed/],
  ])(
    'refuses %s with a clear reason and without the secret',
    (...[, key, value, field, message]) => {
      const opened = createEncryptor([key]).decrypt(value, field);
      expect(opened).toEqual({ why: expect.stringMatching(message) });
      expect(opened.why).not.toMatch(new RegExp(`${SECRET}|${text}`));
    },
  );

  test('no name of a webhook makes two fields one', () => {
    const encryptor = createEncryptor([NEW]);
    const header = encryptor.encrypt(SECRET, secretFields.header('dst_1', 'whk_1', 'url'));
    for (const webhook of ['whk_1/headers', 'whk_1","headers']) {
      expect(encryptor.decrypt(header, secretFields.url('dst_1', webhook)).text).toBeUndefined();
    }
  });

  test('refuses an empty list and keys of another length', () => {
    expect(() => createEncryptor([])).toThrow(/one or more keys/);
    expect(() => createEncryptor([randomBytes(16)])).toThrow(/32 bytes/);
  });
});
