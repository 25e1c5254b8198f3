import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server } from 'node:http';
import { type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { homeFolder } from '../../../shared/runtime/home';
import {
  enterSystem,
  findSystem,
  stateFolder,
  type LocalSystemEntry,
} from '../../../shared/runtime/local-systems';
import { waypost } from '../../support/cli';

/**
 * The `.waypost` of the present folder. It may have come with a repository, with addresses of its
 * author: nothing of it is used unless `npm start` of this user made it.
 */

let folder: string;
let home: string;
let server: Server;
let address: string;
/** path and authorization of each request */
let requests: [string, string | undefined][];

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'waypost-folder-'));
  home = join(folder, 'home');
  mkdirSync(home);
  requests = [];
  server = createServer((request, response) => {
    requests.push([request.url!, request.headers.authorization]);
    response.end('{"success":true}');
  });
  // Loopback has more addresses than one.
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.2', resolve));
  address = `http://127.0.0.2:${(server.address() as AddressInfo).port}`;
});
afterEach(async () => {
  await new Promise((resolve) => server.close(resolve));
  rmSync(folder, { recursive: true });
});

/** Makes a folder with a `.waypost` as its author wants it. */
function cloned(name: string): string {
  const dir = join(folder, name, '.waypost');
  mkdirSync(dir, { recursive: true });
  writeFileSync(join(dir, 'admin-token'), 'token-of-a-stranger\n');
  const said = { control: address, ingest: address, brokers: [], embedded: true, health: {} };
  writeFileSync(join(dir, 'system.json'), JSON.stringify(said));
  return join(folder, name);
}

/** Makes a folder in which `npm start` has run. */
function own(name: string, more: Partial<LocalSystemEntry> = {}): string {
  const dir = join(folder, name, '.waypost');
  mkdirSync(dir, { recursive: true });
  writeFileSync(join(dir, 'admin-token'), 'my-own-token\n', { mode: 0o600 });
  enter(dir, more);
  return join(folder, name);
}

function enter(dir: string, { owner, ...more }: Partial<LocalSystemEntry> = {}): void {
  const entry = { dir, control: address, ingest: address, embedded: true, kafka: {}, health: {} };
  enterSystem({ env: {}, home }, { ...entry, ...more }, owner);
}

const SEND = ['send', 'track', '--user', 'u1', '--event', 'E'];
const env = { WAYPOST_WRITE_KEY: 'my-write-key' };
const REFUSED = {
  code: 1,
  err: expect.stringMatching(/^No `npm start` of yours has made .*\.waypost/),
};

test('a cloned folder gets neither a write key nor a token', async () => {
  const cwd = cloned('clone');
  expect(await waypost(SEND, { cwd, home, env })).toMatchObject(REFUSED);
  expect(await waypost(['sources', 'list'], { cwd, home })).toMatchObject(REFUSED);
  const admin = { WAYPOST_ADMIN_TOKEN: 'the-admin-token-of-mine' };
  expect(await waypost(['sources', 'list'], { cwd, home, env: admin })).toMatchObject(REFUSED);
  expect(requests).toEqual([]);
});

test("a link to a stranger's folder is refused, and a link to an own one is followed", async () => {
  const stranger = cloned('clone');
  const mine = own('mine');
  const cwd = join(folder, 'links');
  mkdirSync(cwd);
  symlinkSync(join(stranger, '.waypost'), join(cwd, '.waypost'));
  expect(await waypost(SEND, { cwd, home, env })).toMatchObject(REFUSED);
  expect(requests).toEqual([]);
  rmSync(join(cwd, '.waypost'));
  symlinkSync(join(mine, '.waypost'), join(cwd, '.waypost'));
  expect(await waypost(SEND, { cwd, home, env })).toMatchObject({ code: 0 });
});

test('a folder that is put in the place of an own one gets nothing', async () => {
  const cwd = own('mine');
  renameSync(join(cwd, '.waypost'), join(cwd, 'before'));
  cpSync(join(cloned('clone'), '.waypost'), join(cwd, '.waypost'), { recursive: true });
  expect(await waypost(SEND, { cwd, home, env })).toMatchObject(REFUSED);
  expect(requests).toEqual([]);
});

test('the demo is found while it runs and `npm start` does not', async () => {
  const cwd = join(folder, 'mine');
  const demo = join(cwd, '.waypost', 'demo');
  mkdirSync(demo, { recursive: true });
  writeFileSync(join(demo, 'admin-token'), 'token-of-the-demo\n', { mode: 0o600 });
  enter(demo);
  expect(await waypost(SEND, { cwd, home, env })).toMatchObject({ code: 0 });
  await waypost(['sources', 'list'], { cwd, home });
  expect(requests.at(-1)).toEqual([expect.anything(), 'Bearer token-of-the-demo']);
  own('mine');
  await waypost(['sources', 'list'], { cwd, home });
  expect(requests.at(-1)).toEqual([expect.anything(), 'Bearer my-own-token']);
  own('mine', { owner: { pid: process.pid, started: 'before this process' } });
  await waypost(['sources', 'list'], { cwd, home });
  expect(requests.at(-1)).toEqual([expect.anything(), 'Bearer token-of-the-demo']);
});

