/**
 * Decides which static headers a customer may set on a webhook. They are checked when set and again when sent, so that
 * no customer can forge a signature, split a request or change its framing.
 */

/** A refused header with the reason. `name` is empty if the whole list is at fault. */
export interface HeaderProblem {
  name: string;
  problem: string;
}

const MAX_HEADERS = 20;
const MAX_VALUE_BYTES = 1_024;

/** RFC 9110 section 5.6.2: the characters of a field name. */
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** No control characters (CR and LF would begin another header) and no bytes of unspecified charset. */
const PRINTABLE_ASCII = /^[\x20-\x7e]*$/;

const OURS = 'is set by Waypost itself';
const FRAMING = 'is controlled by the HTTP connection';

/** Lower-case name → reason of refusal. */
const REFUSED: ReadonlyMap<string, string> = new Map([
  ...['content-type', 'user-agent', 'traceparent', 'tracestate', 'x-signature'].map((name) => [name, OURS] as const),
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

/**
 * Checks all static headers of one webhook.
 * @param headers name → value, as the customer gave them
 * @returns every problem found; empty if all may be sent. Values are never repeated: they may be credentials.
 */
export function checkStaticHeaders(headers: Record<string, unknown>): HeaderProblem[] {
  const problems: HeaderProblem[] = [];
  const entries = Object.entries(headers);
  if (entries.length > MAX_HEADERS) {
    problems.push({ name: '', problem: `there are ${entries.length} headers; at most ${MAX_HEADERS} are allowed` });
  }
  const seen = new Set<string>();
  for (const [name, value] of entries) {
    const lower = name.toLowerCase();
    const problem = nameProblem(name, lower) ?? (seen.has(lower) ? 'is given twice' : valueProblem(value));
    if (problem !== undefined) problems.push({ name, problem });
    seen.add(lower);
  }
  return problems;
}

function nameProblem(name: string, lower: string): string | undefined {
  if (!TOKEN.test(name)) return 'is not a valid header name';
  return REFUSED.get(lower) ?? REFUSED_PREFIXES.find(([prefix]) => lower.startsWith(prefix))?.[1];
}

function valueProblem(value: unknown): string | undefined {
  if (typeof value !== 'string') return 'must have a string value';
  if (value.length > MAX_VALUE_BYTES) return `has a value longer than ${MAX_VALUE_BYTES} bytes`;
  if (!PRINTABLE_ASCII.test(value)) return 'has a value with characters other than printable ASCII';
  return undefined;
}
