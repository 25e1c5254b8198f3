/**
 * Masks the secrets of a request in the stored part of its response: endpoints echo headers, and a
 * redirect repeats path and query. All users with access to a delivery see its responses, also in
 * Kafka and in the history's database.
 */

export const MASK = '***';
/** Shorter texts occur by chance in every response, and are too short to be a secret. */
const LEAST_LENGTH = 4;
/**
 * Parts of a path of at least this length are masked on their own too: they may be tokens, as in
 * Slack's URLs.
 */
const TOKEN_LENGTH = 12;
/**
 * Spellings: more than those of real URLs and their headers. Each takes time with each response.
 */
export const MOST_SECRETS = 256;

/**
 * Returns the texts to mask in responses to requests with this path (including its query) and these
 * static headers (alternating names and values), and these other secrets, longest first.
 */
export function secretTexts(
  path: string,
  staticHeaders: readonly string[],
  others: readonly string[] = [],
): string[] {
  const found = new Set<string>();
  const add = (text: string) => {
    for (const form of formsOf(text)) found.add(form);
  };
  // Resolved against a base, a path of two slashes would be a host.
  const { pathname, searchParams } = new URL(`http://host${path}`);
  if (path.length > 1) add(path);
  if (pathname.length > 1) add(pathname);
  for (const part of pathname.split('/')) if (part.length >= TOKEN_LENGTH) add(part);
  for (const value of searchParams.values()) add(value);
  for (let i = 1; i < staticHeaders.length; i += 2) {
    for (const text of credentialsIn(staticHeaders[i] ?? '')) add(text);
  }
  for (const text of others) add(text);
  return [...found].sort((a, b) => b.length - a.length);
}

/**
 * Returns the spellings of a secret in which a response may repeat it. None is shorter than its
 * mask.
 */
export function formsOf(text: string): ReadonlySet<string> {
  const inJson = JSON.stringify(text).slice(1, -1);
  const forms = [
    text,
    decoded(text),
    encodeURIComponent(text),
    inJson,
    // As PHP writes JSON.
    inJson.replaceAll('/', '\\/'),
  ];
  return new Set(forms.filter(({ length }) => length >= LEAST_LENGTH));
}

/**
 * Returns a header's value, the credentials after its scheme (`Bearer …`), and the user and
 * password of `Basic`.
 */
function credentialsIn(value: string): string[] {
  const [, scheme, credentials] = /^([A-Za-z]+) +(\S+)$/.exec(value) ?? [];
  if (scheme === undefined || credentials === undefined) return [value];
  if (scheme.toLowerCase() !== 'basic') return [value, credentials];
  const pair = Buffer.from(credentials, 'base64').toString('utf8');
  return [value, credentials, pair, pair.slice(pair.indexOf(':') + 1)];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/**
 * Masks every secret. @param cut true if the text was cut off, so that its end may be the beginning
 * of a secret
 */
export function redact(text: string, secrets: readonly string[], cut = false): string {
  const masked = secrets.reduce(maskOne, text);
  if (!cut) return masked;
  const begun = Math.max(0, ...secrets.map((secret) => begunAtEnd(masked, secret)));
  return begun >= LEAST_LENGTH ? masked.slice(0, -begun) + MASK : masked;
}

/**
 * Takes time by the length of both texts, whatever they are (Knuth, Morris and Pratt): an endpoint
 * chooses its response, and its URL too. Node's own search multiplies the lengths at worst.
 */
function maskOne(text: string, secret: string): string {
  // Most responses repeat nothing.
  if (!text.includes(secret.slice(0, LEAST_LENGTH))) return text;
  const overlaps = overlapsIn(secret);
  let masked = '';
  let copied = 0;
  /** characters of the secret with which the text ends so far */
  let found = 0;
  for (let at = 0; at < text.length; at++) {
    found = continued(found, text.charCodeAt(at), secret, overlaps);
    if (found < secret.length) continue;
    masked += text.slice(copied, at + 1 - found) + MASK;
    copied = at + 1;
    found = 0;
  }
  return masked + text.slice(copied);
}

/** Returns how many characters of a secret a text ends with. */
function begunAtEnd(text: string, secret: string): number {
  const overlaps = overlapsIn(secret);
  let found = 0;
  for (let at = Math.max(0, text.length - secret.length + 1); at < text.length; at++) {
    found = continued(found, text.charCodeAt(at), secret, overlaps);
  }
  return found;
}

/** Returns for each beginning of a secret how much of it repeats at its own end. */
function overlapsIn(secret: string): readonly number[] {
  const overlaps = [0];
  let found = 0;
  for (let at = 1; at < secret.length; at++) {
    found = continued(found, secret.charCodeAt(at), secret, overlaps);
    overlaps.push(found);
  }
  return overlaps;
}

/** Returns how much of a secret is found after the next character. */
function continued(
  found: number,
  next: number,
  secret: string,
  overlaps: readonly number[],
): number {
  let known = found;
  while (known > 0 && secret.charCodeAt(known) !== next) known = overlaps[known - 1] ?? 0;
  return secret.charCodeAt(known) === next ? known + 1 : 0;
}

/**
 * Returns the origin of a redirect's target. The rest may be our path and query in another
 * spelling.
 */
export function redactLocation(location: string): string {
  if (!URL.canParse(location)) return MASK;
  const { origin, pathname, search } = new URL(location);
  return pathname.length > 1 || search !== '' ? `${origin}/${MASK}` : origin;
}
