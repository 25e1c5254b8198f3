import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { ROOT } from '../../shared/runtime/repo-root';

/** The process of the command line, whose standard error nobody reads any more. */

const states = ['counting', 'running', 'failed'];
const replay = (status: string) => ({
  id: 'rpl_1',
  action: 'replay',
  destination: 'dst_1',
  status,
  asked: 1,
  cancelled: null,
  attempted: 0,
  delivered: 0,
  failedAgain: 1,
  held: 0,
  preview: false,
  progress: 0,
  error: null,
});
let asked = 0;
let server: Server;
beforeAll(async () => {
  server = createServer((_, response) => {
    const status = states[Math.min(asked++, states.length - 1)]!;
    response.setHeader('content-type', 'application/json').end(JSON.stringify(replay(status)));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterAll(() => new Promise((resolve) => server.close(resolve)));

test('a command that nobody hears goes on, and ends with the code of its result', async () => {
  const { port } = server.address() as AddressInfo;
  const main = join(ROOT, 'dist', 'cli', 'main.js');
  const child = spawn(process.execPath, [main, 'replay', 'show', 'rpl_1', '--follow'], {
    env: { ...process.env, WAYPOST_URL: `http://127.0.0.1:${port}`, WAYPOST_TOKEN: 'a-token' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  child.stderr.destroy();
  let out = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
  const [code] = await once(child, 'close');
  expect([code, out]).toEqual([1, expect.stringMatching(/^status +failed$/m)]);
});
