import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { verifyWebhook } from '../../clients/node/src/webhook';
import { CALL_TYPES, type CallType } from '../../shared/model/message';
import { ROOT } from '../../shared/runtime/repo-root';
import { makeCertificate } from '../support/certificate';
import { begin, type Ran, type Surroundings, waypost } from '../support/cli';
import { eventually } from '../support/eventually';
import { someTracks } from '../support/factories';
import { startProgram } from '../support/child-program';
import { type ReceivedRequest, type Sink, startSink } from '../../tools/harness/sink';
import { startSystem, type System } from '../../tools/harness/system';

/**
 * The command line against the whole system. Each test continues with the state of the one before.
 */

const SECRET = 'a secret that nobody types';
let system: System;
let production: Sink;
let home: string;
let around: Surroundings;
beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'waypost-cli-'));
  production = await startSink();
  system = await startSystem();
  around = {
    home,
    cwd: home,
    env: { WAYPOST_DATA_DIR: system.dataDir, XDG_STATE_HOME: system.env.XDG_STATE_HOME },
  };
  file('secret', `${SECRET}\n`);
}, 240_000);
afterAll(async () => {
  await system.discard();
  await production.close();
  rmSync(home, { recursive: true, force: true });
});

function file(name: string, text: string | Buffer): string {
  writeFileSync(join(home, name), text);
  return name;
}

/** Runs a command that must succeed. */
async function done(...argv: string[]): Promise<Ran> {
  const ran = await waypost(argv, around);
  if (ran.code !== 0) {
    throw new Error(`waypost ${argv.join(' ')} ended with ${ran.code}: ${ran.out}${ran.err}`);
  }
  expect(ran.out + ran.err).not.toContain(SECRET);
  return ran;
}

/** Returns a captured request in the file format that `verify` reads. */
function asCaptured({ rawHeaders, body }: ReceivedRequest): Buffer {
  const lines = rawHeaders.flatMap((name, i) =>
    i % 2 === 0 ? [`${name}: ${rawHeaders[i + 1]!}`] : [],
  );
  return Buffer.concat([Buffer.from(`POST /hook HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`), body]);
}

test('the CLI finds the system of its data dir and stores logins', async () => {
  expect((await done('whoami', '--json')).json).toMatchObject([
    {
      url: system.controlUrl,
      ingestUrl: system.ingestUrl,
      role: 'admin',
      rights: null,
      expiresAt: null,
    },
  ]);
  const elsewhere = { ...around, env: {}, input: `${system.adminToken}\n` };
  expect(await waypost(['login', '--url', system.controlUrl], elsewhere)).toMatchObject({
    code: 0,
  });
  expect(statSync(join(home, '.config/waypost/login.json')).mode & 0o777).toBe(0o600);
  expect(await waypost(['whoami'], { ...around, env: {} })).toMatchObject({
    code: 0,
    out: expect.stringContaining('waypost login'),
  });
  expect(
    await waypost(['login', '--url', system.controlUrl], { ...elsewhere, input: 'wrong' }),
  ).toMatchObject({
    code: 1,
    out: '',
    err: expect.stringContaining('does not know this token'),
  });
  await done('logout');
});

test('the CLI creates, lists, changes and deletes sources', async () => {
  await done('sources', 'create', 'Site');
  await done('sources', 'rename', 'Site', 'My site');
  await done('sources', 'disable', 'My site', '--yes');
  await done('sources', 'enable', 'My site');
  const { writeKey } = (await done('sources', 'show', 'My site', '--json')).json[0]!;
  expect((await done('sources', 'rotate-key', 'My site', '--yes')).out).toContain(String(writeKey));
  await done('sources', 'create', 'Another');
  expect((await done('sources', 'list')).out).toMatch(
    /^ID +NAME +ON +WRITE KEY\nsrc_\S+ +My site +yes +\w+\n/,
  );
  await done('sources', 'delete', 'Another', '--yes');
});

