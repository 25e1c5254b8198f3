import fc from 'fast-check';
import { prepareSecrets, signHeaders } from '../../../shared/model/sign';
import { DELIVERIES_HEADER } from '../../../shared/model/batch';
import {
  addOwnHeaders,
  checkWebhookUrl,
  checkStaticHeaders,
  requestTarget,
  WAYPOST_HEADERS,
} from '../../../shared/model/webhook-request';
import { anyText } from '../../support/any-text';

const AT_LIMIT = `https://a.example/${'x'.repeat(2048 - 'https://a.example/'.length)}`;

describe('the check of a webhook URL', () => {
  test.each([
    ['http://example.com', 'http://example.com/'],
    ['HTTPS://Example.COM/Path?q=1&b=%20', 'https://example.com/Path?q=1&b=%20'],
    ['https://example.com:8443/hook', 'https://example.com:8443/hook'],
    ['http://127.0.0.1:3000/', 'http://127.0.0.1:3000/'],
    ['http://[::1]:3000/', 'http://[::1]:3000/'],
    ['https://bücher.example/', 'https://xn--bcher-kva.example/'],
    ['http://localhost./x', 'http://localhost./x'],
    ['https://example.com/a@b', 'https://example.com/a@b'],
    ['https://example.com?mail=a@b', 'https://example.com/?mail=a@b'],
    ['https://example.com/%23', 'https://example.com/%23'],
    [AT_LIMIT, AT_LIMIT],
  ])('accepts %.60s', (text, href) => {
    const result = checkWebhookUrl(text);
    expect(result.ok && result.url.href).toBe(href);
  });

  test.each([
    ['', 'must start with'],
    ['example.com', 'must start with'],
    ['//example.com', 'must start with'],
    ['ftp://example.com', 'must start with'],
    ['file:///etc/passwd', 'must start with'],
    ['javascript:alert(1)', 'must start with'],
    ['http:example.com', 'must start with'],
    ['https:/example.com', 'must start with'],
    ['http://', 'no host'],
    ['http:///path', 'no host'],
    ['http://?q', 'no host'],
    ['http://:80/', 'no host'],
    ['http://user@example.com', 'user name'],
    ['http://user:pw@example.com', 'user name'],
    ['http://@example.com', 'user name'],
    ['http://:@example.com', 'user name'],
    ['https://example.com/#top', 'fragment'],
    ['https://example.com/#', 'fragment'],
    [' https://example.com', 'space'],
    ['https://exa\nmple.com', 'control'],
    ['https://example.com/a b', 'space'],
    ['https:\\\\example.com', 'backslash'],
    ['https://example.com\\@evil.example', 'backslash'],
    ['https://example.com\0', 'control'],
    ['http://256.256.256.256/', 'is not a valid URL'],
    ['http://exa<mple.com/', 'is not a valid URL'],
    ['http://example.com:99999/', 'is not a valid URL'],
    ['http://[::1/', 'is not a valid URL'],
    [`http://${'a.'.repeat(130)}com/`, 'too long'],
    [`${AT_LIMIT}x`, 'longer than'],
  ])('refuses %.60j: %s', (text, problem) => {
    expect(checkWebhookUrl(text)).toEqual({ ok: false, problem: expect.stringContaining(problem) });
  });

  test('never throws, and accepts only URLs with a host and without user info or fragment', () => {
    const near = fc.tuple(fc.constantFrom('http://', 'https://', ''), anyText());
    fc.assert(
      fc.property(
        fc.oneof(
          fc.webUrl(),
          fc.string(),
          near.map(([scheme, rest]) => scheme + rest),
        ),
        (text) => {
          const result = checkWebhookUrl(text);
          if (!result.ok) return;
          const { url } = result;
          expect(['http:', 'https:']).toContain(url.protocol);
          expect(url.hostname).not.toBe('');
          expect(url.username + url.password + url.hash).toBe('');
        },
      ),
    );
  });
});

test("a POST has Waypost's headers, and only a static User-Agent may have the name of one", () => {
  const signing = { id: 'dlv_1', timestampS: 1_700_000_000, body: Buffer.from('{}'), nowMs: 0 };
  const headers = addOwnHeaders(
    signHeaders({ ...signing, secrets: prepareSecrets({ current: 'key' }) }),
    { traceparent: '00-trace', rendered: {}, endpoint: {} },
  );
  const pairs = Array.from({ length: headers.length / 2 }, (_, i) =>
    headers.slice(2 * i, 2 * i + 2),
  );
  expect(pairs).toEqual([
    ['webhook-id', 'dlv_1'],
    ['webhook-timestamp', '1700000000'],
    ['X-Signature', expect.stringMatching(/^[0-9a-f]{40}$/)],
    ['webhook-signature', expect.stringMatching(/^v1,/)],
    ['content-type', 'application/json'],
    ['user-agent', 'Waypost/1.0'],
    ['traceparent', '00-trace'],
  ]);
  const sent = pairs.map(([name = '']) => name.toLowerCase());
  // Only a batch has it.
  sent.push(DELIVERIES_HEADER);
  expect(WAYPOST_HEADERS.map(({ name }) => name).sort()).toEqual(sent.sort());
  for (const name of sent.filter((each) => each !== 'user-agent')) {
    expect(checkStaticHeaders({ [name]: 'v' })).toMatchObject([{ name }]);
  }
});

