/** Checks the form of a webhook's URL. Its address is checked when connecting (shared/model/address-guard.ts). */

const MAX_URL_CHARACTERS = 2_048;
const MAX_HOST_CHARACTERS = 253;

export type UrlCheck = { ok: true; url: URL } | { ok: false; problem: string };

/**
 * Checks the URL of a webhook: http or https, a host, no user info, no fragment, at most 2,048 characters.
 * @param text as the customer wrote it
 * @returns the parsed URL, or the first problem in words that end a sentence beginning with "the URL". The text is not
 * repeated: its path may contain a token.
 */
export function checkWebhookUrl(text: string): UrlCheck {
  const problem = formProblem(text);
  if (problem !== undefined) return { ok: false, problem };
  if (!URL.canParse(text)) return { ok: false, problem: 'is not a valid URL' };
  const url = new URL(text);
  if (url.hostname.length > MAX_HOST_CHARACTERS) return { ok: false, problem: 'has a host name that is too long' };
  return { ok: true, url };
}

/**
 * Refuses forms that the WHATWG parser would silently correct or drop (blanks, `http:host`, `http://@host`, a bare
 * `#`), so that the stored URL reads like the called one.
 */
function formProblem(text: string): string | undefined {
  if (text.length > MAX_URL_CHARACTERS) return `is longer than ${MAX_URL_CHARACTERS} characters`;
  // eslint-disable-next-line no-control-regex -- this looks for control characters
  if (/[\s\x00-\x1f\x7f\\]/.test(text)) return 'contains a space, a backslash or a control character';
  const scheme = /^https?:\/\//i.exec(text);
  if (!scheme) return 'must start with http:// or https://';
  const authority = /^[^/?#]*/.exec(text.slice(scheme[0].length))?.[0] ?? '';
  if (authority.includes('@')) return 'must not contain a user name or password';
  if (authority === '' || authority.startsWith(':')) return 'has no host';
  if (text.includes('#')) return 'must not have a fragment (#)';
  return undefined;
}
