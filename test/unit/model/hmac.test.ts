import { createHmac } from 'node:crypto';
import { inspect } from 'node:util';
import fc from 'fast-check';
import { HmacKey } from '../../../shared/model/hmac';

const bytes = (maxLength: number) => fc.uint8Array({ maxLength }).map((array) => Buffer.from(array));
const ascii = fc.string({ unit: 'grapheme-ascii', maxLength: 80 });

describe('HmacKey', () => {
  test.each(['sha1', 'sha256'] as const)('gives the same %s as crypto.createHmac', (algorithm) => {
    fc.assert(
      fc.property(bytes(200), ascii, bytes(300), (key, head, body) => {
        const ours = new HmacKey(algorithm, key);
        const theirs = (encoding: 'hex' | 'base64') =>
          createHmac(algorithm, key).update(head, 'latin1').update(body).digest(encoding);
        expect(ours.sign(head, body, 'hex')).toBe(theirs('hex'));
        expect(ours.sign(head, body, 'base64')).toBe(theirs('base64'));
      }),
      { numRuns: 500 },
    );
  });

  test.each([63, 64, 65])('accepts a key of %d bytes', (length) => {
    const key = Buffer.alloc(length, 'k');
    const body = Buffer.from('body');
    expect(new HmacKey('sha256', key).sign('', body, 'hex')).toBe(createHmac('sha256', key).update(body).digest('hex'));
  });

  test('signs a body larger than any before, and a small one after it', () => {
    const key = new HmacKey('sha1', Buffer.from('k'));
    for (const size of [100, 3_000_000, 100]) {
      const body = Buffer.alloc(size, 'x');
      expect(key.sign('', body, 'hex')).toBe(createHmac('sha1', 'k').update(body).digest('hex'));
    }
  });

  test('does not print its key', () => {
    const printed = inspect(new HmacKey('sha1', Buffer.alloc(20, 'A')), { depth: 9, showHidden: true });
    expect(printed).not.toMatch(/65|41 41|119/);
  });
});