const names = (headers: Record<string, unknown>) => checkStaticHeaders(headers).map((p) => p.name);

describe('the check of static headers', () => {
  test.each([
    ['none', {}],
    [
      'ordinary ones',
      { Authorization: 'Bearer abc', 'X-Api-Key': 'k', "!#$%&'*+.^_`|~9-": 'all token characters' },
    ],
    ['an empty value', { 'X-Empty': '' }],
    ['a value of 1 KB', { 'X-Long': 'a'.repeat(1024) }],
    [
      'all printable ASCII',
      { X: Array.from({ length: 95 }, (_, i) => String.fromCharCode(0x20 + i)).join('') },
    ],
    [
      '20 of them',
      Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`X-${String(i)}`, 'v'])),
    ],
    ['a User-Agent, which replaces that of Waypost', { 'User-Agent': 'shop-gateway/2' }],
    [
      'names that only resemble refused ones',
      { 'X-Host': '1', Proxying: '1', Webhook: '1', 'X-Signature-2': '1' },
    ],
  ])('accepts %s', (_, headers) => expect(checkStaticHeaders(headers)).toEqual([]));

  test.each(
    (
      'content-type traceparent tracestate x-signature host content-length ' +
      'content-encoding connection ' +
      'keep-alive transfer-encoding te trailer upgrade expect proxy-authorization ' +
      'proxy-connection proxy- webhook-id ' +
      'webhook-timestamp webhook-signature webhook-anything'
    ).split(' '),
  )('refuses the name %s in any case', (name) => {
    for (const spelling of [name, name.toUpperCase(), name[0]!.toUpperCase() + name.slice(1)]) {
      expect(checkStaticHeaders({ [spelling]: 'v' })).toEqual([
        { name: spelling, problem: expect.any(String) },
      ]);
    }
  });

  test.each(['', ' ', 'a b', 'a:b', 'a\r\nb', 'ä', 'a\0', 'a"', 'a(b)', 'a/b'])(
    'refuses the invalid name %j',
    (name) => expect(names({ [name]: 'v' })).toEqual([name]),
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
  ])('refuses a value that is or contains %s', (_, value) =>
    expect(names({ X: value })).toEqual(['X']),
  );

  test('refuses a 21st header, and blames the list', () => {
    const headers = Object.fromEntries(
      Array.from({ length: 21 }, (_, i) => [`X-${String(i)}`, 'v']),
    );
    expect(checkStaticHeaders(headers)).toEqual([
      { name: '', problem: expect.stringContaining('21') },
    ]);
  });

  test('refuses a name given twice in another case', () => {
    expect(checkStaticHeaders({ 'X-Key': 'a', 'x-key': 'b' })).toEqual([
      { name: 'x-key', problem: 'is given twice' },
    ]);
  });

  test('lists all problems', () => {
    expect(names({ Host: 'a', 'X-Ok': 'b', 'X-Bad': '\n', 'bad name': 'c' })).toEqual([
      'Host',
      'X-Bad',
      'bad name',
    ]);
  });

  test('never repeats a value', () => {
    fc.assert(
      fc.property(fc.string(), (noise) => {
        const secret = `s3cret-${noise}\n`;
        expect(
          JSON.stringify(checkStaticHeaders({ A: secret, Host: secret, 'b d': secret })),
        ).not.toContain('s3cret');
      }),
    );
  });

  test('accepts only sendable headers: no control character, no colon or space in a name', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), anyText()), (headers) => {
        fc.pre(checkStaticHeaders(headers).length === 0);
        for (const [name, value] of Object.entries(headers)) {
          expect(new Headers([[name, value]]).get(name)).toBe(value.trim());
        }
      }),
    );
  });
});

test.each([
  ['https://example.com', '/'],
  ['https://example.com?', '/?'],
  ['https://example.com/a?', '/a?'],
  ["HTTPS://Example.COM:443/It's?q='x'&r=\"{|}^`<>\"", "/It's?q='x'&r=\"{|}^`<>\""],
  ['http://[::1]:3000/a/../b/./%2e%2E//c', '/a/../b/./%2e%2E//c'],
  ['https://example.com//two', '//two'],
  ['https://example.com?mail=a@b/c', '/?mail=a@b/c'],
  ['https://example.com/%C3%BC?%zz', '/%C3%BC?%zz'],
  ["https://example.com/ü?'", "/%C3%BC?'"],
  ['https://example.com/\ud800', '/%EF%BF%BD'],
])('the request line of %s has %s, byte for byte where it can', (text, target) => {
  const result = checkWebhookUrl(text);
  expect(result.ok && requestTarget(text)).toBe(target);
});
