import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from '../../shared/runtime/repo-root';
import { type Source } from '../../tools/harness/api';
import { type ReceivedRequest } from '../../tools/harness/sink';
import { pythonWithClients } from '../clients/programs';
import { startProgram } from '../support/child-program';
import { blockNamed } from '../support/doc-blocks';
import { eventually } from '../support/eventually';
import { aTrack } from '../support/factories';
import { PYTHON, testWith } from '../support/external-tools';
import { openStorySystem, type StorySystem } from '../support/story-system';
import { hexSha1, libraryAccepts } from '../support/verify-signature';

/**
 * The blocks of the README, of docs/guide/cli.md and of docs/guide/migrate-*.md against the whole
 * system.
 */

const run = promisify(execFile);
const SECRET = `whsec_${Buffer.alloc(24, 7).toString('base64')}`;

let stage: StorySystem;
beforeAll(async () => {
  stage = await openStorySystem({ together: true });
});
afterAll(() => stage.close());

let dir: string;
let vendor: Server | undefined;
beforeEach(() => {
  dir = folderOfAUser();
  const command = `#!/bin/sh\nexec ${commandOfAClone()} "$@"\n`;
  writeFileSync(join(dir, 'waypost'), command, { mode: 0o755 });
});
afterEach(() => {
  vendor?.close();
  rmSync(dir, { recursive: true, force: true });
});

const hook = (path: string) => stage.sink.url(path);
/** Writes the places of this system for those in a page. */
const here = (code: string) =>
  code
    .replaceAll('localhost:8080', new URL(stage.system.ingestUrl).host)
    .replaceAll('localhost:8090', new URL(stage.system.controlUrl).host);
const shell = (code: string, env: Record<string, string> = {}) =>
  run('bash', ['-euo', 'pipefail', '-c', here(code)], {
    cwd: dir,
    env: { ...process.env, ...cliSettings(), ...env },
  });
const cliSettings = () => ({
  WAYPOST_URL: stage.system.controlUrl,
  WAYPOST_TOKEN: stage.system.adminToken,
  PATH: `${dir}:${process.env.PATH!}`,
});

/**
 * Returns the command that the pages give to a reader with a clone. It starts the command line
 * itself: npx would take two seconds more each time, and outside the clone run a stranger's
 * program.
 */
function commandOfAClone(): string {
  const page = readFileSync(join(ROOT, 'docs/guide/cli.md'), 'utf8');
  return /`alias waypost="(node [^"]*)"`/.exec(page)![1]!.replace('$PWD', ROOT);
}

function file(page: string, name: string, as: string): void {
  writeFileSync(join(dir, as), here(blockNamed(page, name)));
}

/** Runs a command that works until Ctrl-C, with calls of a source to show. */
async function follow(command: string, { writeKey }: Source): Promise<void> {
  const program = startProgram('bash', ['-c', `exec ${here(command).trim()}`], {
    cwd: dir,
    env: { ...stage.system.env, ...cliSettings() },
  });
  await eventually(async () => {
    await stage.system.send(writeKey, 'track', aTrack());
    expect(program.output()).toMatch(/Listening to destination|accepted +track/);
  });
  program.child.kill('SIGINT');
  expect([await program.exited, program.output()]).toEqual([
    0,
    expect.not.stringContaining('rror'),
  ]);
}

/** Returns the source that an import created. */
async function imported(name: string): Promise<Source> {
  await stage.settled();
  const { body } = await stage.system.control('GET', '/sources?limit=200');
  return (body as { data: (Source & { name: string })[] }).data.find(
    (source) => source.name === name,
  )!;
}

/** Returns the retry plan of the destination with this name. */
async function planOf(name: string): Promise<unknown> {
  const { body } = await stage.system.control('GET', '/destinations?limit=200');
  return (body as { data: { name: string; retry: unknown }[] }).data.find(
    (destination) => destination.name === name,
  )?.retry;
}

/** Returns the statuses that HTTP defines, and unused ones between them. */
const statuses = (first: number, last: number) =>
  Array.from({ length: last - first + 1 }, (_, i) => first + i);

/**
 * Runs the receiver of a page on a request, and on the same request with another body, which it
 * must refuse.
 */
async function received(page: string, secret: string, request: ReceivedRequest): Promise<unknown> {
  file(page, 'receiver', 'receiver.mjs');
  const verify = async (body: string): Promise<string> => {
    const input = JSON.stringify([request.headers, body, secret]);
    const code =
      "import { verify } from './receiver.mjs'; " +
      `console.log(JSON.stringify(verify(...${input})))`;
    return (await run(process.execPath, ['--input-type=module', '-e', code], { cwd: dir })).stdout;
  };
  const body = request.body.toString();
  await expect(verify(body.replace('u', 'v'))).rejects.toThrow(/signature/);
  return JSON.parse(await verify(body));
}

