import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { snippetsFor } from '../../console/src/lib/snippets';
import { compact, defined } from '../../shared/collections/defined';
import { ROOT } from '../../shared/runtime/repo-root';
import { type ReceivedRequest } from '../../tools/harness/sink';
import { type ClientProgram, PROGRAMS, pythonWithClients, runClient } from '../clients/programs';
import { startProgram } from '../support/child-program';
import { CHROMIUM, openBrowser } from '../support/chromium';
import { eventually } from '../support/eventually';
import { CURL, GO, PYTHON, testWith } from '../support/external-tools';
import { type Tool } from '../support/installed-tool';
import { type InstalledExamples, installExamples } from '../support/installed-examples';
import { type Connection, openStorySystem, type StorySystem } from '../support/story-system';
import { isSignedBy } from '../support/verify-signature';

/**
 * Published Segment clients, unmodified, and Waypost's clients against the whole system: documented
 * bodies arrive, and nothing else.
 */

const SECRET = 'a shared secret';

let stage: StorySystem;
beforeAll(async () => {
  stage = await openStorySystem();
}, 240_000);
afterAll(() => stage.close());

interface Client extends ClientProgram {
  library: string;
  screen: boolean;
  /** go-v3 has no `Page.Category` */
  category: boolean;
}

const clients: Client[] = [
  { ...PROGRAMS.node, library: '@segment/analytics-node', screen: true, category: true },
  { ...PROGRAMS.python, library: 'analytics-python', screen: true, category: true },
  { ...PROGRAMS.pythonGzip, library: 'analytics-python', screen: true, category: true },
  { ...PROGRAMS.waypostNode, library: '@waypost/node', screen: true, category: true },
  { ...PROGRAMS.waypostGo, library: 'waypost-go', screen: true, category: true },
  { ...PROGRAMS.goV3, library: 'analytics-go', screen: true, category: false },
  { ...PROGRAMS.goV2, library: 'analytics-go', screen: false, category: true },
];

for (const client of clients) {
  testWith(
    client.needs,
    `every call of ${client.name} arrives as documented, unless its integrations exclude webhooks`,
    () => story(client),
  );
}

async function story(client: Client): Promise<void> {
  const user = `user of ${client.name}`;
  const path = `/${client.name.replace(/\W+/g, '-')}`;
  const { sink, system } = stage;
  const { source } = await stage.connect({
    webhooks: [{ url: sink.url(path) }],
    sharedSecret: SECRET,
  });
  await runClient(client, { url: system.ingestUrl, writeKey: source.writeKey, user });

  const expected = expectedBodies(user, client);
  const received = await sink.waitFor(expected.length, { path });
  const bodies = received.map(bodyOf);
  for (const body of expected) expect(bodies).toContainEqual(expect.objectContaining(body));
  expect(
    bodies
      .map((body) => body.event)
      .filter((event) => event === 'All false' || event === 'Webhooks false'),
  ).toEqual([]);
  expect(sink.deliveries(path)).toMatchObject({ distinct: expected.length, repeats: 0 });
  for (const request of received) wellFormed(request, client);
}

/** Returns the fields that identify each call in the documented body. */
function expectedBodies(user: string, client: Client): Record<string, unknown>[] {
  const track = (event: string) => ({ version: 1, type: 'track', userId: user, event });
  return compact([
    { version: 1, type: 'identify', userId: user, traits: { plan: 'pro' } },
    { ...track('Order Completed'), properties: { total: 9.5, name: 'Zoë' } },
    {
      version: 1,
      type: 'page',
      userId: user,
      name: 'Start',
      properties: expect.objectContaining({ path: '/' }),
      ...defined({ category: client.category ? 'Docs' : undefined }),
    },
    client.screen
      ? {
          version: 1,
          type: 'screen',
          userId: user,
          name: 'Home',
          properties: expect.objectContaining({ dark: true }),
        }
      : undefined,
    { version: 1, type: 'group', userId: user, groupId: 'group-1', traits: { seats: 3 } },
    { version: 1, type: 'alias', 'Previous ID': `${user}-before`, 'User ID': user },
    track('integrations absent'),
    track('All false, Webhooks true'),
  ]);
}

