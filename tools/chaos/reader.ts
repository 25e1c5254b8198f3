import { ACCESS, type OperationId, OPERATION_IDS } from '../../shared/api/access';
import { operationOf } from '../../shared/api/operations';
import { defined } from '../../shared/collections/defined';
import { type Random, randomOf } from '../harness/random';

/**
 * What a read-only token may try: each operation that reads once, and then an endless sequence of
 * requests to all of them, chosen by a seed, with the expressions and bodies that take most work.
 * Pure.
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

/** What is read by its id: `/sources`, `/audiences/previews` and so on. */
type KindOf<Id> = Id extends `GET ${infer Kind}/{id}${string}` ? Kind : never;
export type Kind = KindOf<OperationId>;

/** What exists, so that requests do more than miss. */
export interface Known {
  ids: Record<Kind, string[]>;
  messages: string[];
}

/**
 * The operations that read, also those that need another role: their refusal is work, too. Ending
 * the session of a token has no effect.
 */
export const READS: readonly OperationId[] = OPERATION_IDS.filter((id) => {
  if (id === 'DELETE /session') return false;
  return id.startsWith('GET ') || ACCESS[id].role === 'read_only';
});
/** The share of ids that do not exist. */
const UNKNOWN = 0.1;
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
  'POST /filters/try': (random, { ids }) => ({
    filter: conditionOf(random),
    limit: random.between(1, 500),
    ...optional(random, 'sources', () =>
      Array.from({ length: random.between(1, 1_000) }, () => random.one(ids['/sources'])),
    ),
  }),
  'POST /audiences/preview': (random) => ({
    condition:
      random.next() < 0.3
        ? `count("e", duration("${count(random, 700)}h")) > ${count(random, 9)}`
        : conditionOf(random).replaceAll(/\b(event|messageId)\b/g, 'user.id'),
  }),
};

/** Each operation once, with an id that exists and without a query that could be refused. */
export function everyRead(seed: number, known: Known): ReaderRequest[] {
  const random = randomOf(seed);
  return READS.map((operation) => {
    const query = operation === 'GET /lookup' ? `?message=${random.one(known.messages)}` : '';
    return requestTo(operation, random, known, (kind) => random.one(known.ids[kind]), query);
  });
}

export function* readerRequests(seed: number, known: Known): Generator<ReaderRequest, never> {
  const random = randomOf(seed);
  const costly = Object.keys(BODIES) as OperationId[];
  const idOf = (kind: Kind) => (random.next() < UNKNOWN ? 'unknown' : random.one(known.ids[kind]));
  for (;;) {
    const operation = random.one(random.next() < 0.6 ? costly : READS);
    yield requestTo(operation, random, known, idOf, queryOf(operation, random, known));
  }
}

function requestTo(
  operation: OperationId,
  random: Random,
  known: Known,
  idOf: (kind: Kind) => string,
  query: string,
): ReaderRequest {
  const [method = '', template = ''] = operation.split(' ');
  const [kind, rest] = template.split('/{id}');
  const path = rest === undefined ? template : `${kind!}/${idOf(kind as Kind)}${rest}`;
  return {
    operation,
    method,
    path: path + query,
    stream: operationOf(operation).stream === true,
    ...defined({ body: BODIES[operation]?.(random, known) }),
  };
}

function optional(random: Random, name: string, make: () => unknown): object {
  return random.next() < 0.3 ? { [name]: make() } : {};
}

/** Parameters of queries by their names, which mean the same in all operations. */
const PARAMETERS: Record<string, (random: Random, known: Known) => string> = {
  limit: (random) => count(random, 200),
  total: () => 'true',
  trend: () => 'true',
  message: (random, { messages }) => random.one(messages),
  user: (random) => `u${count(random, 96)}`,
  source: (random, { ids }) => random.one(ids['/sources']),
  destination: (random, { ids }) => random.one(ids['/destinations']),
  type: () => 'track',
  q: (random) => random.one(['a', 'abcdef', 'long']),
  state: (random) => random.one(['failing', 'paused', 'enabled']),
  status: (random) => random.one(['pending', 'delivered', 'dead']),
  sort: (random) => random.one(['name', '-name', '-dead', 'waiting', '-lastCall']),
  since: () => '2026-01-01T00:00:00Z',
};

function queryOf(operation: OperationId, random: Random, known: Known): string {
  const names = Object.keys(operationOf(operation).query?.shape ?? {});
  const given = names.filter((name) => name in PARAMETERS && random.next() < 0.3);
  const query = given.map((name) => `${name}=${PARAMETERS[name]!(random, known)}`);
  return query.length > 0 ? `?${query.join('&')}` : '';
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
