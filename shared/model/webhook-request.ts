import { DELIVERIES_HEADER } from './batch';

/**
 * Describes the POST of a webhook without its body (webhook-body.ts): the headers that Waypost
 * sets, and the parts that a customer sets, its URL and its static headers. The API refuses a
 * static header with the name of one of Waypost's. Delivery leaves it out if it was stored before
 * the name was reserved.
 */

/**
 * The only header of Waypost that a static one may replace: firewalls and receivers demand their
 * own value.
 */
export const USER_AGENT = 'user-agent';
/**
 * The only header of Waypost that a destination may render: it replaces the content type of the
 * body.
 */
export const CONTENT_TYPE = 'content-type';
export const CONTENT_ENCODING = 'content-encoding';

export const USUAL_CONTENT_TYPE = 'application/json';
export const USUAL_USER_AGENT = 'Waypost/1.0';

/** What the values of the headers of one POST are made of. */
export interface HeaderFacts {
  /** of this attempt */
  traceparent: string;
  /** the request as the router rendered it */
  rendered: { contentType?: string | undefined };
  /** the URL that is called */
  endpoint: { userAgent?: string | undefined };
}

interface OwnHeader {
  /** in lower case */
  name: string;
  /** its value in the table of docs/guide/receiving.md */
  docs: string;
  /** the value of each POST for which `value` returns none; absent: such a POST lacks the header */
  usual?: string;
  /** Neither this nor `usual`: the file that the comment names sets the header. */
  value?: (facts: HeaderFacts) => string | undefined;
  /** Control can tell after an attempt what it sent: `usual`, an id, or a masked secret. */
  isStored: boolean;
}

const SIGNATURES = 'the signatures; absent without a secret (`v1a` needs none)';

/**
 * All headers that Waypost sets. An entry with a value is sent with every webhook, and the rules
 * for the customer's headers, the preview, the shown requests and `waypost listen` follow it.
 */
export const WAYPOST_HEADERS: readonly OwnHeader[] = [
  {
    name: CONTENT_TYPE,
    docs: '`application/json`',
    usual: USUAL_CONTENT_TYPE,
    value: ({ rendered }) => rendered.contentType,
    isStored: true,
  },
  {
    name: USER_AGENT,
    docs: '`Waypost/1.0`, or your static header `User-Agent`',
    usual: USUAL_USER_AGENT,
    value: ({ endpoint }) => endpoint.userAgent,
    isStored: true,
  },
  // sign.ts
  {
    name: 'webhook-id',
    docs: 'the id of the delivery, the same on every attempt',
    isStored: true,
  },
  // sign.ts
  {
    name: 'webhook-timestamp',
    docs: 'the time of the attempt, in seconds since 1970',
    isStored: false,
  },
  // sign.ts: needs a secret or an Ed25519 key
  {
    name: 'webhook-signature',
    docs: SIGNATURES,
    isStored: true,
  },
  // sign.ts: needs a secret, and may be switched off
  {
    name: 'x-signature',
    docs: SIGNATURES,
    isStored: true,
  },
  {
    name: 'traceparent',
    docs: 'the [W3C trace context](https://www.w3.org/TR/trace-context/) of the attempt',
    value: ({ traceparent }) => traceparent,
    isStored: false,
  },
  // batches/batch-request.ts of delivery
  {
    name: DELIVERIES_HEADER,
    docs: 'only of a [batch](#batches): the ids of its deliveries',
    isStored: false,
  },
];

/** The headers whose values Waypost does not keep, since they differ with each request. */
export const NOT_STORED_HEADERS: readonly string[] = WAYPOST_HEADERS.filter(
  ({ isStored }) => !isStored,
).map(({ name }) => name);

/** The values that a header has unless the message or the customer changes it. */
export const USUAL_HEADERS: Readonly<Record<string, string>> = Object.fromEntries(
  WAYPOST_HEADERS.flatMap(({ name, usual }) => (usual === undefined ? [] : [[name, usual]])),
);

