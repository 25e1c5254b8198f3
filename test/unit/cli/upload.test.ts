import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PROFILE_EVENTS } from '../../../shared/kafka/topics';
import { waypost } from '../../support/cli';
import { ADMIN_TOKEN, controlUnderTest, type ControlUnderTest } from '../../support/control';

/** Uploads members at a terminal, through the real API on an in-memory log. */

let control: ControlUnderTest;
let server: Server;
let dir: string;
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'waypost-upload-'));
  control = await controlUnderTest();
  server = createServer(control.app).listen(0);
  await control.call('post', '/audiences').send({ name: 'Invited' });
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
  rmSync(dir, { recursive: true, force: true });
});

const upload = (argv: string[], input = '') => {
  const { port } = server.address() as AddressInfo;
  const env = { WAYPOST_URL: `http://127.0.0.1:${port}`, WAYPOST_TOKEN: ADMIN_TOKEN };
  return waypost(['audiences', 'upload', 'Invited', ...argv, '--json'], {
    cwd: dir,
    home: dir,
    env,
    input,
  });
};
/** Returns the users of all lines. */
const written = () =>
  control.memory.records(PROFILE_EVENTS).flatMap(({ key, value }) => {
    const { kind } = JSON.parse(String(value)) as { kind: string };
    return kind === 'listed' ? [String(key)] : [];
  });

test('members are uploaded from a file or standard input, in every line format', async () => {
  writeFileSync(join(dir, 'members'), '\n\nann\n"bob"\r\n{"userId":"cid"}');
  expect(await upload(['members'])).toMatchObject({ code: 0, json: [{ lines: 3 }] });
  expect(await upload(['-', '--changes'], '{"remove":"bob"}\n{"add":"dan"}\n')).toMatchObject({
    code: 0,
    json: [{ lines: 2 }],
  });
  expect(written().sort()).toEqual(['ann', 'bob', 'bob', 'cid', 'dan']);
});

test.each([
  [['-'], 'ann\n{"user":"bob"}\n', 'Line 2 must be "<user id>"'],
  [['-', '--changes'], 'ann\n', 'Line 1 must be {"add":'],
  [['-'], '\n\n', 'Use --allow-empty'],
  [['nowhere'], '', 'nowhere cannot be read'],
  [['.'], '', 'The input cannot be read'],
])(
  'an upload with the arguments %j and the input %j is refused and changes nothing',
  async (argv, input, why) => {
    const { body: before } = await control.call('get', '/audiences');
    const { err, ...ran } = await upload(argv, input);
    expect(ran).toMatchObject({ code: 1, out: '' });
    expect(JSON.parse(err)).toMatchObject({ error: { message: expect.stringContaining(why) } });
    const { body: after } = await control.call('get', '/audiences');
    expect(after).toEqual(before);
  },
);

test('an empty upload is accepted with --allow-empty', async () => {
  expect(await upload(['-', '--allow-empty'])).toMatchObject({ code: 0, json: [{ lines: 0 }] });
});
