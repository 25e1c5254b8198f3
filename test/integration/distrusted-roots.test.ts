import { execFile } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import tls from 'node:tls';
import { promisify } from 'node:util';
import { outdatedNode } from '../../shared/runtime/distrusted-roots';
import { ROOT } from '../../shared/runtime/repo-root';
import { type Certificate, makeCertificate } from '../support/certificate';
import { startIngestProcess } from '../support/ingest-process';

/**
 * Authorities that are left out, with real TLS in processes of their own: what a process trusts is
 * decided when it starts. Both authorities are among those that Node knows, by NODE_EXTRA_CA_CERTS
 * or as OpenSSL's files.
 */

const run = promisify(execFile);
const BAD = makeCertificate({ name: 'a bad authority', authority: true });
const GOOD = makeCertificate({ name: 'a good authority', authority: true });
const CLIENT = makeCertificate({ name: 'the client', issuer: GOOD });
const fingerprint = new X509Certificate(BAD.cert).fingerprint256;

let dir: string;
let file: string;
const servers: tls.Server[] = [];
let badPort: number;
let goodPort: number;

async function serve(
  issuer: Certificate & { name: string },
  options: { sendsRoot: boolean },
): Promise<number> {
  const { cert, key } = makeCertificate({ name: 'the server', issuer });
  const chain = options.sendsRoot ? `${cert}${issuer.cert}` : cert;
  const server = tls.createServer({ key, cert: chain }, (socket) => {
    socket.on('error', () => undefined);
    // A response to HTTP is the greeting of a mail server too, which ends the dialogue at once.
    socket.once('data', () =>
      socket.end('HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok'),
    );
  });
  server.on('tlsClientError', () => undefined);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'waypost-roots-'));
  file = join(dir, 'authorities.pem');
  writeFileSync(file, `The authorities of a company\n${BAD.cert}${GOOD.cert}`);
  badPort = await serve(BAD, { sendsRoot: false });
  goodPort = await serve(GOOD, { sendsRoot: true });
});
afterAll(() => {
  for (const server of servers) server.close();
  rmSync(dir, { recursive: true });
});

/** What is in the child process beside the statements of a test. */
const PRELUDE = `
const tls = require('node:tls');
const own = tls.createSecureContext;
const { distrustRoots } = require('./dist/shared/runtime/distrusted-roots.js');
const { Sender } = require('./dist/services/delivery/http/client.js');
const { ClientTls } = require('./dist/services/delivery/http/client-tls.js');
const { NameResolver } = require('./dist/services/delivery/http/resolver.js');
const { StallClock } = require('./dist/services/delivery/clock/stall-clock.js');
const { MailSender } = require('./dist/services/delivery/http/mail.js');
let made = 0;
let trusted = [];
tls.createSecureContext = (options) => {
  if (options?.ca) [made, trusted] = [made + 1, [options.ca].flat()];
  return own(options);
};
distrustRoots();
const handshakes = [];
const sender = new Sender({
  timeoutMs: 5_000, guard: () => undefined, names: new NameResolver(1_000),
  clock: new StallClock(), mostConnections: 9,
  onHandshake: (resumed) => handshakes.push(resumed ? 'resumed' : 'full'),
});
const post = (port, pem) => new Promise((resolve) => sender.send({
  origin: 'https://localhost:' + port, path: '/', headers: [], body: Buffer.from('{}'),
  ...(pem && { tls: new ClientTls(pem) }),
}, (result) => resolve(result.ok ? 'ok' : result.error.message)));
const outcome = (promise) => promise.then(() => 'ok', (error) => error.cause?.code ?? error.code);
const BAD = Number(process.env.BAD), GOOD = Number(process.env.GOOD);
`;

interface ChildOptions {
  listed: boolean;
  flags?: string[];
  env?: Record<string, string>;
}

/** Runs statements in a process that knows both authorities. @returns what they return */
async function inProcess<T>(
  statements: string,
  { listed, flags = [], env = { NODE_EXTRA_CA_CERTS: file } }: ChildOptions,
): Promise<T> {
  const script =
    `${PRELUDE}(async () => {${statements}})().then((it) => { ` +
    'console.log(JSON.stringify(it)); process.exit(0); });';
  const { stdout } = await run(process.execPath, [...flags, '-e', script], {
    cwd: ROOT,
    env: {
      PATH: process.env.PATH,
      BAD: String(badPort),
      GOOD: String(goodPort),
      WAYPOST_DISTRUSTED_ROOTS: listed ? `${fingerprint}, ${'0'.repeat(64)}` : '',
      ...env,
    },
  });
  return JSON.parse(stdout) as T;
}

const REFUSED =
  'the authority "a bad authority", which signed the certificate of the endpoint, must not ' +
  'be trusted';

test('a webhook is sent to the endpoint of an authority that is not listed', async () => {
  expect(await inProcess('return [await post(BAD), await post(GOOD)]', { listed: false })).toEqual([
    'ok',
    'ok',
  ]);
});

test('no webhook goes to the endpoint of a listed authority, and the error names it', async () => {
  expect(await inProcess('return [await post(BAD), await post(GOOD)]', { listed: true })).toEqual([
    REFUSED,
    'ok',
  ]);
});

test('a listed authority that the endpoint itself sends is named too', async () => {
  const port = await serve(BAD, { sendsRoot: true });
  expect(await inProcess(`return post(${String(port)})`, { listed: true })).toBe(REFUSED);
});

test('a client certificate does not bring a listed authority back', async () => {
  const pem = JSON.stringify({ certificate: CLIENT.cert, key: CLIENT.key });
  const statements = `return [await post(BAD, ${pem}), await post(GOOD, ${pem})]`;
  expect(await inProcess(statements, { listed: true })).toEqual([REFUSED, 'ok']);
});

