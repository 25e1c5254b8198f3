import { isApi } from '../../../../services/control/app/mount';
import { Agent, createServer, request, type Server } from 'node:http';
import { type AddressInfo } from 'node:net';
import supertest from 'supertest';
import { type Database } from '../../../../services/control/history/database';
import { OPERATION_IDS, type OperationId } from '../../../../shared/api/access';
import { operationOf } from '../../../../shared/api/operations';
import { type Role, ROLES } from '../../../../shared/model/config';
import { randomOf } from '../../../../tools/harness/random';
import {
  ADMIN_TOKEN,
  type ControlUnderTest,
  controlUnderTest,
  SECRET_KEY,
} from '../../../support/control';
import { memoryDatabase } from '../../../support/database';
import { mutatedJson, mutatedText, oddBody, oddHeaders, oddText } from '../../../support/fuzz';
import { type RunningQueryServer, startQueryServer } from '../../../support/profiles';
import { spellings } from '../../../support/path-spellings';
import { seedOf, seedRanges } from '../../../support/cases';

/** Sends thousands of odd requests to control. `FUZZ_SEED=<number>` repeats a run. */

/** Fewer than 5,000 would not reach every kind of answer. */
const REQUESTS = process.env.CASES === 'all' ? 10_000 : 5_000;
const AT_ONCE = 8;
/** The requests delete entries, so new ones are created after this many requests. */
const MAKE_AGAIN_EVERY = 500;
const SEED = seedOf('FUZZ_SEED');
const random = randomOf(SEED);

const DESTINATION = {
  name: 'Hooks',
  type: 'webhooks',
  sources: [],
  enabled: true,
  types: ['track'],
  filter: 'type == "track"',
  webhooks: [
    { url: 'https://a.example.com/in?token=planted-url', headers: { 'X-Key': 'planted-header' } },
  ],
  sharedSecret: 'planted-shared-secret-0123456789abcdef',
};
const TRAIT = { name: 'Orders', compute: 'count', event: 'Order Completed', window: '30d' };
const PRO = { name: 'Pros', condition: 'user.traits.plan == "pro"', syncEvery: '1m' };
/** A valid body of each operation with a body. */
const BODIES: Partial<Record<OperationId, unknown>> = {
  'POST /sources': {
    name: 'Site',
    enabled: true,
    blockedEvents: ['a'],
    limits: { maxPerSecond: 5, burst: '10s' },
  },
  'PATCH /sources/{id}': { name: 'Shop', blockedEvents: null, trust: 'browser' },
  'POST /sources/{id}/rotate-key': { overlap: '1h' },
  'POST /destinations': DESTINATION,
  'PATCH /destinations/{id}': { paused: true, maxPerSecond: 5, switchOffAfter: '1d', filter: null },
  'POST /destinations/{id}/rotate-secret': { overlap: '1h', switchAt: '2026-01-01T00:30:00Z' },
  'POST /destinations/{id}/enable-webhook': { webhook: 'whk_none' },
  'POST /destinations/{id}/disable-webhook': { webhook: 'whk_none' },
  'POST /destinations/{id}/test': { type: 'track', event: 'Test', properties: { a: 1 } },
  'POST /filters/try': { filter: 'type == "track" && properties.total > 100', limit: 10 },
  'POST /audiences': PRO,
  'PATCH /audiences/{id}': { name: 'Pros', syncEvery: '1h' },
  'POST /audiences/preview': { condition: PRO.condition },
  'POST /computed-traits': TRAIT,
  'PATCH /computed-traits/{id}': { window: '7d' },
  'POST /deletions': { userIds: ['ann', 'bob'] },
  'POST /replays': {
    destination: 'dst_none',
    from: '2026-01-01T00:00:00Z',
    status: 'dead',
    preview: true,
  },
  'PATCH /alerts': { enabled: true, failingFor: '10m', webhooks: DESTINATION.webhooks },
  'POST /alerts/rotate-secret': { overlap: '1h' },
  'POST /session': { token: 'wpt_wrong' },
  'POST /tokens': {
    name: 'Kim',
    role: 'read_only',
    rights: ['events:read'],
    expiresAt: '2026-02-01T00:00:00Z',
  },
  'PATCH /tokens/{id}': { role: 'operator', rights: null },
};
const QUERIES = [
  'limit=5',
  'limit=0',
  'limit=1e9',
  'after=MSBhYg',
  'after=%00',
  // `1 a\0b`
  'after=MSBhAGI',
  'since=%2B275760-09-13T00:00:00Z',
  'since=-271821-04-20T00:00:00Z',
  'after=é',
  'since=1h',
  'since=0',
  'status=dead',
];

