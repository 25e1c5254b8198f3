import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from '../../shared/root';
import { type ReceivedRequest } from '../support/sink';
import { openStage, type Stage } from '../support/stage';
import { GO, PYTHON, testWith, type Tool } from '../support/tools';
import { isSignedBy } from '../support/verify';
import { outageStories } from './clients-outage';
import { exampleStories } from './examples';

/** Published clients, unmodified, and our own, against the whole system: what they send arrives, as documented, and nothing else. */

const run = promisify(execFile);
const CLIENTS = join(ROOT, 'test/clients');
const SECRET = 'a shared secret';
/** Downloads and builds are kept here between runs. */
const CACHE = join(tmpdir(), 'waypost-test-clients');

let stage: Stage;
beforeAll(async () => {
  mkdirSync(CACHE, { recursive: true });
  stage = await openStage();
}, 120_000);
afterAll(() => stage.close());

interface Client {
  name: string;
  /** what must be installed; undefined: nothing that the repository does not bring */
  needs?: Tool;
  /** Brings what is to be run, and tells the command. */
  prepare(): Promise<string[]>;
  library: string;
  screen: boolean;
  /** go-v3 has no `Page.Category` */
  category: boolean;
  extra?: string;
}

const clients: Client[] = [
  {
    name: 'node',
    prepare: () => Promise.resolve([process.execPath, join(CLIENTS, 'node/main.cjs')]),
    library: '@segment/analytics-node',
    screen: true,
    category: true,
  },
  { name: 'python', needs: PYTHON, prepare: python, library: 'analytics-python', screen: true, category: true },
  {
    name: 'python, gzip',
    needs: PYTHON,
    prepare: python,
    library: 'analytics-python',
    screen: true,
    category: true,
    extra: 'gzip',
  },
  {
    name: 'waypost-node',
    prepare: () => Promise.resolve([process.execPath, join(CLIENTS, 'waypost-node/main.cjs')]),
    library: '@waypost/node',
    screen: true,
    category: true,
  },
  {
    name: 'waypost-go',
    needs: GO,
    prepare: () => go('waypost-go'),
    library: 'waypost-go',
    screen: true,
    category: true,
  },
  { name: 'go-v3', needs: GO, prepare: () => go('go-v3'), library: 'analytics-go', screen: true, category: false },
  { name: 'go-v2', needs: GO, prepare: () => go('go-v2'), library: 'analytics-go', screen: false, category: true },
];

for (const client of clients) {
  testWith(client.needs, `${client.name}: every call arrives as documented, what integrations exclude does not`, () =>
    story(client),
  );
}

async function story(client: Client): Promise<void> {
  const user = `user of ${client.name}`;
  const path = `/${client.name.replace(/\W+/g, '-')}`;
  const { sink, system } = stage;
  const { source } = await stage.connect({ webhooks: [{ url: sink.url(path) }], sharedSecret: SECRET });
  const [command, ...args] = await client.prepare();
  // It ends with 0 only when the client itself says that all was delivered.
  await run(command!, [...args, system.ingestUrl, source.writeKey, user, ...(client.extra ? [client.extra] : [])]);

  const expected = expectedBodies(user, client);
  const received = await sink.waitFor(expected.length, { path, timeoutMs: 20_000 });
  const bodies = received.map(bodyOf);
  for (const body of expected) expect(bodies).toContainEqual(expect.objectContaining(body));
  expect(
    bodies.map((body) => body.event).filter((event) => event === 'All false' || event === 'Webhooks false'),
  ).toEqual([]);
  expect(sink.deliveries(path)).toMatchObject({ distinct: expected.length, repeats: 0 });
  for (const request of received) wellFormed(request, client);
}

/** What identifies each call in the documented body. */
function expectedBodies(user: string, client: Client): Record<string, unknown>[] {
  const track = (event: string) => ({ version: 1, type: 'track', userId: user, event });
  return [
    { version: 1, type: 'identify', userId: user, traits: { plan: 'pro' } },
    { ...track('Order Completed'), properties: { total: 9.5, name: 'Zoë' } },
    {
      version: 1,
      type: 'page',
      userId: user,
      name: 'Start',
      properties: expect.objectContaining({ path: '/' }),
      ...(client.category && { category: 'Docs' }),
    },
    ...(client.screen
      ? [
          {
            version: 1,
            type: 'screen',
            userId: user,
            name: 'Home',
            properties: expect.objectContaining({ dark: true }),
          },
        ]
      : []),
    { version: 1, type: 'group', userId: user, groupId: 'group-1', traits: { seats: 3 } },
    { version: 1, type: 'alias', 'Previous ID': `${user}-before`, 'User ID': user },
    track('integrations absent'),
    track('All false, Webhooks true'),
  ];
}

const ADDED = ['anonymousId', 'messageId', 'integrations'];
const KEYS: Record<string, string[]> = {
  page: ['version', 'type', 'userId', 'timestamp', 'properties', 'name', 'category', 'context', ...ADDED],
  screen: ['version', 'type', 'userId', 'timestamp', 'name', 'properties', 'context', ...ADDED],
  identify: ['version', 'type', 'userId', 'timestamp', 'traits', 'context', ...ADDED],
  track: ['version', 'type', 'userId', 'timestamp', 'event', 'properties', 'context', ...ADDED],
  alias: ['version', 'type', 'Previous ID', 'User ID', 'timestamp', 'context', ...ADDED],
  group: ['version', 'type', 'userId', 'timestamp', 'groupId', 'traits', 'context', ...ADDED],
};

function wellFormed(request: ReceivedRequest, client: Client): void {
  const body = bodyOf(request);
  expect(Object.keys(body)).toEqual(KEYS[String(body.type)]!.filter((key) => key in body));
  expect(body.timestamp).toMatch(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/);
  expect(Math.abs(Date.parse(String(body.timestamp)) - request.at)).toBeLessThan(60_000);
  expect(body.context).toMatchObject({ library: { name: client.library } });
  expect(body.messageId).toEqual(expect.any(String));
  expect(Object.values(body)).not.toContain(null);
  expect(isSignedBy(SECRET, request)).toBe(true);
}

function bodyOf(request: ReceivedRequest): Record<string, unknown> {
  return JSON.parse(request.body.toString()) as Record<string, unknown>;
}

async function go(dir: string): Promise<string[]> {
  const binary = join(CACHE, dir);
  await run('go', ['build', '-o', binary, '.'], { cwd: join(CLIENTS, dir) });
  return [binary];
}

/** A virtual environment with the pinned client, made once for each content of requirements.txt. */
async function python(): Promise<string[]> {
  const requirements = join(CLIENTS, 'python/requirements.txt');
  const venv = join(
    CACHE,
    `python-${createHash('sha1').update(readFileSync(requirements)).digest('hex').slice(0, 12)}`,
  );
  const marker = join(venv, 'installed');
  if (!existsSync(marker)) {
    rmSync(venv, { recursive: true, force: true });
    await run('python3', ['-m', 'venv', venv]);
    await run(join(venv, 'bin/pip'), ['install', '--quiet', '--requirement', requirements]);
    renameSync(mkdtempSync(`${marker}-`), marker);
  }
  return [join(venv, 'bin/python'), join(CLIENTS, 'python/main.py')];
}

describe('the senders of examples/', () => exampleStories(() => stage));

describe('while ingest is killed and comes back', () => outageStories(() => stage));