const ADDED = ['anonymousId', 'messageId', 'integrations'];
const KEYS: Record<string, string[]> = {
  page: [
    'version',
    'type',
    'userId',
    'timestamp',
    'properties',
    'name',
    'category',
    'context',
    ...ADDED,
  ],
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

describe('the senders of examples/', () => {
  let installed: InstalledExamples;
  beforeAll(async () => (installed = await installExamples()));
  afterAll(() => installed.remove());

  async function connect(
    path: string,
  ): Promise<{ connection: Connection; env: Record<string, string> }> {
    const connection = await stage.connect({ webhooks: [{ url: stage.sink.url(path) }] });
    return {
      connection,
      env: {
        WRITE_KEY: connection.source.writeKey,
        ENDPOINT: stage.system.ingestUrl,
        USER_ID: 'u1',
        PORT: '0',
      },
    };
  }

  async function types(path: string, count: number): Promise<unknown[]> {
    const received = await stage.sink.waitFor(count, { path });
    return received
      .map(({ body }) => (JSON.parse(body.toString()) as { type: string }).type)
      .sort();
  }

  const ALL = ['alias', 'group', 'identify', 'page', 'screen', 'track'];

  test('send-node sends one call of each type', async () => {
    const { env } = await connect('/send-node');
    const program = startProgram(process.execPath, [join(installed.dir, 'send-node/main.js')], {
      env,
    });
    expect([await program.exited, program.output()]).toEqual([0, '6 calls delivered\n']);
    expect(await types('/send-node', 6)).toEqual(ALL);
  });

  testWith(GO, 'send-go sends one call of each type', async () => {
    const { env } = await connect('/send-go');
    const program = startProgram('go', ['run', '.'], { env, cwd: join(ROOT, 'examples/send-go') });
    expect([await program.exited, program.output()]).toEqual([
      0,
      expect.stringContaining('alias delivered'),
    ]);
    expect(await types('/send-go', 6)).toEqual(ALL);
  });

  testWith(
    CHROMIUM,
    'a page of the browser example sends its queue when it is left or closed',
    async () => {
      const { env } = await connect('/browser');
      const server = startProgram(process.execPath, [join(installed.dir, 'browser/main.js')], {
        env,
      });
      const [, base] = await server.printed(/listening on (\S+)/);
      const browser = await openBrowser(CHROMIUM);
      const tab = await browser.newPage();
      const complaints: string[] = [];
      tab.on('pageerror', (error) => complaints.push(error.message));
      tab.on('console', (message) => {
        // The missing icon does not matter.
        if (message.type() === 'error' && !message.location().url.endsWith('favicon.ico')) {
          complaints.push(message.text());
        }
      });
      const requests: string[] = [];
      tab.on('request', (request) =>
        requests.push(`${request.method()} ${new URL(request.url()).pathname}`),
      );
      for (const leave of [
        () => tab.goto('about:blank'),
        () => tab.close({ runBeforeUnload: true }),
      ]) {
        // The page listens once it has its settings. Its queue then waits for more calls or some
        // seconds; neither comes.
        await tab.goto(base!, { waitUntil: 'networkidle' });
        await tab.getByText('Buy').click();
        await leave();
      }
      expect(await types('/browser', 4)).toEqual(['page', 'page', 'track', 'track']);
      expect(complaints).toEqual([]);
      expect(requests).not.toContain('OPTIONS /v1/batch');
      const received = stage.sink
        .received('/browser')
        .map(({ body }) => JSON.parse(body.toString()) as Record<string, unknown>);
      for (const call of received) expect(call).toMatchObject({ context: { page: { path: '/' } } });
      // All calls have one anonymous id, and each arrived once.
      expect(new Set(received.map(({ anonymousId }) => anonymousId)).size).toBe(1);
      expect(new Set(received.map(({ messageId }) => messageId)).size).toBe(4);
      await browser.close();
      await server.stop();
    },
  );
});

const run = promisify(execFile);

/** The code that the console shows, as pasted: its call arrives before the program ends. */
describe('the code of the console', () => {
  let installed: InstalledExamples;
  let scratch: string;
  beforeAll(async () => {
    installed = await installExamples();
    scratch = mkdtempSync(join(tmpdir(), 'waypost-snippets-'));
  });
  afterAll(() => {
    installed.remove();
    rmSync(scratch, { recursive: true, force: true });
  });

  /** Stands for `install`, so that the test needs no registry where the packages are there. */
  const installs: Record<string, { needs?: Tool; install(dir: string, command: string): unknown }> =
    {
      curl: { needs: CURL, install: () => undefined },
      Node: {
        install: (dir) => symlinkSync(join(ROOT, 'node_modules'), join(dir, 'node_modules')),
      },
      Python: {
        needs: PYTHON,
        install: async (dir) => {
          const start = `#!/bin/sh\nexec ${await pythonWithClients()} "$@"\n`;
          writeFileSync(join(dir, 'python3'), start, { mode: 0o755 });
        },
      },
      Go: {
        needs: GO,
        install: (dir) => {
          for (const file of ['go.mod', 'go.sum']) {
            cpSync(join(ROOT, 'test/clients/go-v3', file), join(dir, file));
          }
        },
      },
      'Node (Waypost)': {
        install: (dir) =>
          symlinkSync(join(installed.dir, 'node_modules'), join(dir, 'node_modules')),
      },
      'Go (Waypost)': {
        needs: GO,
        install: (dir, command) => sh(command.replace('~/waypost', ROOT), dir),
      },
    };

  for (const [name, { needs, install }] of Object.entries(installs)) {
    testWith(needs, `for ${name} sends its event, and ends`, async () => {
      const path = `/code-${name.replace(/\W+/g, '-')}`;
      const { source } = await stage.connect({ webhooks: [{ url: stage.sink.url(path) }] });
      const snippet = snippetsFor(stage.system.ingestUrl, source.writeKey).find(
        (each) => each.name === name,
      )!;
      const dir = mkdtempSync(join(scratch, 'snippet-'));
      await install(dir, snippet.install ?? '');
      if (snippet.file !== undefined) writeFileSync(join(dir, snippet.file), snippet.code);
      await sh(snippet.run ?? snippet.code, dir);
      const [request] = await stage.sink.waitFor(1, { path });
      expect(bodyOf(request!)).toMatchObject({
        userId: 'user-1',
        event: 'First Event',
        properties: { plan: 'free' },
      });
    });
  }

  function sh(command: string, cwd: string) {
    const PATH = `${cwd}:${process.env.PATH ?? ''}`;
    return run('sh', ['-ec', command], { cwd, env: { ...process.env, PATH } });
  }
});

/** `CLIENT_CALLS=100000` by hand: minutes. */
const CALLS = Number(process.env.CLIENT_CALLS ?? 2_000);
/** A client needs memory for its runtime and bodies in flight, beside its queue of 1 MB. */
const MAX_PEAK_KB = 160 * 1024;

/** Every call arrives once, and the memory of a client stays bounded. */
describe('while ingest is killed and restarted', () => {
  let scratch: string;
  beforeAll(() => (scratch = mkdtempSync(join(tmpdir(), 'waypost-outage-'))));
  afterAll(() => rmSync(scratch, { recursive: true, force: true }));

  const clients: { name: string; needs?: Tool; command(): Promise<string[]> }[] = [
    {
      name: 'waypost-node',
      command: () =>
        Promise.resolve([process.execPath, join(ROOT, 'test/clients/waypost-node/main.cjs')]),
    },
    {
      name: 'waypost-go',
      needs: GO,
      command: async () => {
        const binary = join(scratch, 'waypost-go');
        await run('go', ['build', '-o', binary, '.'], {
          cwd: join(ROOT, 'test/clients/waypost-go'),
        });
        return [binary];
      },
    },
  ];

  for (const client of clients) {
    testWith(
      client.needs,
      `${CALLS} calls of ${client.name} arrive once though ingest is killed`,
      async () => {
        const { system, sink } = stage;
        const path = `/${client.name}`;
        const seen = new Map<string, number>();
        let times = 0;
        sink.on(path, (request) => {
          const { messageId } = JSON.parse(request.body.toString()) as { messageId: string };
          seen.set(messageId, (seen.get(messageId) ?? 0) + 1);
          // The sink keeps every request; here the ids are enough.
          if (++times % 1_000 === 0) sink.clear();
          return {};
        });
        const { source } = await stage.connect({ webhooks: [{ url: sink.url(path) }] });
        const [command, ...args] = await client.command();
        const killed = system.pids('ingest')[0]!;
        const program = startProgram(command!, [
          ...args,
          system.ingestUrl,
          source.writeKey,
          client.name,
          String(CALLS),
        ]);

        await eventually(() => expect(seen.size).toBeGreaterThan(0), { everyMs: 1 });
        process.kill(killed, 'SIGKILL');
        // However fast it was, the client still has the second half of its calls to send.
        program.child.kill('SIGUSR2');
        expect([await program.exited, program.output()]).toEqual([0, expect.any(String)]);
        expect(system.pids('ingest')).not.toContain(killed);

        await eventually(() => expect(seen.size).toBe(CALLS), { deadlineMs: 120_000 + CALLS });
        expect([...seen.values()].filter((count) => count > 1)).toEqual([]);
        const said = JSON.parse(program.output().trim().split('\n').at(-1)!) as {
          delivered: number;
          peakKb: number;
        };
        expect(said.delivered).toBe(CALLS);
        expect(said.peakKb).toBeLessThan(MAX_PEAK_KB);
        process.stderr.write(
          `${client.name}: ${CALLS} calls, peak ${Math.round(said.peakKb / 1024)} MB\n`,
        );
      },
      600_000,
    );
  }
});