let control: ControlUnderTest;
let database: Database;
let queryServer: RunningQueryServer;
let server: Server;
let cookie: string;
let tokens: Record<Role | 'narrow', string>;
let known: string[] = [];
const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE });

beforeAll(async () => {
  process.stdout.write(`front door of control: FUZZ_SEED=${SEED}\n`);
  database = await memoryDatabase();
  control = await controlUnderTest({ database, timeoutMs: -9_990 });
  queryServer = await startQueryServer(control.memory);
  server = createServer(control.app);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const make = async (fields: object) =>
    (await control.call('post', '/tokens').send(fields)).body.token as string;
  const made = ROLES.map(async (role) => [role, await make({ name: role, role })] as const);
  const narrow = await make({
    name: 'narrow',
    role: 'admin',
    rights: ['sources:read', 'events:read'],
  });
  tokens = {
    ...(Object.fromEntries(await Promise.all(made)) as Record<Role, string>),
    narrow,
    admin: ADMIN_TOKEN,
  };
  const { port } = server.address() as AddressInfo;
  const host = `127.0.0.1:${port}`;
  const begun = await supertest(control.app)
    .post('/api/v1/session')
    .set('Host', host)
    .send({ token: tokens.operator });
  cookie = begun.headers['set-cookie']![0]!.split(';')[0]!;
});
afterAll(async () => {
  agent.destroy();
  server.closeAllConnections();
  server.close();
  await Promise.all([control.replays.stop(), queryServer.stop()]);
  await database.close();
});

/** Creates the entries that the requests use. */
async function makeEntries(): Promise<void> {
  const bodies = {
    sources: { name: 'Site' },
    destinations: DESTINATION,
    audiences: { name: 'L' },
    'computed-traits': TRAIT,
  };
  const made = Object.entries({ ...bodies, tokens: { name: 'First', role: 'operator' } }).map(
    async ([noun, body]) => {
      // Names of audiences are unique.
      const name = `${body.name} ${random.between(0, 1e9)}`;
      return (await control.call('post', `/${noun}`).send({ ...body, name })).body.id as
        string | undefined;
    },
  );
  known = (await Promise.all(made)).filter((id) => id !== undefined);
}

interface Odd {
  method: string;
  path: string;
  headers: Record<string, string>;
  body: Buffer;
  /** undefined: without a valid token */
  as: keyof typeof tokens | 'session' | undefined;
}

function anOdd(): Odd {
  const id = random.one(OPERATION_IDS);
  const [method, template] = id.split(' ') as [string, string];
  const entry =
    random.next() < 0.7
      ? random.one(known)
      : encodeURIComponent(oddText(random).replace('\ud800', ''));
  const plain = `/api/v1${template.replace('{id}', entry)}`;
  const way = random.next();
  const path =
    way < 0.75 ? plain : way < 0.9 ? mutatedText(random, plain) : random.one(spellings(plain))[1];
  const as = random.next() < 0.5 ? random.one([...ROLES, 'narrow', 'session'] as const) : undefined;
  return {
    method:
      random.next() < 0.9
        ? method
        : random.one(['GET', 'HEAD', 'PUT', 'OPTIONS', 'TRACE', 'PROPFIND', 'QUERY']),
    path: path.replace(/[^\x21-\x7e]/g, '') + aQuery(id),
    headers: { ...(random.next() < 0.3 ? oddHeaders(random) : undefined), ...authorization(as) },
    body: aBody(id),
    as,
  };
}

function aQuery(id: OperationId): string {
  if (random.next() < 0.5) return '';
  const names = [...Object.keys(operationOf(id).query?.shape ?? {}), 'limit', 'x'];
  const odd = () =>
    `${random.one(names)}=${encodeURIComponent(oddText(random).replace('\ud800', ''))}`;
  const parts = [random.one(QUERIES), odd(), odd()].slice(random.between(0, 2));
  return `?${parts.join('&').replace(/[^\x21-\x7e]/g, '%E9')}`;
}

function aBody(id: OperationId): Buffer {
  const valid = BODIES[id];
  if (random.next() < 0.15) return oddBody(random);
  if (operationOf(id).lines) {
    return Buffer.from(
      random.one(['"ann"\n', '{"add":"ann"}', '{"remove":1}', '\n\n', '"\\ud800"']),
    );
  }
  if (valid === undefined) return Buffer.alloc(0);
  return Buffer.from(JSON.stringify(random.next() < 0.3 ? valid : mutatedJson(random, valid)));
}

