import { ACCESS, type OperationId, OPERATION_IDS } from '../../shared/api/access';
import { defined } from '../../shared/collections/defined';
import { type Random, randomOf } from '../harness/random';

/**
 * What a read-only token may try: an endless sequence of requests to all its operations, chosen by
 * a seed, with the expressions and bodies that take most work. Pure.
 */

export interface ReaderRequest {
  operation: OperationId;
  method: string;
  /** below /api/v1, with its query */
  path: string;
  body?: object;
  /** a stream: it has no end */
  stream: boolean;
}

/** What exists, so that requests do more than miss. */
export interface Known {
  sources: readonly string[];
  destinations: readonly string[];
}

const OPERATIONS: readonly OperationId[] = OPERATION_IDS.filter((id) => {
  const { role } = ACCESS[id];
  // Ending the session of a token has no effect, and the document is the same every time.
  return role === 'read_only' && id !== 'DELETE /session';
});
/** These bring expressions, so most requests go to them. */
const BODIES: Partial<Record<OperationId, (random: Random, known: Known) => object>> = {
  'POST /destinations/preview': (random) => ({
    destination: {
      request: {
        ...optional(random, 'body', () => `{"a": ${textOf(random)}}`),
        headers: headersOf(random),
      },
      ...optional(random, 'filter', () => conditionOf(random)),
      ...optional(random, 'webhooks', () => webhooksOf(random)),
    },
  }),
  'POST /filters/try': (random, { sources }) => ({
    filter: conditionOf(random),
    limit: random.between(1, 500),
    ...optional(random, 'sources', () =>
      Array.from({ length: random.between(1, 1_000) }, () => random.one(sources)),
    ),
  }),
  'POST /audiences/preview': (random) => ({
    condition: conditionOf(random).replaceAll(/\b(event|messageId)\b/g, 'user.id'),
  }),
};

export function* readerRequests(seed: number, known: Known): Generator<ReaderRequest, never> {
  const random = randomOf(seed);
  const costly = Object.keys(BODIES) as OperationId[];
  for (;;) {
    const operation = random.one(random.next() < 0.6 ? costly : OPERATIONS);
    const [method = '', template = ''] = operation.split(' ');
    const id = template.startsWith('/destinations') ? known.destinations : ['unknown'];
    const body = BODIES[operation]?.(random, known);
    yield {
      operation,
      method,
      path: template.replace('{id}', () => random.one(id)) + (body ? '' : queryOf(random)),
      stream: operation === 'GET /events/stream',
      ...defined({ body }),
    };
  }
}

function optional(random: Random, name: string, make: () => unknown): object {
  return random.next() < 0.3 ? { [name]: make() } : {};
}

function queryOf(random: Random): string {
  return random.one([
    '',
    '?limit=100',
    '?limit=100&user=u1',
    '?type=track',
    '?q=abcdef&limit=100',
    '?q=a&sort=-name&limit=200',
    '?sort=-dead&limit=200&total=true',
    '?state=failing&sort=waiting',
    '?sort=-lastCall&limit=200',
    '?trend=true&since=2026-01-01T00:00:00Z',
  ]);
}

function headersOf(random: Random): object {
  const count = random.one([1, 5, 20, 20, 200]);
  return Object.fromEntries(
    Array.from({ length: count }, (_, i) => [`x-h${String(i)}`, textOf(random)]),
  );
}

function webhooksOf(random: Random): object[] {
  const url = (i: number) => `https://a.example.com/${String(i)}`;
  return Array.from({ length: random.one([1, 5, 3_000]) }, (_, i) => ({ url: url(i) }));
}

/** An expression that yields text. */
function textOf(random: Random): string {
  return `${conditionOf(random)} ? "a" : "b"`;
}

function conditionOf(random: Random): string {
  return random.one(CONDITIONS)(random);
}

const matches = (pattern: string) => `messageId.matches("${pattern}")`;
const count = (random: Random, most: number) => String(random.between(1, most));

const CONDITIONS: readonly ((random: Random) => string)[] = [
  () => 'event == "e"',
  // Counts that multiply, beyond the limit and below it.
  (random) => matches(`${'(a|bb|c){1000}'.repeat(random.between(1, 34))}z${count(random, 1e6)}`),
  (random) => matches(`(a|bb|c){${count(random, 200)}}z${count(random, 1e6)}`),
  (random) => Array.from({ length: 30 }, () => matches(`a{${count(random, 999)}}b`)).join(' || '),
  // An automaton with a state for each character that it reads.
  (random) =>
    matches(`[0-9a-z-]*[0-7][0-9a-z-]{${count(random, 60)}}[g-z]?[x-z]{${count(random, 30)}}`),
  (random) => matches(`(.*[0-7].{${count(random, 30)}}[a-f])+${count(random, 1e6)}`),
  // What the parser of patterns looks at character by character.
  (random) => matches('(?i)[!-ￜ]'.repeat(random.between(1, 50))),
  (random) => matches(`[${'\\\\pL\\\\pN'.repeat(random.between(1, 50))}]${count(random, 1e6)}`),
  // What the parser of expressions reads twice.
  (random) => `${'('.repeat(random.between(1, 999))}1`,
  (random) => `${'(['.repeat(28)}${'])'.repeat(28)} == ${count(random, 1e6)}`,
  (random) => Array.from({ length: 190 }, () => `event=="${count(random, 9)}"`).join('||'),
  (random) => `${'true?(false):'.repeat(random.between(1, 140))}true`,
  // Loops, up to the limit of an evaluation.
  (random) => `[1,2,3].all(a, [4,5,6].all(b, properties.all(k, k != "${count(random, 1e6)}")))`,
  (random) => `[1]${'.map(a, [a, a, a, a])'.repeat(random.between(1, 30))} == [1]`,
  (random) => `${'properties == traits || '.repeat(random.between(1, 70))}false`,
];