/** The entries that `addOwnHeaders` adds. */
const ADDED = WAYPOST_HEADERS.filter(({ usual, value }) => usual !== undefined || value);

/**
 * Adds the headers of every webhook other than those of `signHeaders`. This runs for each POST: it
 * allocates nothing.
 * @param headers alternating names and values, changed in place
 */
export function addOwnHeaders(headers: string[], facts: HeaderFacts): string[] {
  for (const { name, usual, value } of ADDED) {
    const sent = value?.(facts) ?? usual;
    if (sent !== undefined) headers.push(name, sent);
  }
  return headers;
}

const MAX_URL_CHARACTERS = 2_048;
const MAX_HOST_CHARACTERS = 253;

export type UrlCheck = { ok: true; url: URL } | { ok: false; problem: string };

/**
 * Checks the URL of a webhook: http or https, a host, no user info, no fragment, at most 2,048
 * characters.
 * @param text as the customer wrote it
 * @returns the parsed URL, or the first problem in words that end a sentence beginning with "the
 * URL". The text is not repeated: its path may contain a token. The address is checked when
 * connecting (address-guard.ts).
 */
export function checkWebhookUrl(text: string): UrlCheck {
  const problem = formProblem(text);
  if (problem !== undefined) return { ok: false, problem };
  if (!URL.canParse(text)) return { ok: false, problem: 'is not a valid URL' };
  const url = new URL(text);
  if (url.hostname.length > MAX_HOST_CHARACTERS) {
    return { ok: false, problem: 'has a host name that is too long' };
  }
  return { ok: true, url };
}

/**
 * Returns path and query byte for byte as the customer wrote them, since receivers sign the URL
 * that they know: the WHATWG parser would write `'` as `%27`, drop a `?` at the end, and resolve
 * `..`. A request line carries printable ASCII only: other characters are encoded, as it does.
 * @param text that `checkWebhookUrl` accepts
 */
export function requestTarget(text: string): string {
  const written = /^https?:\/\/[^/?]*(.*)$/is.exec(text)?.[1] ?? '';
  const encoded = written.replace(/[^\x21-\x7e]+/g, (part) =>
    encodeURIComponent(part.replace(/\p{Surrogate}/gu, '\ufffd')),
  );
  return encoded.startsWith('/') ? encoded : `/${encoded}`;
}

/**
 * Refuses forms that the WHATWG parser would silently correct or drop (blanks, `http:host`,
 * `http://@host`, a bare `#`), so that the stored URL reads like the called one.
 */
