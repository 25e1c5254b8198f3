import { Agent, request } from 'node:http';
import { gzipSync } from 'node:zlib';
import { pino } from 'pino';
import { defined } from '../../../shared/collections/defined';
import { createClientAddress } from '../../../shared/runtime/client-address';
import { cutBody, cutMessage } from '../../../shared/model/cut-body';
import { type Message } from '../../../shared/model/message';
import { parseMessage, readMessageHeaders } from '../../../shared/model/message-codec';
import { renderBody } from '../../../shared/model/webhook-body';
import { type Random, randomOf } from '../../../tools/harness/random';
import { aSource } from '../../support/fakes';
import { mutatedJson, mutatedText, oddBody, oddHeaders, oddText } from '../../support/fuzz';
import { RECORDED_KEY, recordedRequests } from '../../support/recorded';
import { basic, rawSocket, startTestIngest, type TestIngest } from './start';
import { seedOf, seedRanges } from '../../support/cases';
import { aWriteKey } from '../../support/write-key';

/**
 * Thousands of odd requests to ingest, half of them with a valid key. `FUZZ_SEED=<number>` repeats
 * a run.
 */

/** Fewer would not reach every kind of answer. */
const REQUESTS = process.env.CASES === 'all' ? 10_000 : 5_000;
const AT_ONCE = 8;
const SEED = seedOf('FUZZ_SEED');
const random: Random = randomOf(SEED);
const KEY = RECORDED_KEY;

const at = '2026-11-21T08:19:04.000Z';
interface Recorded {
  path: string;
  headers: Record<string, string>;
  body: object;
}
const WRITTEN: readonly Recorded[] = [
  // The Go client v2.0.0 sends this when it closes with an empty queue.
  {
    path: '/v1/batch',
    headers: {},
    body: { batch: null, context: null, messageId: 'cbd5', sentAt: at },
  },
  {
    path: '/v1/p',
    headers: { 'content-type': 'text/plain' },
    body: {
      writeKey: KEY,
      type: 'page',
      anonymousId: 'ajs',
      name: null,
      timestamp: at,
      sentAt: at,
      properties: { url: 'https://a.example', title: '' },
      context: { userAgent: 'x', page: {} },
      integrations: {},
      _metadata: { bundled: ['Segment.io'], unbundled: [] },
    },
  },
  {
    path: '/v1/track',
    headers: {},
    body: {
      userId: 'u',
      event: 'e',
      originalTimestamp: at,
      sentAt: at,
      properties: { list: [1, null, { a: 'b' }] },
    },
  },
];
/** Requests of real clients, and some that none of these clients sends. */
const RECORDED: readonly Recorded[] = [...recordedRequests(), ...WRITTEN];
const PATHS = [
  '/v1/batch',
  '/v1/import',
  '/v1/b',
  '/v1/t',
  '/v1/identify',
  '/v1/g',
  '/v1/a',
  '/v1/s',
  '/v1/m',
  '//v1/batch/',
  `/v1/projects/${KEY}/settings`,
  '/v1/projects/nobody/settings',
  '/v1/pixel/track?data=e30=',
  '/v1/nowhere',
  '/',
];

interface Odd {
  method: string;
  path: string;
  headers: Record<string, string>;
  body: Buffer;
}

function anOdd(): Odd {
  const recorded = random.one(RECORDED);
  const path = random.next() < 0.7 ? recorded.path : random.one(PATHS);
  const body = aBody(recorded.body);
  const { 'content-encoding': encoding, authorization: _, ...headers } = recorded.headers;
  const zipped = encoding === 'gzip' || random.next() < 0.2;
  return {
    method:
      random.next() < 0.9
        ? 'POST'
        : random.one(['GET', 'HEAD', 'PUT', 'OPTIONS', 'DELETE', 'TRACE']),
    path: (random.next() < 0.9 ? path : mutatedText(random, path)).replace(/[^\x21-\x7e]/g, ''),
    headers: {
      ...(random.next() < 0.8 ? mutatedHeaders(headers) : undefined),
      // An address each for some, so that not all of them are limited.
      'x-forwarded-for': `10.0.${random.between(0, 255)}.${random.between(0, 255)}`,
      ...defined({ 'content-encoding': zipped ? 'gzip' : undefined }),
      ...(random.next() < 0.3 ? oddHeaders(random) : undefined),
      ...authorization(),
    },
    body: zipped ? squeezed(body) : body,
  };
}

/** Changes the value of one header in some requests. */
function mutatedHeaders(headers: Record<string, string>): Record<string, string> {
  const names = Object.keys(headers);
  if (names.length === 0 || random.next() < 0.7) return headers;
  const name = random.one(names);
  return { ...headers, [name]: mutatedText(random, headers[name] ?? '') };
}

function authorization(): Record<string, string> {
  if (random.next() < 0.5) return basic(KEY);
  const odd = () => oddText(random).replace(/[^\x21-\x7e]/g, '');
  return random.one([
    {},
    basic('nobody'),
    basic(odd()),
    { authorization: `Basic ${odd()}` },
    { authorization: odd() },
  ]);
}

function aBody(recorded: object): Buffer {
  const way = random.next();
  if (way < 0.1) return oddBody(random);
  if (way < 0.12) return Buffer.from(random.one(COSTLY)());
  if (way < 0.3) return Buffer.from(mutatedText(random, JSON.stringify(recorded)));
  let body: unknown = recorded;
  for (let i = random.between(0, 4); i > 0; i--) body = mutatedJson(random, body);
  return Buffer.from(JSON.stringify(body) || '');
}