test('who listens at the addresses of a system that has ended gets no token', async () => {
  const ended = { pid: process.pid, started: 'before this process' };
  const cwd = own('mine', { owner: ended });
  for (const argv of [['sources', 'list'], SEND]) {
    expect(await waypost(argv, { cwd, home, env })).toMatchObject({
      code: 1,
      err: expect.stringMatching(/is not running\. Run `npm start`/),
    });
  }
  const named = await waypost(['sources', 'list', '--url', address], { cwd, home });
  expect(named).toMatchObject({ code: 1, err: expect.stringContaining('There is no token') });
  expect(requests).toEqual([]);
});

test('a token behind a link, or that others can read, is not sent', async () => {
  const cwd = own('mine');
  const file = join(cwd, '.waypost', 'admin-token');
  const refused = {
    code: 1,
    err: expect.stringContaining('no other user can read, and not a link'),
  };
  chmodSync(file, 0o644);
  expect(await waypost(['sources', 'list'], { cwd, home })).toMatchObject(refused);
  const elsewhere = join(folder, 'key');
  writeFileSync(elsewhere, 'a-secret-of-mine', { mode: 0o600 });
  rmSync(file);
  symlinkSync(elsewhere, file);
  expect(await waypost(['sources', 'list'], { cwd, home })).toMatchObject(refused);
  expect(requests).toEqual([]);
});

test('a moved folder is refused with what to do, until `npm start` runs there', async () => {
  const cwd = own('mine');
  expect(await waypost(SEND, { cwd, home, env })).toMatchObject({ code: 0 });
  renameSync(cwd, join(folder, 'moved'));
  const moved = { cwd: join(folder, 'moved'), home, env };
  expect(await waypost(SEND, moved)).toMatchObject({
    code: 1,
    err: expect.stringContaining('run `npm start` here again'),
  });
  own('moved');
  expect(await waypost(SEND, moved)).toMatchObject({ code: 0 });
});

test('a folder of another home is refused: it is of another user', async () => {
  const cwd = own('mine');
  expect(await waypost(SEND, { cwd, home: join(folder, 'other'), env })).toMatchObject(REFUSED);
});

test('an entry that others can write does not count, nor one behind a link', () => {
  const cwd = own('mine');
  const place = { env: {}, home };
  const [name] = readdirSync(stateFolder(place));
  const file = join(stateFolder(place), name!);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(statSync(stateFolder(place)).mode & 0o777).toBe(0o700);
  chmodSync(file, 0o666);
  expect(findSystem(place, join(cwd, '.waypost'))).toBeUndefined();
  chmodSync(file, 0o600);
  expect(findSystem(place, join(cwd, '.waypost'))).toBeDefined();
  renameSync(file, join(folder, 'elsewhere'));
  symlinkSync(join(folder, 'elsewhere'), file);
  expect(findSystem(place, join(cwd, '.waypost'))).toBeUndefined();
});

test('a relative XDG_STATE_HOME, which a repository could fill, does not count', () => {
  expect(stateFolder({ env: { XDG_STATE_HOME: 'state' }, home })).toBe(
    join(home, '.local', 'state', 'waypost'),
  );
  expect(stateFolder({ env: { XDG_STATE_HOME: '/state' }, home })).toBe('/state/waypost');
});

test.each([
  [
    'no entry in the list of users',
    (): string => {
      throw new Error('no such user');
    },
  ],
  ['an empty HOME', () => ''],
  ['a relative HOME', () => 'home'],
])('a user with %s has no login, and the present folder gives none', async (_, read) => {
  const cwd = folder;
  const home = homeFolder(read);
  expect(home).toBe('/dev/null');
  mkdirSync(join(cwd, '.config', 'waypost'), { recursive: true });
  const login = { url: address, token: 'of a stranger' };
  const file = join(cwd, '.config', 'waypost', 'login.json');
  writeFileSync(file, JSON.stringify(login), { mode: 0o600 });
  await waypost(['sources', 'list'], { cwd, home, env: { XDG_CONFIG_HOME: '.config' } });
  expect(requests).toEqual([]);
  const stored = ['login', '--url', address];
  expect(await waypost(stored, { cwd, home, input: 'a-token\n' })).toMatchObject({
    code: 1,
    err: expect.stringContaining('Set HOME or XDG_CONFIG_HOME'),
  });
  expect(await waypost(['logout'], { cwd, home })).toMatchObject({ code: 0 });
});

test('an entry holds no secret, and goes when its folder is gone', () => {
  const place = { env: {}, home };
  const cwd = own('mine');
  const [name] = readdirSync(stateFolder(place));
  expect(readFileSync(join(stateFolder(place), name!), 'utf8')).not.toContain('my-own-token');
  rmSync(cwd, { recursive: true });
  own('other');
  expect(readdirSync(stateFolder(place))).toHaveLength(1);
});