function formProblem(text: string): string | undefined {
  if (text.length > MAX_URL_CHARACTERS) return `is longer than ${MAX_URL_CHARACTERS} characters`;
  // eslint-disable-next-line no-control-regex -- this looks for control characters
  if (/[\s\x00-\x1f\x7f\\]/.test(text)) {
    return 'contains a space, a backslash or a control character';
  }
  const scheme = /^https?:\/\//i.exec(text);
  if (!scheme) return 'must start with http:// or https://';
  const authority = /^[^/?#]*/.exec(text.slice(scheme[0].length))?.[0] ?? '';
  if (authority.includes('@')) return 'must not contain a user name or password';
  if (authority === '' || authority.startsWith(':')) return 'has no host';
  if (text.includes('#')) return 'must not have a fragment (#)';
  return undefined;
}

/** A refused header with the reason. `name` is empty if the whole list is at fault. */
export interface HeaderProblem {
  name: string;
  problem: string;
}

export const MAX_HEADERS = 20;
const MAX_VALUE_BYTES = 1_024;

/** RFC 9110 section 5.6.2: the characters of a field name. */
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/**
 * No control characters (CR and LF would begin another header) and no bytes of unspecified charset.
 */
const PRINTABLE_ASCII = /^[\x20-\x7e]*$/;

const OURS = 'is set by Waypost itself';
const FRAMING = 'is controlled by the HTTP connection';

/** Lower-case name → reason of refusal. */
const REFUSED: ReadonlyMap<string, string> = new Map([
  ...WAYPOST_HEADERS.map(({ name }) => [name, OURS] as const),
  ['tracestate', OURS],
  ...[
    'host',
    'content-length',
    'content-encoding',
    'connection',
    'keep-alive',
    'transfer-encoding',
    'te',
    'trailer',
    'upgrade',
    'expect',
  ].map((name) => [name, FRAMING] as const),
]);

const REFUSED_PREFIXES = [
  ['proxy-', FRAMING],
  ['webhook-', OURS],
] as const;

/** Returns whether no static header may have the name, because Waypost sets a header with it. */
export function isOwnHeader(name: string): boolean {
  const lower = name.toLowerCase();
  return lower !== USER_AGENT && refusal(lower) === OURS;
}

/**
 * Checks all static headers of one webhook, when they are set and again when they are sent, so that
 * no customer can forge a signature, split a request or change its framing.
 * @param headers name → value, as the customer gave them
 * @returns every problem found; empty if all may be sent. Values are never repeated: they may be
 *   credentials.
 */
export function checkStaticHeaders(headers: Record<string, unknown>): HeaderProblem[] {
  return checkHeaders(headers, (name, lower) =>
    lower === USER_AGENT ? undefined : nameProblem(name, lower),
  );
}

/**
 * Checks the names of headers that are rendered for each message, by the rules of static headers
 * except `CONTENT_TYPE`.
 */
export function checkRenderedHeaders(names: readonly string[]): HeaderProblem[] {
  const headers = Object.fromEntries(names.map((name) => [name, '']));
  return checkHeaders(headers, (name, lower) =>
    lower === CONTENT_TYPE ? undefined : newNameProblem(name, lower),
  );
}

function checkHeaders(
  headers: Record<string, unknown>,
  wrongName: typeof nameProblem,
): HeaderProblem[] {
  const entries = Object.entries(headers);
  if (entries.length > MAX_HEADERS) {
    const problem = `there are ${entries.length} headers; at most ${MAX_HEADERS} are allowed`;
    return [{ name: '', problem }];
  }
  const problems: HeaderProblem[] = [];
  const seen = new Set<string>();
  for (const [name, value] of entries) {
    const lower = name.toLowerCase();
    const problem =
      wrongName(name, lower) ?? (seen.has(lower) ? 'is given twice' : valueProblem(value));
    if (problem !== undefined) problems.push({ name, problem });
    seen.add(lower);
  }
  return problems;
}

/**
 * Returns why an authentication or a signature may not set a header of this name, as the end of a
 * sentence; undefined if it may.
 */
export function checkHeaderName(name: string): string | undefined {
  return newNameProblem(name, name.toLowerCase());
}

/** Static headers `waypost-…` were allowed once, and stored ones are sent as they are. */
function newNameProblem(name: string, lower: string): string | undefined {
  return nameProblem(name, lower) ?? (lower.startsWith('waypost-') ? OURS : undefined);
}

function nameProblem(name: string, lower: string): string | undefined {
  if (!TOKEN.test(name)) return 'is not a valid header name';
  return refusal(lower);
}

function refusal(lower: string): string | undefined {
  return REFUSED.get(lower) ?? REFUSED_PREFIXES.find(([prefix]) => lower.startsWith(prefix))?.[1];
}

/**
 * Returns what is wrong with the value of a header; undefined if it may be sent. The value is not
 * repeated.
 */
export function valueProblem(value: unknown): string | undefined {
  if (typeof value !== 'string') return 'must have a string value';
  if (value.length > MAX_VALUE_BYTES) return `has a value longer than ${MAX_VALUE_BYTES} bytes`;
  if (!PRINTABLE_ASCII.test(value)) return 'has a value with characters other than printable ASCII';
  return undefined;
}
