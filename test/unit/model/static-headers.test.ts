import fc from 'fast-check';
import { checkStaticHeaders } from '../../../shared/model/static-headers';

const names = (headers: Record<string, unknown>) => checkStaticHeaders(headers).map((p) => p.name);

describe('the check of static headers', () => {
  test.each([
    ['none', {}],
    ['ordinary ones', { Authorization: 'Bearer abc', 'X-Api-Key': 'k', "!#$%&'*+.^_`|~9-": 'all token characters' }],
    ['an empty value', { 'X-Empty': '' }],
    ['a value of 1 KB', { 'X-Long': 'a'.repeat(1024) }],
    ['all printable ASCII', { X: Array.from({ length: 95 }, (_, i) => String.fromCharCode(0x20 + i)).join('') }],
    ['20 of them', Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`X-${String(i)}`, 'v']))],
    ['names that only resemble refused ones', { 'X-Host': '1', Proxying: '1', Webhook: '1', 'X-Signature-2': '1' }],
  ])('accepts %s', (_, headers) => expect(checkStaticHeaders(headers)).toEqual([]));

  test.each(
    (
      'content-type user-agent traceparent tracestate x-signature host content-length content-encoding connection ' +
      'keep-alive transfer-encoding te trailer upgrade expect proxy-authorization proxy-connection proxy- webhook-id ' +
      'webhook-timestamp webhook-signature webhook-anything'
    ).split(' '),
  )('refuses the name %s in any case', (name) => {
    for (const spelling of [name, name.toUpperCase(), name[0]!.toUpperCase() + name.slice(1)]) {
      expect(checkStaticHeaders({ [spelling]: 'v' })).toEqual([{ name: spelling, problem: expect.any(String) }]);
    }
  });

  test.each(['', ' ', 'a b', 'a:b', 'a\r\nb', 'ä', 'a\0', 'a"', 'a(b)', 'a/b'])('refuses the invalid name %j', (name) =>
    expect(names({ [name]: 'v' })).toEqual([name]),
  );

  test.each([
    ['a line break', 'a\r\nEvil: 1'],
    ['a bare LF', 'a\n'],
    ['a NUL', '\0'],
    ['a tab', 'a\tb'],
    ['a DEL', '\x7f'],
    ['beyond ASCII', 'é'],
    ['more than 1 KB', 'a'.repeat(1025)],
    ['a number', 1],
    ['null', null],
    ['undefined', undefined],
    ['a list', ['a']],
    ['an object', { keep: true }],
  ])('refuses a value that is or contains %s', (_, value) => expect(names({ X: value })).toEqual(['X']));

  test('refuses a 21st header, and blames the list', () => {
    const headers = Object.fromEntries(Array.from({ length: 21 }, (_, i) => [`X-${String(i)}`, 'v']));
    expect(checkStaticHeaders(headers)).toEqual([{ name: '', problem: expect.stringContaining('21') }]);
  });

  test('refuses a name given twice in another case', () => {
    expect(checkStaticHeaders({ 'X-Key': 'a', 'x-key': 'b' })).toEqual([{ name: 'x-key', problem: 'is given twice' }]);
  });

  test('lists all problems', () => {
    expect(names({ Host: 'a', 'X-Ok': 'b', 'X-Bad': '\n', 'bad name': 'c' })).toEqual(['Host', 'X-Bad', 'bad name']);
  });

  test('never repeats a value', () => {
    fc.assert(
      fc.property(fc.string(), (noise) => {
        const secret = `s3cret-${noise}\n`;
        expect(JSON.stringify(checkStaticHeaders({ A: secret, Host: secret, 'b d': secret }))).not.toContain('s3cret');
      }),
    );
  });

  test('accepts only sendable headers: no control character, no colon or space in a name', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.string({ unit: 'binary' })), (headers) => {
        fc.pre(checkStaticHeaders(headers).length === 0);
        for (const [name, value] of Object.entries(headers)) {
          expect(new Headers([[name, value]]).get(name)).toBe(value.trim());
        }
      }),
    );
  });
});