test('the CLI creates, lists and changes destinations', async () => {
  file('headers', 'X-Own: a value that nobody types\n');
  const url = production.url('/hook');
  const [made] = (
    await done(
      'destinations',
      'create',
      'My hook',
      '--source',
      'My site',
      '--webhook',
      url,
      '--json',
      '--secret-file',
      'secret',
      '--headers-file',
      'headers',
      '--enable',
      '--max-per-second',
      '500',
    )
  ).json;
  expect(made).toMatchObject({
    enabled: true,
    hasSharedSecret: true,
    webhooks: [{ url }],
    maxPerSecond: 500,
  });
  await done(
    'destinations',
    'edit',
    'My hook',
    '--types',
    'all',
    '--max-per-second',
    '0',
    '--name',
    'Hook',
  );
  await done('destinations', 'pause', 'Hook', '--yes');
  await done('destinations', 'resume', 'Hook');
  await done('destinations', 'disable', 'Hook', '--yes');
  await done('destinations', 'enable', 'Hook');
  expect((await done('destinations', 'test', 'Hook', '--type', 'identify')).out).toContain(
    'delivered',
  );
  expect(production.received('/hook')[0]!.headers['x-own']).toBe('a value that nobody types');
  expect((await done('destinations', 'list')).out).toMatch(
    /Hook +on +(idle|healthy) +1 +yes +http/,
  );
  expect((await done('destinations', 'show', 'Hook')).out).toContain('X-Own: ***');
});

