import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, createServer, request, type Server } from 'node:http';
import { type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import supertest from 'supertest';
import { type Role, ROLES } from '../../../../shared/model/config';
import { ADMIN_TOKEN, type ControlUnderTest, controlUnderTest } from '../../../support/control';
import { spellings } from '../../../support/path-spellings';

/** Sends requests over a socket, because other clients normalize a path before they send it. */

const folder = mkdtempSync(join(tmpdir(), 'waypost-console-'));
const agent = new Agent({ keepAlive: true, maxSockets: 4 });
const RANK: Record<Role | 'none', number> = { none: 0, read_only: 1, operator: 2, admin: 3 };
const ASKING = ['none', ...ROLES] as const;
type Asking = (typeof ASKING)[number];

interface Described {
  method: string;
  path: string;
  role: Asking;
}

let control: ControlUnderTest;
let server: Server;
let tokens: Record<Role, string>;
let operations: Described[];
beforeAll(async () => {
  writeFileSync(join(folder, 'index.html'), '<!doctype html><title>Waypost</title>');
  mkdirSync(join(folder, 'api', 'v1'), { recursive: true });
  writeFileSync(join(folder, 'api', 'v1', 'tokens'), 'a file of the console');
  mkdirSync(join(folder, 'assets'));
  writeFileSync(join(folder, 'assets', 'a.js'), 'one();');
  control = await controlUnderTest({ consoleFolder: folder });
  server = createServer(control.app);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const made = ROLES.map(async (role) => {
    const { body } = await control.call('post', '/tokens').send({ name: role, role });
    return [role, body.token as string] as const;
  });
  tokens = Object.fromEntries(await Promise.all(made)) as Record<Role, string>;
  const { body } = await supertest(control.app).get('/api/v1/openapi.json');
  operations = Object.entries<Record<string, { 'x-waypost-role'?: Asking }>>(body.paths).flatMap(
    ([path, methods]) =>
      Object.entries(methods).map(([method, described]) => ({
        method: method.toUpperCase(),
        path: `/api/v1${path}`,
        role: described['x-waypost-role'] ?? 'none',
      })),
  );
});
afterAll(() => {
  agent.destroy();
  server.closeAllConnections();
  server.close();
  rmSync(folder, { recursive: true, force: true });
});

interface Answer {
  status: number;
  type: string;
  text: string;
}

/** @param path sent unchanged */
function ask(method: string, path: string, role: Asking): Promise<Answer> {
  const { port } = server.address() as AddressInfo;
  const body = method === 'GET' ? '' : '{"name":"Evil","role":"admin"}';
  const headers: Record<string, string> = {
    accept: 'text/html',
    'content-length': String(body.length),
  };
  if (role !== 'none') headers.authorization = `Bearer ${tokens[role]}`;
  return new Promise((resolve, reject) => {
    const asked = request({ agent, host: '127.0.0.1', port, method, path, headers }, (response) => {
      const type = response.headers['content-type'] ?? '';
      const status = response.statusCode ?? 0;
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      response.on('end', () => resolve({ status, type, text }));
      // A stream does not end.
      if (type.startsWith('text/event-stream')) {
        resolve({ status, type, text });
        response.destroy();
      }
    });
    asked.on('error', reject);
    asked.end(body);
  });
}

const withId = (path: string) => path.replace('{id}', 'id_none');

test.each(ASKING)('as %s every operation is allowed or refused by its role', async (role) => {
  const wrong: string[] = [];
  for (const { method, path, role: needed } of operations) {
    const { status } = await ask(method, withId(path), role);
    // POST /session responds with 401 and 403 because of its body; after too many 401 it responds
    // with 429.
    const refusals = role === 'none' ? [401, 429] : [403];
    const isRefused = refusals.includes(status);
    const ok = RANK[role] < RANK[needed] ? isRefused : needed === 'none' || !isRefused;
    if (!ok) wrong.push(`${method} ${path}: ${status}`);
  }
  expect(wrong).toEqual([]);
});

/** Who may do nothing, and who may do everything: the others are between them. */
const EXTREMES = ['none', 'admin'] as const;

test.each(process.env.CASES === 'all' ? ASKING : EXTREMES)(
  'as %s no operation answers to another spelling of its path, and nothing changes',
  async (role) => {
    const before = control.memory.records('config').length;
    const passed: string[] = [];
    for (const { method, path } of operations) {
      for (const [name, spelled] of spellings(withId(path))) {
        if (spelled === withId(path)) continue;
        const { status, type } = await ask(method, spelled, role);
        // 405: the differently spelled segment stands in place of an id.
        const refused =
          (status === 404 || status === 405) && type.startsWith('application/problem+json');
        if (!refused) passed.push(`${method} ${spelled} (${name}): ${status} ${type}`);
      }
    }
    expect(passed).toEqual([]);
    expect(control.memory.records('config')).toHaveLength(before);
  },
);

test('every path has at least twenty spellings', () => {
  expect(operations.length).toBeGreaterThan(60);
  for (const { path } of operations) {
    const others = spellings(withId(path)).filter(([, spelled]) => spelled !== withId(path));
    expect(new Set(others.map(([, spelled]) => spelled)).size).toBeGreaterThan(25);
  }
});

describe('the console and the API', () => {
  test.each(['/', '/tokens', '/Tokens', '/deliveries/dlv_1', '/apiary', '/x/api/v1/tokens'])(
    '%s is a page of the console',
    async (path) => {
      const answer = await ask('GET', path, 'none');
      expect([answer.status, answer.text]).toEqual([
        200,
        expect.stringContaining('<title>Waypost</title>'),
      ]);
    },
  );

  test.each([
    '/api',
    '/API',
    '/api/',
    '/api/v1',
    '/api/v2/tokens',
    '/api/v1/nothing',
    '/%61pi/v1',
    '//api/v1/tokens',
  ])('%s is not a page of the console', async (path) => {
    const answer = await ask('GET', path, 'none');
    expect([answer.status, answer.type]).toEqual([
      404,
      expect.stringMatching(/^application\/problem\+json/),
    ]);
  });

  test('a file of the console never answers for the API', async () => {
    expect([401, 429]).toContain((await ask('GET', '/api/v1/tokens', 'none')).status);
    expect((await ask('GET', '/api/v1/tokens', 'admin')).text).not.toContain(
      'a file of the console',
    );
    for (const [, spelled] of spellings('/api/v1/tokens')) {
      expect((await ask('GET', spelled, 'admin')).text).not.toContain('a file of the console');
    }
    expect((await ask('GET', '/assets/a.js', 'none')).text).toBe('one();');
    expect((await ask('GET', '/ASSETS/a.js', 'none')).text).not.toBe('one();');
  });
});

test('the admin token opens no other spelling either', async () => {
  tokens = { ...tokens, admin: ADMIN_TOKEN };
  expect((await ask('GET', '/api/v1/tokens', 'admin')).status).toBe(200);
  expect((await ask('GET', '/api/v1/Tokens', 'admin')).status).toBe(404);
});