function authorization(as: Odd['as']): Record<string, string> {
  if (as === 'session') return { cookie };
  if (as !== undefined) return { authorization: `Bearer ${tokens[as]}` };
  const odd = [
    'Bearer',
    'Bearer ',
    'Basic eA==',
    'Bearer é',
    'bearer  wpt_wrong',
    `Bearer ${'x'.repeat(3_000)}`,
  ];
  const cookies = [
    'waypost_session=é',
    'waypost_session=.',
    'waypost_session=a.é',
    cookie.replace('=', '=é'),
    'waypost_session',
    '=',
  ];
  return random.one([{}, { authorization: random.one(odd) }, { cookie: random.one(cookies) }]);
}

interface Answer {
  status: number;
  type: string;
  text: string;
}

/** Returns undefined if Node's client refuses to send the request, or the connection was closed. */
function send({ method, path, headers, body }: Odd): Promise<Answer | undefined> {
  const { port } = server.address() as AddressInfo;
  return new Promise((resolve) => {
    try {
      const length = headers['transfer-encoding'] === undefined && {
        'content-length': String(body.length),
      };
      const options = {
        agent,
        host: '127.0.0.1',
        port,
        method,
        path,
        headers: { ...length, ...headers },
      };
      const asked = request(options, (response) => {
        const type = response.headers['content-type'] ?? '';
        const status = response.statusCode ?? 0;
        let text = JSON.stringify(response.headers);
        response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
        response.on('close', () => resolve({ status, type, text }));
        if (type.startsWith('text/event-stream')) response.destroy();
      });
      asked.on('error', () => resolve(undefined));
      asked.end(body);
    } catch {
      resolve(undefined);
    }
  });
}

/** Returns the fault of a response, or undefined. */
function faultOf({ method, path, as }: Odd, { status, type, text }: Answer): string | undefined {
  // Nothing delivers here, so a test send times out.
  const isTest = status === 504 && path.includes('/test');
  if (status >= 500 && status !== 503 && !isTest) return `is answered ${status}`;
  if (
    status >= 400 &&
    status !== 400 &&
    method !== 'HEAD' &&
    !type.startsWith('application/problem+json')
  ) {
    return `has ${type}`;
  }
  const secrets = [
    'planted-header',
    'planted-shared',
    ADMIN_TOKEN,
    SECRET_KEY.toString(),
    SECRET_KEY.toString('base64'),
  ];
  const own = as === 'admin' ? [] : ['planted-url'];
  const shown = [...secrets, ...own, ...Object.values(tokens)].find((secret) =>
    text.includes(secret),
  );
  if (shown !== undefined) return `shows ${shown}`;
  if (/node_modules|\.ts:\d|\.js:\d|\n\s+at /.test(text)) return 'shows a stack';
  // Only paths below /api need a token; the pages of the console are public.
  const isPage = type.startsWith('text/html') && !isApi(path);
  if (as === undefined && status < 300 && !isPage && !/openapi\.json/.test(path)) {
    return `is answered ${status} without a token`;
  }
  return undefined;
}

const statuses: Record<number, number> = {};

test.each(seedRanges(REQUESTS, 1_000))(
  'odd requests get no 5xx except 503, no secret, and nothing without a token (from %i to %i)',
  async (from, to) => {
    const faults: string[] = [];
    let left = to - from;
    const client = async () => {
      while (left > 0) {
        if (left-- % MAKE_AGAIN_EVERY === 0) await makeEntries();
        const odd = anOdd();
        const answer = await send(odd);
        if (!answer) continue;
        statuses[answer.status] = (statuses[answer.status] ?? 0) + 1;
        const fault = faultOf(odd, answer);
        const { method, path, as, body } = odd;
        if (fault) {
          faults.push(
            `${method} ${path} by ${as ?? 'nobody'} ${fault}: ${body.toString().slice(0, 300)}`,
          );
        }
      }
    };
    await makeEntries();
    await Promise.all(Array.from({ length: AT_ONCE }, client));
    expect({ seed: SEED, faults }).toEqual({ seed: SEED, faults: [] });
  },
);

test('after all odd requests no secret is logged, and control still responds', async () => {
  // The requests reach the operations. Which ones, and how often, depends on the seed.
  const found = Object.keys(statuses).map(Number);
  expect(found).toEqual(expect.arrayContaining([200, 201, 204, 401, 403, 404, 405, 422]));
  const logged = control.logged();
  for (const secret of [
    'planted-header',
    'planted-shared',
    'planted-url',
    ...Object.values(tokens),
  ]) {
    expect(logged.includes(secret)).toBe(false);
  }
  // Control still responds.
  expect((await control.call('get', '/about')).status).toBe(200);
});