test('the CLI sets authentication, certificates and plans, and reveals no secret', async () => {
  const url = production.url('/own');
  file(
    'auth.json',
    JSON.stringify({ type: 'basic', username: 'shop', password: 'planted-password' }),
  );
  const made = await done(
    'destinations',
    'create',
    'Own',
    '--source',
    'My site',
    '--webhook',
    url,
    '--enable',
    '--auth-file',
    'auth.json',
    '--secret-file',
    'secret',
    '--signature',
    'github',
    '--ed25519',
    '--no-x-signature',
    '--method',
    'put',
    '--body',
    '{"user": userId}',
    '--gzip-above',
    '10',
    '--timeout',
    '9s',
    '--retry-on',
    '404',
    '--json',
  );
  expect(made.json[0]).toMatchObject({
    webhooks: [{ auth: { type: 'basic', username: 'shop', password: { keep: true } } }],
    signature: {
      xSignature: false,
      ed25519: true,
      custom: { header: 'X-Hub-Signature-256', prefix: 'sha256=' },
    },
    request: { method: 'PUT', gzipAbove: 10 },
    retry: { timeout: '9s', on: [404] },
  });
  expect((await done('destinations', 'test', 'Own')).out).toContain('delivered');
  const { headers, method } = production.received('/own').at(-1)!;
  expect([method, headers.authorization, headers['content-encoding']]).toEqual([
    'PUT',
    `Basic ${Buffer.from('shop:planted-password').toString('base64')}`,
    'gzip',
  ]);
  expect([
    headers['x-signature'],
    headers['x-hub-signature-256'],
    headers['webhook-signature'],
  ]).toEqual([
    undefined,
    expect.stringMatching(/^sha256=[0-9a-f]{64}$/),
    expect.stringMatching(/^v1,\S+ v1a,\S+$/),
  ]);
  const preview = await done('destinations', 'preview', 'Own');
  expect(preview.out).toMatch(/method +PUT[^]*authorization: \*\*\*[^]*body +{"user":/);
  expect((await done('destinations', 'public-keys', 'Own')).out).toMatch(/^KEY[^]*whpk_/);
  expect(
    (await done('destinations', 'rotate-secret', 'Own', '--ed25519', '--overlap', '1h', '--yes'))
      .err,
  ).toMatch(/public-keys/);
  expect((await done('destinations', 'public-keys', 'Own', '--json')).json).toHaveLength(2);
  const shown = await done('destinations', 'show', 'Own');
  expect(shown.out).toMatch(
    /auth: basic[^]*timeout +9s[^]*ed25519 +yes[^]*signature +X-Hub-Signature-256/,
  );
  expect([made, preview, shown].map(({ out, err }) => out + err).join()).not.toContain('planted');
  // Other edits keep what they do not name.
  await done('destinations', 'edit', 'Own', '--batch', '5,200ms', '--signature', 'none');
  await done('destinations', 'edit', 'Own', '--x-signature', '--no-ed25519');
  expect((await done('destinations', 'show', 'Own', '--json')).json[0]).toMatchObject({
    webhooks: [{ auth: { type: 'basic' } }],
    signature: { xSignature: true, ed25519: false, custom: null },
    batch: { maxEvents: 5, maxWait: '200ms' },
  });
  await done('destinations', 'edit', 'Own', '--no-auth');
  expect((await done('destinations', 'show', 'Own', '--json')).json[0]).toMatchObject({
    webhooks: [{ auth: null }],
  });
  const { cert, key } = makeCertificate();
  for (const [name, text] of Object.entries({ 'own.crt': cert, 'own.key': key })) file(name, text);
  const secured = [
    '--webhook',
    'https://own.example/in',
    '--client-cert',
    'own.crt',
    '--client-key',
    'own.key',
  ];
  expect((await done('destinations', 'edit', 'Own', ...secured)).out).toMatch(
    /client certificate until 20/,
  );
  expect((await done('destinations', 'edit', 'Own', '--ca', 'own.crt')).out).toMatch(
    /client certificate.*own authorities/,
  );
  expect((await done('destinations', 'edit', 'Own', '--no-tls', '--json')).json[0]).toMatchObject({
    webhooks: [{ tls: null }],
  });
  file('auth.json', 'planted');
  for (const wrong of [
    ['--auth-file', 'auth.json'],
    ['--client-cert', 'own.crt'],
    ['--signature', 'X,md5,hex'],
  ]) {
    const ran = await waypost(['destinations', 'edit', 'Own', ...wrong], around);
    expect([ran.code > 0, ran.err]).toEqual([true, expect.not.stringContaining('planted')]);
  }
  await done('destinations', 'delete', 'Own', '--yes');
});

test('listen forwards deliveries byte for byte, and tail shows them', async () => {
  const local = await startSink();
  const listening = begin(
    ['listen', 'Hook', '--to', local.url('/here'), '--secret-file', 'secret', '--json'],
    around,
  );
  const tailing = begin(['tail', '--source', 'My site'], around);
  const attempts = begin(['tail', '--attempts', '--json'], around);
  await listening.said(/Listening to destination "Hook"/);
  await tailing.said(/Following events/);
  await attempts.said(/Following attempts/);
  production.clear();
  for (const type of CALL_TYPES) {
    const own: Partial<Record<CallType, string[]>> = {
      track: ['--event', 'E'],
      group: ['--group', 'g'],
      alias: ['--previous', 'p'],
    };
    await done('send', type, '--source', 'My site', '--user', 'u1', ...(own[type] ?? []));
  }
  const body = file(
    'call.json',
    '{"userId": "u2", "event": "Excluded", "integrations": {"All": false}}',
  );
  await done('send', 'track', '--source', 'My site', '--body', body, '--context', '{"ip": "::1"}');
  const byId = (requests: ReceivedRequest[]) =>
    new Map(requests.map(({ headers, body: bytes }) => [headers['webhook-id'], bytes.toString()]));
  // In the partition of the excluded event, so that the listener has got that one before.
  await done('send', 'track', '--source', 'My site', '--user', 'u2', '--event', 'Last');
  const forwarded = await local.waitFor(7, { path: '/here' });
  expect(byId(forwarded)).toEqual(byId(await production.waitFor(7, { path: '/hook' })));
  for (const { headers, body: bytes } of forwarded) {
    verifyWebhook({ headers, body: bytes, secret: SECRET });
  }
  // The two users may be in different partitions, whose events have no common order.
  await tailing.said(/accepted {2}track {2}u1 {2}E\n/);
  await tailing.said(/accepted {2}track {2}u2 {2}Excluded\n/);
  await attempts.said(/"outcome":"delivered"/);
  await listening.said(/"status":200/);
  expect((await tailing.interrupt()).code).toBe(0);
  expect((await attempts.interrupt()).code).toBe(0);
  const { code, json } = await listening.interrupt();
  expect([code, json.at(-1)]).toEqual([
    0,
    {
      summary: expect.objectContaining({
        received: 8,
        answered2xx: 7,
        missed: 0,
        leftOut: { integrations: 1 },
      }),
    },
  ]);
  await local.close();
}, 400_000);

test('listen forwards each event once, although control is killed in the meantime', async () => {
  const local = await startSink();
  const { writeKey } = (await done('sources', 'show', 'My site', '--json')).json[0]!;
  const listening = begin(
    ['listen', 'Hook', '--to', local.url('/kept'), '--secret-file', 'secret', '--json'],
    around,
  );
  await listening.said(/Listening to destination "Hook"/);
  const send = async (count: number) => {
    const { status } = await system.send(String(writeKey), 'batch', { batch: someTracks(count) });
    expect(status).toBe(200);
  };
  const forwarded = (count: number) =>
    eventually(
      () => expect(local.deliveries('/kept')).toMatchObject({ distinct: count, repeats: 0 }),
      {
        deadlineMs: 60_000,
      },
    );
  await send(40);
  await forwarded(40);
  // Some are in flight when control is killed, others come while it is down.
  await send(40);
  system.kill('control');
  await send(40);
  await listening.said(/event stream is back/, 90_000);
  await forwarded(120);
  await send(40);
  await forwarded(160);
  const { code, json } = await listening.interrupt();
  expect([code, json.at(-1)]).toEqual([
    0,
    {
      summary: expect.objectContaining({ received: 160, answered2xx: 160, missed: 0, repeated: 0 }),
    },
  ]);
  await local.close();
}, 400_000);

test('verify reports whether each of the two signatures is valid', async () => {
  file('request', asCaptured(production.received('/hook')[0]!));
  expect((await done('verify', 'request', '--secret-file', 'secret')).out).toMatch(
    /webhook-signature +ok +-\nX-Signature +ok/,
  );
  file('forged', readFileSync(join(home, 'request'), 'utf8').replace('"version":1', '"version":2'));
  const forged = await waypost(['verify', 'forged', '--secret-file', 'secret', '--json'], around);
  expect([forged.code, forged.json.map(({ code }) => code)]).toEqual([
    1,
    ['bad_signature', 'bad_signature'],
  ]);
});

test('the CLI finds deliveries and replays dead ones', async () => {
  production.on('/hook', { status: 422, body: 'gone \u001b[2J' });
  // Enough that a replay of one a second still runs when it is cancelled.
  const users = Array.from({ length: 10 }, (_, i) => `d${String(i + 1)}`);
  for (const user of users) {
    await done('send', 'track', '--source', 'My site', '--user', user, '--event', 'Dies');
  }
  const dead = [
    'deliveries',
    'list',
    '--destination',
    'Hook',
    '--source',
    'My site',
    '--status',
    'dead',
    '--since',
    '1h',
  ];
  // The control killed above may still be a member of the history's group until its session ends.
  const found = await eventually(
    async () => {
      const { json } = await done(...dead, '--json');
      expect(json).toHaveLength(users.length);
      return json;
    },
    { deadlineMs: 90_000 },
  );
  const shown = (await done('deliveries', 'show', String(found[0]!.id))).out;
  expect(shown).toMatch(
    /status +dead \(rejected\)[^]*422[^]*response to try 1 [^]*: gone \ufffd\[2J\n[^]*"event": "Dies"/,
  );
  const hello = {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 'test', version: '1' },
  };
  const explained = { name: 'explain_delivery', arguments: { id: found[0]!.id } };
  const input = [
    { jsonrpc: '2.0', id: 1, method: 'initialize', params: hello },
    { jsonrpc: '2.0', method: 'notifications/initialized' },
    { jsonrpc: '2.0', id: 2, method: 'tools/call', params: explained },
  ];
  const mcp = await waypost(['mcp'], {
    ...around,
    env: { WAYPOST_URL: system.controlUrl, WAYPOST_TOKEN: system.adminToken },
    input: input.map((line) => `${JSON.stringify(line)}\n`).join(''),
  });
  expect([mcp.code, mcp.out]).toEqual([
    0,
    expect.stringMatching(/is dead: its endpoint refused it for good\..* answered 422\./),
  ]);

  production.on('/hook', {});
  await done('replay', 'one', String(found[0]!.id));
  expect((await done('replay', 'all', '--destination', 'Hook', '--preview')).out).toMatch(
    /would be sent +(9|10)\n/,
  );
  const [job] = (
    await done('replay', 'all', '--destination', 'Hook', '--max-per-second', '1', '--json')
  ).json;
  await done('replay', 'cancel', String(job!.id), '--yes');
  await done('replay', 'resume', String(job!.id));
  expect((await done('replay', 'show', String(job!.id), '--follow')).out).toMatch(/status +done/);
  expect((await done('replay', 'list')).out.split('\n')).toHaveLength(3);
  await eventually(async () => expect((await done(...dead, '--json')).json).toHaveLength(0), {
    deadlineMs: 90_000,
  });
}, 400_000);

test('send reports why a call is rejected, and events list it', async () => {
  const sent = await waypost(['send', 'track', '--source', 'My site', '--user', 'u1'], around);
  expect([sent.code, sent.err]).toEqual([1, expect.stringContaining('missing_event')]);
  await eventually(async () => {
    expect((await done('events', '--rejected')).out).toMatch(
      /rejected +track +u1 +- +missing_event/,
    );
  });
});

test('the CLI creates, changes and revokes tokens, and shows each secret only once', async () => {
  const made = await done(
    'tokens',
    'create',
    'A dashboard',
    '--role',
    'read_only',
    '--out',
    'token',
  );
  expect(statSync(join(home, 'token')).mode & 0o777).toBe(0o600);
  const secret = readFileSync(join(home, 'token'), 'utf8').trim();
  expect(made.out + made.err).not.toContain(secret);
  const theirs = { ...around, env: { WAYPOST_URL: system.controlUrl, WAYPOST_TOKEN: secret } };
  expect((await waypost(['destinations', 'list'], theirs)).code).toBe(0);
  expect(await waypost(['destinations', 'pause', 'Hook', '--yes'], theirs)).toMatchObject({
    code: 1,
    err: expect.stringMatching(/operator/),
  });
  await done('tokens', 'edit', 'A dashboard', '--role', 'operator', '--name', 'A robot');
  await eventually(async () =>
    expect((await waypost(['destinations', 'pause', 'Hook', '--yes'], theirs)).code).toBe(0),
  );
  await done('destinations', 'resume', 'Hook');
  const { out, err } = await done('tokens', 'create', 'Another', '--role', 'admin');
  expect([out, err]).toEqual([
    expect.stringMatching(/^\S{30,}\n$/),
    expect.stringContaining('is admin'),
  ]);
  const list = (await done('tokens', 'list')).out;
  expect(list).toMatch(/A robot +operator[^]*Another +admin/);
  for (const shown of [secret, out.trim()]) expect(list).not.toContain(shown);
  const until = ['--expires', '2100-01-31T00:00:00Z', '--rights', 'events:read'];
  expect((await done('tokens', 'edit', 'Another', ...until)).out).toMatch(
    /events:read[^]*2100-01-31T00:00:00.000Z/,
  );
  expect(
    (await done('tokens', 'edit', 'Another', '--expires', 'never', '--rights', 'all')).out,
  ).toMatch(/all rights of the role[^]*never/);
  await done('tokens', 'revoke', 'A robot', '--yes');
  await eventually(async () =>
    expect(await waypost(['sources', 'list'], theirs)).toMatchObject({
      code: 1,
      err: expect.stringContaining('does not know this token'),
    }),
  );
  expect(await waypost(['tokens', 'create', 'Nobody'], around)).toMatchObject({
    code: 2,
    err: expect.stringMatching(/^--role is required/),
  });
});

test('the CLI configures and tests alerts, and finds and acknowledges notices', async () => {
  const url = production.url('/ops?token=hidden');
  const edited = await done(
    'alerts',
    'edit',
    '--webhook',
    url,
    '--secret-file',
    'secret',
    '--failing-for',
    '5m',
    '--switch-off-after',
    '5d',
  );
  expect(edited.out).toMatch(
    /sent +yes\nwebhook +http[^]*signed +yes[^]*failing for +5m[^]*switch off after +5d/,
  );
  expect((await done('alerts', 'test')).out).toContain('delivered');
  const { body, headers } = production.received('/ops').at(-1)!;
  expect(() => verifyWebhook({ headers, body, secret: SECRET })).not.toThrow();
  expect((await done('alerts', 'edit', '--switch-off-after', 'never')).out).toMatch(
    /switch off after +never/,
  );
  expect((await done('alerts', 'rotate-secret', '--overlap', '0s', '--yes')).out).toMatch(
    /^whsec_\S{40,}\n$/,
  );
  expect((await done('alerts', 'disable', '--yes')).out).toMatch(/sent +no/);
  expect((await done('alerts', 'edit', '--no-webhooks', '--no-secret', '--yes')).out).toMatch(
    /signed +no/,
  );
  // The dead letters of the test above caused a notice.
  const [notice] = await eventually(async () => {
    const { json } = await done(
      'notices',
      'list',
      '--kind',
      'dead_letters',
      '--unacknowledged',
      '--json',
    );
    expect(json).not.toEqual([]);
    return json;
  });
  expect((await done('notices', 'acknowledge', String(notice!.id))).out).toMatch(
    /what +dead_letters[^]*acknowledged +\S+ by /,
  );
  expect(
    (await done('notices', 'list', '--kind', 'dead_letters', '--unacknowledged', '--json')).json,
  ).toEqual([]);
  expect((await done('notices', 'show', String(notice!.id))).out).toContain(String(notice!.id));
});

test('the CLI deletes users, and the audit trail names the actor', async () => {
  file('users.txt', 'd1\nd2\n\n');
  const { out } = await done(
    'deletions',
    'create',
    '--users-file',
    'users.txt',
    '--user',
    'd3',
    '--source',
    'My site',
    '--yes',
  );
  expect(out).toMatch(/users +3\nvisitors +0\n[^]*messages +3\nuser +d3\nuser +d1\nuser +d2/);
  const [deletion] = (await done('deletions', 'list', '--json')).json;
  expect((await done('deletions', 'show', String(deletion!.id))).out).toBe(out);
  const told = () =>
    production.received('/hook').filter(({ body }) => /"type":"delete"/.test(body.toString()));
  await eventually(() => expect(told()).toHaveLength(3));
  expect(await waypost(['deletions', 'create'], around)).toMatchObject({
    code: 2,
    err: expect.stringMatching(/^Give --user, --users-file or --anonymous/),
  });
  expect(
    (await done('deletions', 'create', '--anonymous', 'v1', '--source', 'My site', '--yes')).out,
  ).toMatch(/users +0\nvisitors +1\n[^]*visitor +v1/);
  const trail = async (...filter: string[]) => (await done('audit', ...filter)).out;
  await eventually(async () => {
    expect(await trail('--kind', 'deletion')).toMatch(/admin +created deletion/);
    expect(await trail('--kind', 'token')).toMatch(
      /deleted token +A robot[^]*created token +A dashboard/,
    );
  });
  expect(await trail('--kind', 'token', '--by', 'admin')).toMatch(/role: read_only → operator/);
  await eventually(async () =>
    expect(await trail('--entry', 'alerts')).toMatch(/changed destination/),
  );
});

test('doctor passes on a healthy system and names a fault', async () => {
  // Settings that the system was started with; they are not in the data dir.
  const { code, json } = await waypost(['doctor', '--json'], { ...around, env: system.env });
  expect(code).toBe(0);
  expect(json.filter(({ result }) => result === 'fail')).toEqual([]);
  const well = json.filter(({ result }) => result === 'ok').map(({ name }) => name);
  expect(well).toEqual(
    expect.arrayContaining([
      'settings',
      'control',
      "control's clock",
      'token',
      "control's key",
      'history',
      'ingest',
      'kafka',
      'config',
      'service router',
      'service delivery',
      'secret key',
      "broker's clock",
    ]),
  );
  // The alerts are stored as a destination, and are none to a user.
  const [config] = json.filter(({ name }) => name === 'config');
  const { json: listed } = await done('destinations', 'list', '--json');
  expect(JSON.stringify(config)).toContain(` ${String(listed.length)} destinations`);
  const env = {
    ...around.env,
    WAYPOST_SECRET_KEY: Buffer.alloc(32).toString('base64'),
    WAYPOST_TIMEOUT: '5',
  };
  expect(
    await waypost(['doctor', '--url', 'http://127.0.0.1:9'], { ...around, env }),
  ).toMatchObject({
    code: 1,
    out: expect.stringMatching(/fail +settings +.*WAYPOST_TIMEOUT[^]*fail +control +no response/),
  });
});

test('an export can be imported again, with its secrets in a separate file', async () => {
  await done('export', '--out', 'waypost.json');
  expect(statSync(join(home, 'waypost.json')).mode & 0o777).toBe(0o600);
  expect((await done('import', 'waypost.json')).out).toMatch(
    /kept +source +My site[^]*kept +destination +Hook/,
  );
  await done('destinations', 'delete', 'Hook', '--yes');
  expect(await waypost(['import', 'waypost.json'], around)).toMatchObject({
    code: 1,
    err: expect.stringContaining('"Hook" needs header X-Own of http://127.0.0.1'),
  });
  const secrets = { Hook: { sharedSecret: SECRET, headers: { 'X-Own': 'again' } } };
  file('secrets.json', JSON.stringify(secrets));
  await done('import', 'waypost.json', '--secrets-file', 'secrets.json', '--dry-run');
  await done('import', 'waypost.json', '--secrets-file', 'secrets.json');
  expect((await done('destinations', 'test', 'Hook')).out).toContain('delivered');
  const { body, headers } = production.received('/hook').at(-1)!;
  expect([headers['x-own'], verifyWebhook({ headers, body, secret: SECRET }).event.type]).toEqual([
    'again',
    'track',
  ]);
  const rotated = await done('destinations', 'rotate-secret', 'Hook', '--overlap', '0s', '--yes');
  expect(rotated.out).toMatch(/^whsec_\S{40,}\n$/);
});

test('the CLI lists the events of a source and blocks one', async () => {
  await eventually(async () => {
    expect((await done('sources', 'events', 'My site')).out).toMatch(
      /^EVENT +SEEN +LAST +BLOCKED\n(.*\n)*E +\d+/,
    );
  });
  await done('sources', 'block', 'My site', 'E');
  await done('sources', 'block', 'My site', 'E');
  expect((await done('sources', 'events', 'My site', '--json')).json).toContainEqual(
    expect.objectContaining({ name: 'E', blocked: true }),
  );
  expect((await done('sources', 'unblock', 'My site', 'E', '--json')).json).toMatchObject([
    { blockedEvents: [] },
  ]);
});

/** For results that pass through several services and start with the first request. */
const soon = (check: () => Promise<void>) => eventually(check, { deadlineMs: 90_000 });

test('the CLI previews and manages an audience, uploads a list and creates a trait', async () => {
  await done(
    'send',
    'identify',
    '--source',
    'My site',
    '--user',
    'ann',
    '--traits',
    '{"plan":"pro"}',
  );
  const condition = 'has(user.traits.plan) && user.traits.plan == "pro"';
  file('condition', `${condition}\n`);
  await soon(async () => {
    const [counted] = (
      await done('audiences', 'preview', '--condition-file', 'condition', '--json')
    ).json;
    expect(counted).toMatchObject({
      phase: 'done',
      members: 1,
      exact: true,
      sample: [{ userId: 'ann' }],
    });
  });
  expect(await waypost(['audiences', 'preview', '--condition', 'count('], around)).toMatchObject({
    code: 1,
    err: expect.stringContaining('condition: line 1, column 6'),
  });
  const [made] = (
    await done(
      'audiences',
      'create',
      'Pros',
      '--condition',
      condition,
      '--sync-every',
      '1s',
      '--nobody',
      '--json',
    )
  ).json;
  expect(made).toMatchObject({ key: 'pros', condition, sources: null, destinations: [] });
  await soon(async () => {
    expect((await done('audiences', 'list')).out).toMatch(/Pros +pros +live +1 /);
    expect((await done('audiences', 'members', 'Pros')).out).toMatch(
      /^USER +VALUE +SINCE\nann +true /,
    );
    expect((await done('audiences', 'syncs', 'Pros')).out).toMatch(/^AT +USERS .*\n\d{4}-/);
  });
  expect(await waypost(['audiences', 'members', 'Pros', '--user', 'bob'], around)).toMatchObject({
    code: 1,
    out: '',
    err: 'bob is not in it.\n',
  });
  await done(
    'audiences',
    'edit',
    'Pros',
    '--name',
    'Professionals',
    '--source',
    'My site',
    '--destination',
    'Hook',
  );
  expect((await done('audiences', 'show', 'Professionals')).out).toMatch(
    /trait +pros\n[^]*sources +src_[^]*destinations +dst_/,
  );
  const settings = file('audiences.json', (await done('export')).out);
  await done('audiences', 'delete', 'Professionals', '--yes');
  expect((await done('import', settings)).out).toMatch(/created +audience +Professionals/);
  expect((await done('import', settings)).out).toMatch(/kept +audience +Professionals/);
  expect((await done('audiences', 'show', 'Professionals')).out).toMatch(
    /trait +pros\n[^]*sources +src_[^]*destinations +dst_/,
  );
  await done('audiences', 'edit', 'Professionals', '--all-sources', '--nobody');
  await done('audiences', 'delete', 'Professionals', '--yes');

  await done('audiences', 'create', 'Invited', '--list', '--sync-every', '1s');
  const members = file('members', 'ann\n"bob"\n{"userId":"cid"}\n');
  expect(
    (await done('audiences', 'upload', 'Invited', members, '--follow', '--json')).json,
  ).toMatchObject([{ lines: 3 }]);
  const input = '{"remove":"bob"}\n{"add":"dan"}\n';
  expect(
    await waypost(['audiences', 'upload', 'Invited', '-', '--changes', '--follow'], {
      ...around,
      input,
    }),
  ).toMatchObject({
    code: 0,
    out: expect.stringMatching(/lines +2/),
  });
  await soon(async () => {
    const { json } = await done('audiences', 'members', 'Invited', '--json');
    expect(json.map(({ userId }) => userId).sort()).toEqual(['ann', 'cid', 'dan']);
  });
  expect(
    await waypost(['audiences', 'upload', 'Invited', '-', '--changes'], {
      ...around,
      input: 'ann\n',
    }),
  ).toMatchObject({
    code: 1,
    err: expect.stringContaining('Line 1 must be {"add"'),
  });

  await done(
    'traits',
    'create',
    'Clicks',
    '--compute',
    'count',
    '--event',
    'E',
    '--window',
    '30d',
    '--sync-every',
    '1s',
  );
  await soon(async () => {
    expect((await done('traits', 'members', 'Clicks')).out).toMatch(/\nu1 +\d+ /);
  });
  await done('traits', 'edit', 'Clicks', '--window', '');
  expect((await done('traits', 'show', 'Clicks')).out).toMatch(
    /value +count of E\n[^]*window +all time/,
  );
  await done('traits', 'delete', 'Clicks', '--yes');
  expect((await done('traits', 'list')).err).toContain('waypost traits create --help');
}, 400_000);

test('a mistake causes one sentence and the documented exit code', async () => {
  const nobody = {
    home,
    cwd: home,
    env: { WAYPOST_URL: 'http://127.0.0.1:9', WAYPOST_TOKEN: 't' },
  };
  expect(await waypost(['sources', 'list'], nobody)).toMatchObject({
    code: 1,
    err: expect.stringMatching(/^No response at http/),
  });
  for (const [argv, why] of [
    [['sauces'], /unknown command 'sauces'[^]*sources/],
    [['sources', 'show'], /missing required argument/],
    [['listen', 'Hook'], /^--to is required/],
    [['deliveries', 'list', '--status', 'gone'], /^--status must be one of/],
    [['deliveries', 'list', '--secret', 's'], /unknown option/],
    [['audiences', 'create', 'A'], /^Give --condition or --condition-file/],
    [
      ['audiences', 'create', 'A', '--list', '--condition', 'true'],
      /^Give --condition or --condition-file/,
    ],
    [['audiences', 'edit', 'A'], /^Nothing to change/],
    [['traits', 'create', 'A'], /^--compute and --event are required/],
    [
      ['traits', 'create', 'A', '--compute', 'mean', '--event', 'E'],
      /^--compute must be one of count/,
    ],
  ] as const) {
    expect(await waypost([...argv], around)).toMatchObject({
      code: 2,
      err: expect.stringMatching(why),
    });
  }
  expect(await waypost(['sources', 'show', 'Gone'], around)).toMatchObject({
    code: 1,
    err: expect.stringMatching(/^Unknown source "Gone"/),
  });
});

test('the CLI accepts a closed pipe, ends on Ctrl-C and completes in a shell', async () => {
  const bin = join(ROOT, 'cli/waypost.cjs');
  const XDG_STATE_HOME = system.env.XDG_STATE_HOME!;
  const env = { WAYPOST_DATA_DIR: system.dataDir, XDG_STATE_HOME, HOME: home };
  // The first run may have to build it.
  const version = startProgram(process.execPath, [bin, '--version'], { env });
  await version.printed(/^\d+\.\d+\.\d+$/m);
  const piped = startProgram(
    'bash',
    [
      '-c',
      `set -o pipefail; for i in 1 2 3; do "$0" "$1" events --json; done | head -1`,
      process.execPath,
      bin,
    ],
    { env },
  );
  expect([await piped.exited, piped.output()]).toEqual([0, expect.stringMatching(/^\{.*\}\n$/)]);
  const tail = startProgram(process.execPath, [bin, 'listen', 'Hook', '--to', '9'], { env });
  await tail.printed(/Listening/);
  // As under npx, which forwards signals that the terminal also sends to all processes.
  tail.child.kill('SIGINT');
  tail.child.kill('SIGTERM');
  expect([await tail.exited, tail.output()]).toEqual([0, expect.stringContaining('received 0')]);
  const script = `source <("$0" "$1" completion bash)
    for words in 'waypost so' 'waypost destinations ro' 'waypost listen Hook --qui'; do
      COMP_WORDS=($words); COMP_CWORD=$((\${#COMP_WORDS[@]} - 1)); _waypost; echo "\${COMPREPLY[@]}"
    done`;
  const shell = startProgram('bash', ['-c', script, process.execPath, bin], { env });
  expect([await shell.exited, shell.output()]).toEqual([0, 'sources\nrotate-secret\n--quiet\n']);
});
