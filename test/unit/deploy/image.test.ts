import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { PORTS } from '../../../dev/local-settings';
import { ROOT } from '../../../shared/runtime/repo-root';
import { findPackages, formatNotices } from '../../../tools/image/notices';
import { removeEmptyFolders } from '../../../tools/image/trim';

/** What the image contains, and its health check. */

describe('the notices of the image', () => {
  let modules: string;
  beforeEach(() => {
    modules = join(mkdtempSync(join(tmpdir(), 'waypost-notices-')), 'node_modules');
    place('b', { version: '1.0.0', license: 'MIT' }, { LICENSE: 'Text one' });
    place(
      '@scope/a',
      { version: '2.0.0', license: 'Apache-2.0' },
      { LICENSE: 'Text two', 'NOTICE.txt': 'A notice' },
    );
    place('b/node_modules/c', { version: '3.0.0', license: 'MIT' }, { licence: 'Text one' });
    place('none', { version: '4.0.0' }, {});
  });
  afterEach(() => rmSync(join(modules, '..'), { recursive: true }));

  const place = (name: string, fields: object, files: Record<string, string>) => {
    mkdirSync(join(modules, name), { recursive: true });
    const own = name.split('/node_modules/').at(-1);
    writeFileSync(join(modules, name, 'package.json'), JSON.stringify({ name: own, ...fields }));
    for (const [file, text] of Object.entries(files)) {
      writeFileSync(join(modules, name, file), text);
    }
  };

  test('name every package, also one inside another, with its license and its notice', () => {
    expect(findPackages(modules)).toEqual([
      {
        name: '@scope/a',
        version: '2.0.0',
        license: 'Apache-2.0',
        texts: ['Text two', 'A notice'],
      },
      { name: 'b', version: '1.0.0', license: 'MIT', texts: ['Text one'] },
      { name: 'c', version: '3.0.0', license: 'MIT', texts: ['Text one'] },
      { name: 'none', version: '4.0.0', license: 'unknown', texts: [] },
    ]);
  });

  test('show a text that two packages share once, under both names', () => {
    const text = formatNotices(findPackages(modules));
    expect(text).toContain('b 1.0.0 (MIT)\nc 3.0.0 (MIT)\n\nText one\n');
    expect(text.match(/Text one/g)).toHaveLength(1);
    expect(text).toContain('@scope/a 2.0.0 (Apache-2.0)\n\nText two\n\nA notice\n');
    expect(text).toContain('none 4.0.0 (unknown)\n\n(The package contains no license text.)\n');
  });
});

test('folders without a file leave the image, and the others stay', () => {
  const folder = mkdtempSync(join(tmpdir(), 'waypost-empty-'));
  mkdirSync(join(folder, 'a', 'b'), { recursive: true });
  mkdirSync(join(folder, 'c', 'd'), { recursive: true });
  writeFileSync(join(folder, 'c', 'file'), '');
  removeEmptyFolders(folder);
  expect(['a', 'c', 'c/d', 'c/file'].map((path) => existsSync(join(folder, path)))).toEqual([
    false,
    true,
    false,
    true,
  ]);
  rmSync(folder, { recursive: true });
});

describe('the health check of the image', () => {
  const servers: Server[] = [];
  afterEach(() => {
    for (const server of servers.splice(0)) server.close();
  });

  /**
   * Starts services whose health ports answer with these statuses, and runs the check. @returns
   * exit code and text
   */
  async function check(question: string, statuses: number[]): Promise<[number, string]> {
    const names = PORTS.filter((name) => name.includes('HEALTH'));
    // Port 1 is closed on every machine that runs tests.
    const env: Record<string, string> = {
      PATH: process.env.PATH!,
      ...Object.fromEntries(names.map((name) => [name, '1'])),
    };
    for (const [i, status] of statuses.entries()) {
      const server = createServer((request, response) => {
        response.writeHead(request.url === `/${question}` ? status : 404).end('{}');
      }).listen(0, '127.0.0.1');
      servers.push(server);
      await once(server, 'listening');
      env[names[i]!] = String((server.address() as AddressInfo).port);
    }
    try {
      const { stdout } = await promisify(execFile)(join(ROOT, 'deploy/image/healthy'), [question], {
        env,
      });
      return [0, stdout.trim()];
    } catch (error) {
      const { code, stdout } = error as { code: number; stdout: string };
      return [code, stdout.trim()];
    }
  }

  test.each<[string, string, number[], [number, unknown]]>([
    ['passes if the only service in the container answers with 200', 'livez', [200], [0, '']],
    ['passes if all services answer with 200', 'readyz', [200, 200, 200], [0, '']],
    [
      'fails if one of the services is not ready',
      'readyz',
      [200, 503],
      [1, expect.stringMatching(/^not readyz at port \d+: 503$/)],
    ],
    ['fails if no service listens', 'livez', [], [1, 'not livez: no health port is open']],
  ])('%s', async (_, question, statuses, expected) => {
    expect(await check(question, statuses)).toEqual(expected);
  });
});

describe('the command line of the image', () => {
  const folder = mkdtempSync(join(tmpdir(), 'waypost-image-'));
  writeFileSync(join(folder, 'admin-token'), 'the-admin-token\n');
  // In place of node: prints the tokens that the program would get.
  const node = '#!/bin/sh\necho "$WAYPOST_TOKEN|$WAYPOST_ADMIN_TOKEN"\n';
  writeFileSync(join(folder, 'node'), node, { mode: 0o755 });
  afterAll(() => rmSync(folder, { recursive: true }));

  const here = 'http://127.0.0.1:8090';
  test.each<[string, Record<string, string>, string[], string]>([
    ['gives this control the admin token', { WAYPOST_URL: here }, ['status'], '|the-admin-token'],
    ['gives it to no other address', { WAYPOST_URL: here }, ['status', '--url', here], '|'],
    ['nor by another form of it', {}, ['status', '--url=https://example.com'], '|'],
    ['nor to one in the environment', { WAYPOST_URL: 'https://example.com' }, ['status'], '|'],
    ['leaves a token that is given', { WAYPOST_TOKEN: 'own' }, ['status'], 'own|'],
  ])('%s', async (_, given, args, expected) => {
    const env = {
      PATH: `${folder}:${process.env.PATH!}`,
      WAYPOST_DATA_DIR: folder,
      ...given,
    };
    const program = join(ROOT, 'deploy/image/waypost');
    const { stdout } = await promisify(execFile)(program, args, { env });
    expect(stdout.trim()).toBe(expected);
  });
});
