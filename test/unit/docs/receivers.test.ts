import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT } from '../../../shared/runtime/repo-root';
import { makeCertificate } from '../../support/certificate';
import { waypost } from '../../support/cli';
import { ADMIN_TOKEN, controlUnderTest, type ControlUnderTest } from '../../support/control';
import { blockNamed, blocksOf } from '../../support/doc-blocks';

/**
 * Runs the command of each page of docs/guide/receivers, and compares the body for its example.
 */

const FOLDER = 'docs/guide/receivers';
const PAGE_OF_TLS = 'docs/guide/receivers/mutual-tls.md';
const PAGES = [
  'docs/guide/receivers/cloudevents.md',
  'docs/guide/receivers/discord.md',
  PAGE_OF_TLS,
  'docs/guide/receivers/oauth2.md',
  'docs/guide/receivers/pagerduty.md',
  'docs/guide/receivers/slack.md',
  'docs/guide/receivers/teams.md',
];

/** Returns the JSON of a block by its name: `event` or `body`. */
function json(page: string, name: string): unknown {
  const block = blocksOf(page).find(
    ({ mark }) => mark === `run by test/unit/docs/receivers.test.ts: ${name}`,
  );
  return block && JSON.parse(block.code);
}

/** Returns what a shell gives to the one command of a block. */
function commandOf(block: string): { argv: string[]; input: string } {
  const script = `waypost() { printf '%s\\0' "$@"; cat; }\n${block}`;
  const given = execFileSync('bash', ['-euc', script], { input: '' }).toString().split('\0');
  return {
    argv: given.slice(0, -1),
    input: given.at(-1)!,
  };
}

const YEARS_MS = 50 * 365 * 86_400_000;
const pem = makeCertificate({
  notBefore: new Date(Date.now() - YEARS_MS),
  notAfter: new Date(Date.now() + YEARS_MS),
});

let dir: string;
let control: ControlUnderTest;
let server: Server;
let source: string;
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'waypost-recipes-'));
  writeFileSync(join(dir, 'waypost.crt'), pem.cert);
  writeFileSync(join(dir, 'waypost.key'), pem.key);
  writeFileSync(join(dir, 'bank.pem'), pem.cert);
  control = await controlUnderTest();
  server = createServer(control.app);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { body } = await control.call('post', '/sources').send({ name: 'My site' });
  source = (body as { id: string }).id;
});
afterAll(() => {
  server.close();
  server.closeAllConnections();
  rmSync(dir, { recursive: true, force: true });
});

test('each page is tested', () => {
  expect(readdirSync(join(ROOT, FOLDER)).map((name) => `${FOLDER}/${name}`)).toEqual(PAGES);
});

test.each(PAGES)(
  'the command of %s creates its destination, whose secrets are kept, and whose body is the one ' +
    'on the page',
  async (page) => {
    const { argv, input } = commandOf(blockNamed(page, 'create'));
    const { port } = server.address() as AddressInfo;
    const ran = await waypost([...argv, '--json'], {
      cwd: dir,
      input,
      env: {
        WAYPOST_URL: `http://127.0.0.1:${String(port)}`,
        WAYPOST_TOKEN: ADMIN_TOKEN,
      },
    });
    expect([ran.code, ran.out, ran.err]).toEqual([0, expect.anything(), expect.anything()]);
    expect(ran.json).toMatchObject([{ enabled: true, sources: [source] }]);
    const { id, webhooks } = ran.json[0] as { id: string; webhooks: object[] };
    const again = await control.call('patch', `/destinations/${id}`).send({ webhooks });
    expect([again.status, again.body]).toEqual([200, expect.anything()]);

    const message = json(page, 'event');
    expect(message === undefined).toBe(page === PAGE_OF_TLS);
    if (message === undefined) return;
    const preview = await control
      .call('post', '/destinations/preview')
      .send({ destination: id, message });
    const { body: sent } = preview.body as { body: string };
    expect(preview.status).toBe(200);
    // A message without an event has a source of this name.
    expect(JSON.parse(sent.replace('/sources/preview', '/sources/src_01'))).toEqual(
      json(page, 'body'),
    );
  },
);