const COSTLY: readonly (() => string)[] = [
  () => `{"batch":[[${'[],'.repeat(150_000)}[]]]}`,
  () => `{"batch":[${'{},'.repeat(2_600)}{}]}`,
  () =>
    `{"context":{${Array.from({ length: 2_500 }, (_, i) => `"k${i}":1`).join(',')}},"batch":[${'{"type":"page","userId":"u"},'.repeat(500)}{}]}`,
  () =>
    JSON.stringify({
      batch: [
        { type: 'track', userId: 'x'.repeat(20_000), event: '\ud800', properties: { a: 1e308 } },
      ],
    }),
  () =>
    `{"batch":[{"type":"track","event":"e","userId":"u","properties":{${'"\\u0000":1,'.repeat(3_000)}"a":1}}]}`,
];

function squeezed(body: Buffer): Buffer {
  const zipped = gzipSync(body);
  if (random.next() < 0.8) return zipped;
  return random.next() < 0.5
    ? zipped.subarray(0, random.between(0, zipped.length))
    : Buffer.concat([zipped, body]);
}

let ingest: TestIngest;
let lines: string[];
const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE });

beforeAll(async () => {
  process.stdout.write(`front door of ingest: FUZZ_SEED=${SEED}\n`);
  lines = [];
  const log = pino({ level: 'trace' }, { write: (line: string) => void lines.push(line) });
  ingest = await startTestIngest({ log, clientAddress: createClientAddress(['127.0.0.0/8']) });
  ingest.config.add(aSource({ id: 'src_fuzz', writeKeys: [aWriteKey(KEY)] }));
});
afterAll(async () => {
  agent.destroy();
  await ingest.stop();
});

interface Answer {
  status: number;
  text: string;
}

/**
 * Returns undefined if Node's client does not send such a request, or the connection was closed.
 */
function send({ method, path, headers, body }: Odd): Promise<Answer | undefined> {
  return new Promise((resolve) => {
    try {
      const length = headers['transfer-encoding'] === undefined && {
        'content-length': String(body.length),
      };
      const options = {
        agent,
        host: '127.0.0.1',
        port: ingest.port,
        method,
        path,
        headers: { ...length, ...headers },
      };
      const asked = request(options, (response) => {
        let text = JSON.stringify(response.headers);
        response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
        response.on('close', () => resolve({ status: response.statusCode ?? 0, text }));
      });
      asked.on('error', () => resolve(undefined));
      asked.end(body);
    } catch {
      resolve(undefined);
    }
  });
}

/** Sends bytes that are barely HTTP. */
async function sendRaw({ method, path, headers, body }: Odd): Promise<Answer | undefined> {
  const head = [
    `${method} ${path} HTTP/1.1`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  ];
  const text = mutatedText(
    random,
    `${head.join('\r\n')}\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n`,
  );
  const { socket, closed } = rawSocket(ingest.port);
  socket.end(Buffer.concat([Buffer.from(text), body]));
  const answer = await closed;
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(answer)?.[1]);
  return status ? { status, text: answer } : undefined;
}

/** Returns the fault of an answer, if it has one. */
function faultOf({ path }: Odd, { status, text }: Answer): string | undefined {
  if (status >= 500 && status !== 503) return `is answered ${status}`;
  // The settings of the source name it.
  if (text.includes(KEY) && !path.includes('settings')) return 'shows the write key';
  if (/node_modules|\.ts:\d|\.js:\d|\n\s+at /.test(text)) return 'shows a stack';
  return undefined;
}

/** Compares bodies that the router cuts off with bodies that it renders. */
function bodyFaults() {
  let cuts = 0;
  const stored = ingest.producer.appends.flat().filter(({ topic }) => topic === 'messages');
  const others = stored.filter(({ key, value, headers = {} }) => {
    const record = { key: Buffer.from(String(key)), value: Buffer.from(String(value)) };
    const head = readMessageHeaders(headers);
    const cut = head.kind === 'message' && cutMessage(head, record);
    if (!cut) return false;
    cuts++;
    return cutBody(cut).toString() !== renderBody(parseMessage(record.value) as Message);
  });
  return { seed: SEED, others, cut: cuts > 1_000 };
}

const statuses: Record<number, number> = {};

test.each(seedRanges(REQUESTS, 1_000))(
  'odd requests get no 5xx but 503 and no secret (from %i to %i)',
  async (from, to) => {
    const faults: string[] = [];
    let left = to - from;
    const client = async () => {
      while (left-- > 0) {
        const odd = anOdd();
        const answer = await (random.next() < 0.1 ? sendRaw(odd) : send(odd));
        if (!answer) continue;
        statuses[answer.status] = (statuses[answer.status] ?? 0) + 1;
        const fault = faultOf(odd, answer);
        if (fault) {
          faults.push(`${odd.method} ${odd.path} ${fault}: ${odd.body.toString().slice(0, 300)}`);
        }
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, client));
    expect({ seed: SEED, faults }).toEqual({ seed: SEED, faults: [] });
  },
);

test('after all odd requests, which reach every answer, calls are still taken', async () => {
  // The requests reach the code that they test.
  for (const status of [200, 400, 401, 404, 405, 415]) expect(statuses[status]).toBeGreaterThan(10);
  expect(ingest.producer.values('messages').length).toBeGreaterThan(1_000);
  expect(bodyFaults()).toEqual({ seed: SEED, others: [], cut: true });
  expect(lines.filter((line) => line.includes(KEY) || line.includes('request.failed'))).toEqual([]);
  const track = { type: 'track', userId: 'u', event: 'e' };
  expect(await ingest.post('/v1/t', track, basic(KEY))).toMatchObject({ status: 200 });
});
