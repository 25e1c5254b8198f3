import fc from 'fast-check';
import { checkWebhookUrl } from '../../../shared/model/webhook-url';

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
    const near = fc.tuple(fc.constantFrom('http://', 'https://', ''), fc.string({ unit: 'binary' }));
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
