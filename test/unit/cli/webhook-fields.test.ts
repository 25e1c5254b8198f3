import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AT_CONTROL, playControl, waypost } from '../../support/cli';

/** What an edit of URLs keeps, against a control API in this process. */

const KEEP = { keep: true };
const webhook = {
  id: 'whk_1',
  url: 'https://a.example/old?token=t',
  headers: { 'X-Key': KEEP },
  auth: { type: 'bearer', token: KEEP },
  tls: { certificate: 'pem', key: KEEP, ca: null, notAfter: '2027-01-01T00:00:00Z' },
  disabled: null,
};
const plain = { id: 'whk_2', headers: {}, auth: null, tls: null, disabled: null };

const named = (id: string, name: string, more = {}) => ({ id, name, ...more });
const ANSWERS: Record<string, object> = {
  '/about': {},
  '/sources/src_2': named('src_2', 'App'),
  '/audiences': { data: [named('aud_1', 'Loyal', { source: 'src_aud' })], next: null },
  '/computed-traits': { data: [named('trt_1', 'Spent', { source: 'src_other' })], next: null },
};
let sources: string[];
let stored: object[];
let sent: Record<string, unknown>[];
let dir: string;
beforeEach(() => {
  stored = [webhook];
  sources = [];
  sent = [];
  dir = mkdtempSync(join(tmpdir(), 'waypost-'));
  writeFileSync(join(dir, 'headers'), 'X-New: one\n');
  writeFileSync(join(dir, 'auth'), '{"type": "bearer", "token": "new"}');
  playControl(({ method, path, body }) => {
    if (method === 'PATCH') sent.push(JSON.parse(body ?? '') as Record<string, unknown>);
    const destination = { id: 'dst_1', name: 'Hook', version: 1, sources, types: null };
    return ANSWERS[path] ?? { ...destination, webhooks: stored };
  });
});
afterEach(() => {
  jest.restoreAllMocks();
  rmSync(dir, { recursive: true });
});

const edit = (...argv: string[]) =>
  waypost(['destinations', 'edit', 'dst_1', ...argv], {
    cwd: dir,
    env: AT_CONTROL,
  });

test('another path at the same origin keeps headers, authentication and TLS settings', async () => {
  expect((await edit('--webhook', 'https://a.example/new')).code).toBe(0);
  const { id, headers, auth, tls } = webhook;
  expect(sent).toEqual([{ webhooks: [{ id, url: 'https://a.example/new', headers, auth, tls }] }]);
});

test('a URL that stays keeps its own secrets, whatever the order of the others', async () => {
  const staying = { ...webhook, id: 'whk_9', url: 'https://a.example/stays' };
  stored = [webhook, staying];
  await edit('--webhook', 'https://a.example/new', '--webhook', 'https://a.example/stays');
  expect(sent).toMatchObject([{ webhooks: [{ id: 'whk_1' }, { id: 'whk_9' }] }]);
});

test.each([
  ['another host', ['--webhook', 'https://b.example/old']],
  ['another port', ['--webhook', 'https://a.example:8443/old']],
  ['http in place of https', ['--webhook', 'http://a.example/old']],
  ['new headers only', ['--webhook', 'https://b.example/', '--headers-file', 'headers']],
])('%s is refused, names what would be lost, and changes nothing', async (_, argv) => {
  const { code, err } = await edit(...argv);
  expect([code, sent]).toEqual([2, []]);
  expect(err).toContain('auth: bearer');
  expect(err).toContain('of https://a.example');
  expect(err).not.toContain('token=t');
  expect(err.includes('header X-Key')).toBe(!argv.includes('headers'));
});

test('--drop-secrets drops them, and says what it dropped', async () => {
  const { code, err } = await edit('--webhook', 'https://b.example/', '--drop-secrets');
  expect([code, sent]).toEqual([0, [{ webhooks: [{ url: 'https://b.example/', headers: {} }] }]]);
  expect(err).toMatch(/^Dropped header X-Key, auth: bearer, client certificate.* of https:\/\/a\./);
});

test('new values for all that would be lost are enough', async () => {
  const { code } = await edit(
    '--webhook',
    'https://b.example/',
    '--headers-file',
    'headers',
    '--auth-file',
    'auth',
    '--no-tls',
  );
  expect(code).toBe(0);
  expect(sent).toMatchObject([{ webhooks: [{ headers: { 'X-New': 'one' } }] }]);
});

test('a URL without secrets is replaced without more ado', async () => {
  stored = [{ ...plain, url: 'https://a.example/' }];
  expect((await edit('--webhook', 'https://b.example/')).code).toBe(0);
});

test('secrets go to no other path when it could be that of several URLs', async () => {
  stored = [webhook, { ...webhook, id: 'whk_2', url: 'https://a.example/other' }];
  const { code, err } = await edit(
    '--webhook',
    'https://a.example/new',
    '--webhook',
    'https://a.example/other',
  );
  expect([code, err]).toEqual([0, expect.any(String)]);
  expect(sent).toMatchObject([{ webhooks: [{ id: 'whk_1' }, { id: 'whk_2' }] }]);
  sent = [];
  const both = await edit('--webhook', 'https://a.example/x', '--webhook', 'https://a.example/y');
  expect([both.code, sent]).toEqual([2, []]);
  for (const id of ['whk_1', 'whk_2']) expect(both.err).toContain(`of https://a.example (${id})`);
});

test('fewer URLs need an answer', async () => {
  stored = ['https://a.example/', 'https://b.example/'].map((url) => ({ ...plain, url }));
  const refused = await edit('--webhook', 'https://a.example/');
  expect([refused.code, sent]).toEqual([2, []]);
  expect(refused.err).toContain('add --yes');
  expect((await edit('--webhook', 'https://a.example/', '--yes')).code).toBe(0);
});

test('other sources leave the audiences connected that send to it', async () => {
  sources = ['src_1', 'src_aud'];
  expect((await edit('--source', 'src_2')).code).toBe(0);
  expect(sent).toEqual([{ sources: ['src_2', 'src_aud'] }]);
});
