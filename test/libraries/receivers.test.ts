import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from '../../shared/runtime/repo-root';
import { installExamples, type InstalledExamples } from '../support/installed-examples';
import { type Program, startProgram } from '../support/child-program';
import { signedHeaders } from '../support/signed-headers';
import { GO, PYTHON, testWith } from '../support/external-tools';
import { type Tool } from '../support/installed-tool';

/** The receivers of examples/, with signed requests and with forged ones. */

const run = promisify(execFile);
const SECRETS = ['gehëim-秘密', `whsec_${Buffer.alloc(32, 7).toString('base64')}`];
const BODY = Buffer.from('{"version":1,"type":"track","userId":"Zoë","event":"Order Completed"}');

let installed: InstalledExamples;
let scratch: string;
beforeAll(async () => {
  installed = await installExamples();
  scratch = mkdtempSync(join(tmpdir(), 'waypost-receivers-'));
});
afterAll(() => {
  installed.remove();
  rmSync(scratch, { recursive: true, force: true });
});

interface Receiver {
  name: string;
  needs?: Tool;
  command(): Promise<string[]> | string[];
}

const receivers: Receiver[] = [
  {
    name: 'Express',
    command: () => [process.execPath, join(installed.dir, 'receive-express/main.js')],
  },
  {
    name: 'Fastify',
    command: () => [process.execPath, join(installed.dir, 'receive-fastify/main.js')],
  },
  { name: 'Go', needs: GO, command: builtGo },
  {
    name: 'Python',
    needs: PYTHON,
    command: () => ['python3', join(ROOT, 'examples/receive-python/main.py')],
  },
];

async function builtGo(): Promise<string[]> {
  const binary = join(scratch, 'receive-go');
  await run('go', ['build', '-o', binary, '.'], { cwd: join(ROOT, 'examples/receive-go') });
  return [binary];
}

for (const receiver of receivers) {
  testWith(
    receiver.needs,
    `the ${receiver.name} receiver accepts signed requests, processes each once and ` +
      'refuses all others',
    async () => {
      const [command, ...args] = await receiver.command();
      const program = startProgram(command!, args, {
        env: { PORT: '0', WEBHOOK_SECRET: SECRETS.join(',') },
      });
      try {
        await story(program);
      } finally {
        await program.stop();
      }
    },
  );
}

async function story(program: Program): Promise<void> {
  const [, url] = await program.printed(/listening on (\S+)/);
  const post = async (headers: Record<string, string>, body: Buffer = BODY) => {
    const type = { 'content-type': 'application/json' };
    const init = { method: 'POST', headers: { ...type, ...headers }, body: new Uint8Array(body) };
    return (await fetch(`${url!}/hook`, init)).status;
  };
  const good = signedHeaders(SECRETS[0]!, BODY);
  const nowS = Number(good['webhook-timestamp']);

  expect(await post(good)).toBe(204);
  expect(await post(good)).toBe(204); // a repeat
  expect(await post(signedHeaders(SECRETS[1]!, BODY, { id: 'dlv_2' }))).toBe(204);
  const refused: Record<string, [Record<string, string>, Buffer?]> = {
    'another secret': [signedHeaders('other', BODY)],
    'another body': [good, Buffer.from('{}')],
    'another id': [{ ...good, 'webhook-id': 'dlv_3' }],
    'too old': [signedHeaders(SECRETS[0]!, BODY, { timestampS: nowS - 400 })],
    'too new': [signedHeaders(SECRETS[0]!, BODY, { timestampS: nowS + 400 })],
    'no time': [{ ...good, 'webhook-timestamp': '' }],
    'a time that is none': [{ ...good, 'webhook-timestamp': '9'.repeat(5_000) }],
    'X-Signature alone': [{ 'x-signature': good['x-signature']! }],
    'no signature': [{}],
    'nothing at all': [{}, Buffer.alloc(0)],
  };
  for (const [name, [headers, body]] of Object.entries(refused)) {
    expect([name, await post(headers, body)]).toEqual([name, 401]);
  }

  // The output of a program may arrive through its pipe after its response.
  await program.printed(/track of Zoë\n[\s\S]*track of Zoë\n/);
  expect(program.output().match(/track of Zoë/g)).toHaveLength(2);
}