/** Starts an API that answers these paths. @returns its address */
async function vendorApi(answers: Record<string, unknown>): Promise<string> {
  const server = createServer(({ url = '', headers }, response) => {
    const answer =
      headers.authorization === 'Bearer a vendor token' ? answers[url.split('?')[0]!] : undefined;
    response.writeHead(answer === undefined ? 404 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(answer));
  });
  vendor = server;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test("the README's first event arrives, and the secret that it shows verifies it", async () => {
  const [, createSource = '', createDestination = '', send = ''] = blockNamed(
    'README.md',
    'first event',
  ).split(/\n\n/);
  const shown = async (code: string, name: string) =>
    new RegExp(`^${name} +(\\S+)$`, 'm').exec((await shell(code)).stdout)?.[1] ?? '';
  const writeKey = await shown(createSource, 'write key');
  const secret = await shown(
    createDestination.replace('http://127.0.0.1:3000/hook', hook('/first-event')),
    'shared secret',
  );
  await stage.settled();
  await shell(send.replace('WRITE_KEY', writeKey));
  const [request] = await stage.sink.waitFor(1, { path: '/first-event' });
  expect(JSON.parse(request!.body.toString())).toMatchObject({
    type: 'track',
    properties: { total: 42 },
  });
  expect(libraryAccepts(secret, request!)).toBe(true);
  expect(request!.headers['x-signature']).toBe(hexSha1(secret, request!.body));
});

test('every command of the guide to the command line and of the README ends well', async () => {
  const { system } = stage;
  // The README's first event has the names of the pages, too.
  const named = (command: string) => command.replaceAll('My ', 'Our ');
  const commands = (page: string, name: string) =>
    named(blockNamed(page, name)).trimEnd().split('\n');
  const source = await system.createSource('Our site');
  await system.createDestination({
    name: 'Our hook',
    sources: [source.id],
    webhooks: [{ url: hook('/commands') }],
  });
  await stage.settled();
  const files = {
    'loyal.cel': 'has(user.traits.plan) && user.traits.plan == "pro"',
    'members.txt': 'ann\nbob\n',
    'users.txt': 'cid\n',
    bq: '#!/bin/sh\necho \'{"remove": "bob"}\'\n',
  };
  for (const [name, text] of Object.entries(files)) {
    writeFileSync(join(dir, name), text, { mode: 0o755 });
  }
  const env = { ...system.env, ...cliSettings() };
  await shell(
    named('waypost send identify --source "My site" --user ann --traits \'{"plan": "pro"}\''),
    env,
  );

  for (const command of [
    ...commands('docs/guide/cli.md', 'first commands'),
    ...commands('README.md', 'look inside'),
    ...commands('docs/guide/cli.md', 'audiences and traits'),
    ...commands('docs/guide/cli.md', 'tokens and deletions'),
  ]) {
    if (/ (listen|tail) /.test(command)) await follow(command, source);
    // A new audience reads the messages before it has members.
    else if (command.includes('--user ann')) {
      await eventually(() => shell(command, env), { deadlineMs: 90_000 });
    } else await shell(command, env);
  }
}, 400_000);

test('the guide for Segment brings a call to a receiver that checks X-Signature', async () => {
  const page = 'docs/guide/migrate-segment.md';
  const secret = 'the shared secret of Segment';
  await shell(
    blockNamed(page, 'import')
      .replace('https://example.com/segment', hook('/segment'))
      .replace('"sharedSecret": "…"', `"sharedSecret": "${secret}"`),
  );
  const { writeKey } = await imported('Shop');
  file(page, 'client', 'client.mjs');
  await shell('node client.mjs', { WRITE_KEY: writeKey });
  const [request] = await stage.sink.waitFor(1, { path: '/segment' });
  expect(request!.headers.authorization).toBe('Bearer a-token');
  expect(await received(page, secret, request!)).toMatchObject({
    event: 'Order Completed',
  });
});

testWith(
  PYTHON,
  'the guide for users of RudderStack brings a call of its library to the copied webhook',
  async () => {
    const page = 'docs/guide/migrate-rudderstack.md';
    const configOf = (webhookMethod: string) => ({
      webhookUrl: hook(`/rudder-${webhookMethod}`),
      webhookMethod,
      headers: [{ from: 'x-key', to: 'k' }, {}],
    });
    const destinations = [
      { id: 'd1', name: 'A webhook', enabled: true, config: configOf('PUT') },
      { id: 'd2', name: 'Another webhook', enabled: true, config: configOf('PATCH') },
      { id: 'd3', name: 'A warehouse', enabled: true, config: { bucketName: 'b' } },
    ];
    const workspace = {
      sources: [{ name: 'Rudder app', enabled: true, writeKey: 'theirs', destinations }],
    };
    writeFileSync(join(dir, 'workspace.json'), JSON.stringify(workspace));
    file(page, 'convert', 'rudderstack-to-waypost.mjs');
    await shell(blockNamed(page, 'import'));
    const { writeKey } = await imported('Rudder app');
    expect(await planOf('A webhook d1')).toMatchObject({
      delays: ['10s', '20s', '40s', '80s', '160s', '5m'],
      window: '3h',
      timeout: '10s',
      on: null,
    });
    file(page, 'client', 'client.py');
    await run(await pythonWithClients(), ['client.py'], {
      cwd: dir,
      env: { ...process.env, WRITE_KEY: writeKey },
    });
    for (const method of ['PUT', 'PATCH']) {
      const [request] = await stage.sink.waitFor(1, { path: `/rudder-${method}` });
      expect([request!.method, request!.headers['x-key']]).toEqual([method, 'k']);
      expect(JSON.parse(request!.body.toString())).toMatchObject({
        userId: 'u1',
        properties: { total: 42 },
      });
    }
  },
);

test('the guide for Svix copies endpoints, secrets, headers and wanted types', async () => {
  const page = 'docs/guide/migrate-svix.md';
  const endpoint = (id: string, more: object) => ({
    id,
    url: hook(`/svix-${id}`),
    disabled: false,
    ...more,
  });
  const only = (data: unknown[]) => ({ data, iterator: null, done: true });
  const at = '/api/v1/app/app_1/endpoint/';
  const SVIX_URL = await vendorApi({
    '/api/v1/app/': only([{ id: 'app_1', uid: 'svix-acme', name: 'Acme' }]),
    [at]: only([
      endpoint('ep_1', { filterTypes: ['invoice.paid'] }),
      endpoint('ep_2', { filterTypes: ['other'] }),
    ]),
    ...Object.fromEntries(
      ['ep_1', 'ep_2'].flatMap((id) => [
        [`${at}${id}/secret/`, { key: SECRET }],
        [`${at}${id}/headers/`, { headers: { 'x-key': id }, sensitive: [] }],
      ]),
    ),
  });
  file(page, 'convert', 'svix-to-waypost.mjs');
  await shell(blockNamed(page, 'import'), { SVIX_URL, SVIX_TOKEN: 'a vendor token' });
  const { writeKey } = await imported('svix-acme');
  expect(await planOf('svix-acme ep_1')).toMatchObject({
    delays: ['5s', '5m', '30m', '2h', '5h', '10h', '10h'],
    window: '1655m',
    timeout: '15s',
    on: [...statuses(300, 308), ...statuses(400, 451)],
  });
  file(page, 'client', 'client.mjs');
  await shell('node client.mjs', { WRITE_KEY: writeKey });
  const [request] = await stage.sink.waitFor(1, { path: '/svix-ep_1' });
  expect(request!.headers['x-key']).toBe('ep_1');
  const wanted = { eventType: 'invoice.paid', payload: { id: 'inv_1' } };
  expect(await received(page, SECRET, request!)).toEqual(wanted);
  expect(stage.sink.received('/svix-ep_2')).toEqual([]);
});

test("the guide for Outpost copies a tenant's webhooks, and delivers its topics", async () => {
  const page = 'docs/guide/migrate-outpost.md';
  const credentials = { secret: SECRET };
  const config = { url: hook('/outpost'), custom_headers: '{"x-key": "k"}' };
  const OUTPOST_URL = await vendorApi({
    '/tenants/acme/destinations': [
      {
        id: 'des_1',
        type: 'webhook',
        topics: ['user.created'],
        config,
        credentials,
        disabled_at: null,
      },
      { id: 'des_2', type: 'aws_sqs', topics: '*', config: {}, credentials: {}, disabled_at: null },
    ],
  });
  file(page, 'convert', 'outpost-to-waypost.mjs');
  await shell(blockNamed(page, 'import'), { OUTPOST_URL, OUTPOST_API_KEY: 'a vendor token' });
  const { writeKey } = await imported('acme');
  expect(await planOf('acme des_1')).toMatchObject({
    delays: ['30s', '1m', '2m', '4m', '8m', '16m', '32m', '64m', '128m', '256m'],
    window: '30690s',
    timeout: '5s',
    on: statuses(400, 451),
  });
  await shell(blockNamed(page, 'client'), { WRITE_KEY: writeKey });
  const [request] = await stage.sink.waitFor(1, { path: '/outpost' });
  expect(request!.headers['x-key']).toBe('k');
  const wanted = { topic: 'user.created', data: { user_id: 'usr_123' } };
  expect(await received(page, SECRET, request!)).toEqual(wanted);
});

/** Creates a folder with the packages that the pages import. */
function folderOfAUser(): string {
  const dir = mkdtempSync(join(tmpdir(), 'waypost-pages-'));
  const packages = {
    '@segment/analytics-node': 'node_modules/@segment/analytics-node',
    '@waypost/node': 'clients/node',
    standardwebhooks: 'node_modules/standardwebhooks',
  };
  for (const [name, path] of Object.entries(packages)) {
    const link = join(dir, 'node_modules', name);
    mkdirSync(join(link, '..'), { recursive: true });
    symlinkSync(join(ROOT, path), link);
  }
  return dir;
}
