import { join } from 'node:path';
import { ROOT } from '../../shared/root';
import { installExamples, type InstalledExamples } from '../support/installed';
import { startProgram } from '../support/program';
import { type Connection, openStage, type Stage } from '../support/stage';
import { GO, testWith } from '../support/tools';

/** The senders of examples/, against the whole system. */

let stage: Stage;
let installed: InstalledExamples;
beforeAll(async () => {
  installed = await installExamples();
  stage = await openStage();
}, 120_000);
afterAll(async () => {
  await stage.close();
  installed.remove();
});

async function connect(path: string): Promise<{ connection: Connection; env: Record<string, string> }> {
  const connection = await stage.connect({ webhooks: [{ url: stage.sink.url(path) }] });
  return {
    connection,
    env: { WRITE_KEY: connection.source.writeKey, ENDPOINT: stage.system.ingestUrl, USER_ID: 'u1', PORT: '0' },
  };
}

async function types(path: string, count: number): Promise<unknown[]> {
  const received = await stage.sink.waitFor(count, { path, timeoutMs: 20_000 });
  return received.map(({ body }) => (JSON.parse(body.toString()) as { type: string }).type).sort();
}

const ALL = ['alias', 'group', 'identify', 'page', 'screen', 'track'];

test('send-node', async () => {
  const { env } = await connect('/send-node');
  const program = startProgram(process.execPath, [join(installed.dir, 'send-node/main.js')], { env });
  expect([await program.exited, program.output()]).toEqual([0, '6 calls delivered\n']);
  expect(await types('/send-node', 6)).toEqual(ALL);
});

testWith(GO, 'send-go', async () => {
  const { env } = await connect('/send-go');
  const program = startProgram('go', ['run', '.'], { env, cwd: join(ROOT, 'examples/send-go') });
  expect([await program.exited, program.output()]).toEqual([0, expect.stringContaining('alias delivered')]);
  expect(await types('/send-go', 6)).toEqual(ALL);
});

/** As much of a page as the example uses; the modules come from the example's own server, as in a browser. */
const PAGE = `
  const base = process.env.BASE;
  const listeners = {};
  const element = { set textContent(text) { console.log(text); }, addEventListener: (_, click) => (element.click = click) };
  const target = { addEventListener: (type, listener) => (listeners[type] = listener), removeEventListener() {} };
  const serverFetch = fetch;
  Object.assign(globalThis, {
    ...target,
    fetch: (url, init) => serverFetch(new URL(url, base), init),
    location: { pathname: '/' },
    localStorage: { getItem: () => null, setItem() {} },
    document: { ...target, title: 'A page', visibilityState: 'visible', getElementById: () => element },
  });
  const { SourceTextModule } = require('node:vm');
  const names = JSON.parse(/importmap">([^<]*)/.exec(await (await fetch('/')).text())[1]).imports;
  const modules = new Map();
  async function load(url) {
    const answer = await fetch(url);
    if (answer.status !== 200 || answer.headers.get('content-type') !== 'text/javascript') throw new Error(url);
    return new SourceTextModule(await answer.text(), { identifier: url });
  }
  function link(specifier, from) {
    const url = new URL(names[specifier] ?? specifier, new URL(from.identifier, base)).pathname;
    if (!modules.has(url)) modules.set(url, load(url));
    return modules.get(url);
  }
  const page = await load('/page.js');
  await page.link(link);
  await page.evaluate();
  element.click();
  document.visibilityState = 'hidden';
  listeners.visibilitychange();`;

test('browser: a page that is left has sent what it queued', async () => {
  const { env } = await connect('/browser');
  const server = startProgram(process.execPath, [join(installed.dir, 'browser/main.js')], { env });
  const [, base] = await server.printed(/listening on (\S+)/);
  const page = startProgram(
    process.execPath,
    ['--experimental-vm-modules', '--no-warnings', '-e', `(async () => {${PAGE}})()`],
    { env: { BASE: base! } },
  );
  expect([await page.exited, page.output()]).toEqual([0, expect.stringContaining('track delivered')]);
  expect(await types('/browser', 2)).toEqual(['page', 'track']);
  const track = stage.sink
    .received('/browser')
    .map(({ body }) => JSON.parse(body.toString()) as Record<string, unknown>);
  expect(track[0]).toMatchObject({ anonymousId: expect.any(String), context: { page: { path: '/' } } });
  await server.stop();
});
