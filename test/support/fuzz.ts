import { type Random } from '../../tools/harness/random';

/**
 * Mutates texts, JSON and headers for fuzz tests of the HTTP APIs. The same `random` gives the same
 * requests.
 */

const ODD_TEXTS = [
  '',
  ' ',
  '\0',
  'a\0b',
  '\ud800',
  'é€😀',
  '../../etc/passwd',
  '%00',
  '%E0%A4%A',
  "'; drop table waypost.audit; --",
  '${7*7}',
  '<script>',
  '__proto__',
  'constructor',
  'toString',
  'a'.repeat(3_000),
  '9999-12-31T23:59:59.999Z',
  '0000-00-00T00:00:00Z',
  '-1s',
  '99999999999999999999d',
  'https://[::1',
  'true',
  'null',
] as const;

const ODD_VALUES: readonly unknown[] = [
  null,
  true,
  false,
  0,
  -1,
  0.5,
  1e308,
  -1e308,
  Number.MAX_SAFE_INTEGER + 2,
  2 ** 31,
  2 ** 63,
  [],
  {},
  [[]],
  [null],
  { __proto: 1 },
  { constructor: { prototype: 1 } },
];

export function oddText(random: Random): string {
  return random.one(ODD_TEXTS);
}

export function oddValue(random: Random): unknown {
  return random.next() < 0.5 ? oddText(random) : random.one(ODD_VALUES);
}

/** Returns the value with one or two of its parts replaced, left out, wrapped or added. */
export function mutatedJson(random: Random, value: unknown): unknown {
  if (random.next() < 0.15 || value === null || typeof value !== 'object') return oddValue(random);
  if (Array.isArray(value)) {
    const items: unknown[] = [...(value as unknown[])];
    const at = random.between(0, items.length);
    if (at === items.length) return [...items, oddValue(random)];
    items[at] = mutatedJson(random, items[at]);
    return random.next() < 0.1 ? Array.from({ length: 300 }, () => items[at]) : items;
  }
  const fields = { ...(value as Record<string, unknown>) };
  const names = Object.keys(fields);
  if (names.length === 0 || random.next() < 0.15) {
    return { ...fields, [oddText(random)]: oddValue(random) };
  }
  const name = random.one(names);
  if (random.next() < 0.15) {
    return Object.fromEntries(Object.entries(fields).filter(([each]) => each !== name));
  }
  return { ...fields, [name]: mutatedJson(random, fields[name]) };
}

/** Returns bytes that claim to be JSON and are invalid or too many. */
export function oddBody(random: Random): Buffer {
  const bodies: (() => string | Buffer)[] = [
    () => '',
    () => '{',
    () => '{"name":"a"',
    () => '[]',
    () => 'null',
    () => '"text"',
    () => '1e999',
    () => '{"name":"a","__proto__":{"role":"admin"}}',
    () => '{"a":1,"a":2}',
    () => '['.repeat(50_000),
    () => `${'{"a":'.repeat(2_000)}1${'}'.repeat(2_000)}`,
    () => Buffer.from([0xff, 0xfe, 0x00, 0x80]),
    () => Buffer.concat([Buffer.from('{"name":"'), Buffer.from([0xc3, 0x28]), Buffer.from('"}')]),
    () => Buffer.from([0x1f, 0x8b, 0x08, 0x00]),
    () => `{"name":"${'x'.repeat(50_000)}"}`,
    () => 'name=a&role=admin',
    () => '\ufeff{"name":"a"}',
  ];
  return Buffer.from(random.one(bodies)());
}

/** Returns headers that Node's client can send: Latin-1 without control characters. */
export function oddHeaders(random: Random): Record<string, string> {
  const choices: (() => Record<string, string>)[] = [
    () => ({
      'content-type': random.one([
        'text/plain',
        'application/json; charset=utf-7',
        ';;',
        'multipart/form-data',
      ]),
    }),
    () => ({
      'content-encoding': random.one(['gzip', 'br', 'deflate', 'zstd', 'gzip, gzip', 'é']),
    }),
    () => ({
      accept: random.one(['text/html', '*/*;q=é', '', 'application/json;;', ','.repeat(500)]),
    }),
    () => ({ 'accept-encoding': random.one(['gzip;q=é', '*;q=0', 'identity;q=0']) }),
    () => ({
      origin: random.one([
        'null',
        'http://',
        'http://[::1',
        'é',
        'https://evil.example',
        'x'.repeat(5_000),
      ]),
    }),
    () => ({ host: random.one(['', 'é', 'a:b:c', '[::1', 'evil.example', 'x'.repeat(5_000)]) }),
    () => ({
      'x-forwarded-for': random.one([
        '',
        ',,,',
        'é',
        '1.2.3.4, unknown',
        '::::',
        '9'.repeat(5_000),
      ]),
    }),
    () => ({ 'x-forwarded-proto': random.one(['https', 'é', 'https,http', '']) }),
    () => ({ 'x-forwarded-host': random.one(['evil.example', 'é']) }),
    () => ({ 'x-http-method-override': 'DELETE' }),
    () => ({ 'if-match': random.one(['"1"', '*', 'W/"1"', '"é"', ',,,', '"'.repeat(2_000)]) }),
    () => ({ 'last-event-id': random.one(['', 'é', '0', '-1', '9'.repeat(2_000)]) }),
    () => ({ traceparent: random.one(['00-é', '00-0-0-0', 'ff'.repeat(100)]) }),
    () => ({ range: random.one(['bytes=0-', 'bytes=-1', 'é']) }),
    () => ({ 'transfer-encoding': 'chunked' }),
    () => ({ expect: '100-continue' }),
    () => ({ [random.one(['x-é', 'x y', 'x:'])]: 'a' }),
  ];
  return random.one(choices)();
}

/** Returns the text with one character added, removed or replaced. */
export function mutatedText(random: Random, text: string): string {
  const at = random.between(0, text.length);
  const other = random.one([
    '/',
    '%',
    '.',
    '%2f',
    'A',
    '?',
    '#',
    ';',
    '\\',
    '*',
    '%C3%A9',
    '{id}',
    '~',
    ':',
  ]);
  const rest = text.slice(at + random.between(0, 1));
  return text.slice(0, at) + (random.next() < 0.3 ? '' : other) + rest;
}