test("a destination's own authorities are trusted, whatever is listed", async () => {
  const statements = `return post(BAD, ${JSON.stringify({ ca: BAD.cert })})`;
  expect(await inProcess(statements, { listed: true, env: {} })).toBe('ok');
});

/** Each opens a connection by another library, to the port `at`. */
const OTHERS: Readonly<Record<string, string>> = {
  fetch: "outcome(fetch('https://localhost:' + at))",
  'node:https': `outcome(new Promise((resolve, reject) =>
    require('node:https').get({ port: at, agent: new (require('node:https').Agent)() }, resolve)
      .on('error', reject)))`,
  'undici of the service': "outcome(require('undici').request('https://localhost:' + at))",
  'the ES module of node:tls': `import('node:tls').then(({ connect }) =>
    outcome(new Promise((resolve, reject) =>
      connect({ port: at, host: 'localhost' }, resolve).on('error', reject))))`,
  Kafka: `outcome(new Promise((resolve, reject) => require('kafkajs/src/network/socketFactory')()(
    { host: 'localhost', port: at, ssl: {}, onConnect: resolve }).on('error', reject)))`,
};
test.each(Object.entries(OTHERS))(
  'a connection by %s trusts no listed authority',
  async (_, connect) => {
    const statements = `const to = (at) => ${connect}; return [await to(BAD), await to(GOOD)]`;
    expect(await inProcess(statements, { listed: false })).toEqual(['ok', 'ok']);
    expect(await inProcess(statements, { listed: true })).toEqual([
      expect.stringMatching(/VERIFY|ISSUER/),
      'ok',
    ]);
  },
);

test('no mail goes to the server of a listed authority', async () => {
  const statements = `
    const body = Buffer.from(JSON.stringify({ subject: 's', text: 't' }));
    const mail = { origin: 'mailto:a@example.com', path: '', headers: [], body };
    const send = (port) => new Promise((resolve) => new MailSender('smtps://localhost:' + port)
      .send(mail, (result) => resolve(result.error.message)));
    return send(BAD)`;
  expect(await inProcess(statements, { listed: true })).toMatch(/unable to verify|issuer/);
});

test('connections continue their TLS sessions, and share one context', async () => {
  const statements = 'for (let i = 0; i < 4; i++) await post(GOOD); return { handshakes, made }';
  const { handshakes, made } = await inProcess<{ handshakes: string[]; made: number }>(statements, {
    listed: true,
  });
  expect(handshakes).toEqual(['full', 'resumed', 'resumed', 'resumed']);
  expect(made).toBeLessThanOrEqual(1);
});

test.each([
  ['a file of OpenSSL', () => ({ SSL_CERT_FILE: file, SSL_CERT_DIR: dir })],
  [
    'a file of OpenSSL and one of Node',
    () => ({ SSL_CERT_FILE: '/nowhere', NODE_EXTRA_CA_CERTS: file }),
  ],
])('the other authorities of %s stay', async (_, env) => {
  const options = { flags: ['--use-openssl-ca'], env: env() };
  const statements = 'return [await post(BAD), await post(GOOD)]';
  expect(await inProcess(statements, { ...options, listed: false })).toEqual(['ok', 'ok']);
  expect(await inProcess(statements, { ...options, listed: true })).toEqual([REFUSED, 'ok']);
});

/** On Linux the file that SSL_CERT_FILE names is the store of the system. */
const hasSystemStore = process.allowedNodeEnvironmentFlags.has('--use-system-ca');
const whyNot = hasSystemStore ? '' : ` (Node ${process.version} has no --use-system-ca)`;
(hasSystemStore && process.platform === 'linux' ? test : test.skip)(
  `the other authorities of the store of the system stay${whyNot}`,
  async () => {
    const options = { flags: ['--use-system-ca'], env: { SSL_CERT_FILE: file, SSL_CERT_DIR: dir } };
    const statements = 'return [await post(BAD), await post(GOOD)]';
    expect(await inProcess(statements, { ...options, listed: false })).toEqual(['ok', 'ok']);
    expect(await inProcess(statements, { ...options, listed: true })).toEqual([REFUSED, 'ok']);
  },
);

test('the three compromised authorities are left out of what Node carries, no others', async () => {
  const statements = `
    await post(GOOD);
    const { X509Certificate } = require('node:crypto');
    const subjectOf = (pem) => new X509Certificate(pem).subject.replace(/^.*CN=/s, '');
    const now = trusted.length > 0 ? trusted : tls.getCACertificates('default');
    return { carried: tls.rootCertificates.map(subjectOf), now: now.map(subjectOf) }`;
  const { carried, now } = await inProcess<{ carried: string[]; now: string[] }>(statements, {
    listed: false,
  });
  const bad = ['emSign ECC Root CA - G3', 'emSign Root CA - C1', 'emSign ECC Root CA - C3'];
  const wanted = [
    ...carried.filter((name) => !bad.includes(name)),
    'a bad authority',
    'a good authority',
  ];
  expect([...new Set(now)].sort()).toEqual([...new Set(wanted)].sort());
});

test('a service says once at its start that its Node trusts compromised authorities', async () => {
  const ingest = await startIngestProcess(process.env.KAFKA_BROKERS!);
  const lines = ingest.process
    .output()
    .split('\n')
    .filter((line) => line.includes('node.outdated'));
  await ingest.close();
  const reason = outdatedNode();
  expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual(
    reason === undefined ? [] : [expect.objectContaining({ level: 'warn', reason })],
  );
});
