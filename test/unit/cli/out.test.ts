import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server } from 'node:http';
import { type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waypost } from '../../support/cli';
import { ADMIN_TOKEN, controlUnderTest, type ControlUnderTest } from '../../support/control';

/** Files that commands write, through the real API on an in-memory log. */

let control: ControlUnderTest;
let server: Server;
let dir: string;
beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'waypost-out-'));
  control = await controlUnderTest();
  server = createServer(control.app).listen(0);
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
  rmSync(dir, { recursive: true, force: true });
});

const run = (...argv: string[]) => {
  const { port } = server.address() as AddressInfo;
  const env = { WAYPOST_URL: `http://127.0.0.1:${port}`, WAYPOST_TOKEN: ADMIN_TOKEN };
  return waypost(argv, { cwd: dir, home: dir, env });
};
const createToken = (out: string) => run('tokens', 'create', 'CI', '--role', 'admin', '--out', out);

test('an existing file gets the new text, for its owner only, and no other is left', async () => {
  writeFileSync(join(dir, 'token'), 'old', { mode: 0o644 });
  expect(await createToken('token')).toMatchObject({ code: 0 });
  expect(readFileSync(join(dir, 'token'), 'utf8')).toMatch(/^wpt_\S+\n$/);
  expect(statSync(join(dir, 'token')).mode & 0o777).toBe(0o600);
  expect(readdirSync(dir)).toEqual(['token']);
});

test('nothing goes through a file that somebody put there before', async () => {
  const elsewhere = join(dir, 'elsewhere');
  writeFileSync(elsewhere, 'mine');
  // Another user of the folder can guess the number of a process.
  symlinkSync(elsewhere, join(dir, `waypost.json.${process.pid}`));
  expect(await run('export', '--out', 'waypost.json')).toMatchObject({ code: 0 });
  expect(readFileSync(elsewhere, 'utf8')).toBe('mine');
});

test('a device gets the text, and stays', async () => {
  symlinkSync('/dev/null', join(dir, 'null'));
  expect(await run('export', '--out', 'null')).toMatchObject({ code: 0 });
  expect(readlinkSync(join(dir, 'null'))).toBe('/dev/null');
});

test('an open file gets the text under its name in /dev', async () => {
  const file = join(dir, 'redirected');
  const fd = openSync(file, 'w');
  expect(await run('export', '--out', `/dev/fd/${fd}`)).toMatchObject({ code: 0 });
  closeSync(fd);
  expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ sources: [] });
});

test.each([
  ['is in no folder', 'nowhere/file'],
  ['is a folder', 'folder'],
])('a file that %s is refused in a sentence, and no draft of it stays', async (_, out) => {
  mkdirSync(join(dir, 'folder'));
  expect(await run('export', '--out', out)).toMatchObject({
    code: 1,
    err: expect.stringMatching(new RegExp(`^${out} cannot be written: `)),
  });
  expect(readdirSync(dir)).toEqual(['folder']);
});

test('no token is left whose secret could not be written', async () => {
  expect(await createToken('nowhere/token')).toMatchObject({
    code: 1,
    err: expect.stringMatching(/^nowhere\/token cannot be written: /),
  });
  expect((await control.get('/tokens')).data).toEqual([]);
});
