import { isUtf8 } from 'node:buffer';
import { toUtf8 } from '../../../services/ingest/charset';
import { replacementsOf } from '../../support/replacements';

const isWhole = (text: string) => !/\p{Surrogate}/u.test(text);
const utf16 = (text: string) => Buffer.from(text, 'utf16le');
const bigEndian = (text: string) => utf16(text).swap16();
const text = '{"a":"Zoë – 5 €, 😀"}';
const latin = '{"a":"Zoë"}';

test.each<[string, Buffer, string | undefined, string]>([
  ['no charset', Buffer.from(text), 'application/json', text],
  ['no type', Buffer.from(text), undefined, text],
  ['UTF-8', Buffer.from(text), 'application/json; charset=UTF-8', text],
  ['Latin-1', Buffer.from(latin, 'latin1'), 'application/json;charset=ISO-8859-1', latin],
  ['Latin-1, quoted', Buffer.from(latin, 'latin1'), 'text/plain; x=y; Charset = "latin1"', latin],
  [
    'Windows-1252',
    Buffer.from([0x80, 0x93, 0x9f, 0xe9, 0x81]),
    'a/b; charset=windows-1252',
    '€“Ÿé\x81',
  ],
  ['Latin-1 as browsers read it', Buffer.from([0x80]), 'a/b; charset=iso-8859-1', '€'],
  ['UTF-16 in little-endian order', utf16(text), 'a/b; charset=utf-16le', text],
  ['UTF-16 in big-endian order', bigEndian(text), 'a/b; charset=utf-16be', text],
  ['UTF-16 without an order', bigEndian(text), 'a/b; charset=utf-16', text],
  ['UTF-16 without an order, the other one', utf16(text), 'a/b; charset=utf-16', text],
  ['a mark of UTF-16', utf16(`\ufeff${text}`), undefined, text],
  ['a mark of UTF-16, the other order', bigEndian(`\ufeff${text}`), 'a/b; charset=utf-8', text],
  ['a mark of UTF-8', Buffer.from(`\ufeff${text}`), 'a/b; charset=iso-8859-1', `\ufeff${text}`],
  [
    'an odd number of bytes of UTF-16',
    utf16(text).subarray(0, -1),
    'a/b; charset=utf-16le',
    text.slice(0, -1),
  ],
  [
    'GBK, also where its bytes are valid UTF-8',
    Buffer.from([0xc4, 0xa3]),
    'a/b; charset=gbk',
    '模',
  ],
  ['another charset', Buffer.from([0xd4, 0xc1]), 'a/b; charset=koi8-r', 'та'],
  ['a charset that nobody knows', Buffer.from(text), 'a/b; charset=klingon', text],
])('a body is read by %s', (_, body, contentType, expected) => {
  expect(toUtf8(body, contentType).toString('utf8')).toBe(expected);
});

test.each([
  [
    'half of a character of UTF-16',
    utf16('a\ud83db'),
    'a/b; charset=utf-16le',
    [0x61, 0xff, 0xbf, 0xbd, 0x62],
  ],
  [
    'a charset that it is not of',
    Buffer.from([0x61, 0xff]),
    'a/b; charset=shift_jis',
    [0x61, 0xff],
  ],
  ['a charset that nobody knows', Buffer.from([0x61, 0xff]), 'a/b; charset=klingon', [0x61, 0xff]],
])('what cannot be decoded stays invalid: %s', (_, body, contentType, bytes) => {
  expect([...toUtf8(body, contentType)]).toEqual(bytes);
});

test('half of a character of UTF-16 spoils only its own bytes, and a sent U+FFFD stays', () => {
  const parts = ['\ufffd😀é', '\udc00', 'é\ufffd', '\ud800'];
  const bytes = toUtf8(utf16(parts.join('')), 'a/b; charset=utf-16le');
  let at = 0;
  for (const part of parts) {
    const own = bytes.subarray(at, at + Buffer.byteLength(part));
    expect(isUtf8(own)).toBe(isWhole(part));
    if (isWhole(part)) expect(own.toString('utf8')).toBe(part);
    at += own.length;
  }
  expect(at).toBe(bytes.length);
});

describe('the work of decoding does not grow by the kind of bytes', () => {
  test.each([
    ['halves of characters of UTF-16', Buffer.from('00d8'.repeat(5_000), 'hex'), 'utf-16le'],
    ['bytes of Windows-1252 beyond ASCII', Buffer.alloc(10_000, 0x80), 'windows-1252'],
  ])('%s', (_, body, charset) => {
    const from = jest.spyOn(Buffer, 'from');
    try {
      const replacements = replacementsOf(() => void toUtf8(body, `a/b; charset=${charset}`));
      expect({ replacements, buffers: from.mock.calls.length <= 2 }).toEqual({
        replacements: 0,
        buffers: true,
      });
    } finally {
      from.mockRestore();
    }
  });
});
