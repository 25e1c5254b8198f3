import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import { type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { downloadProblem, UnexpectedStatus } from '../../../dev/kafka/download-problem';
import { parseJarList } from '../../../dev/kafka/jar-list';
import { kafkaJars } from '../../../dev/kafka/kafka-jars';

/** The jars of the broker come from a server of this test, which misbehaves. */

const CONTENTS: Record<string, Buffer> = {
  'kafka_2.13': Buffer.alloc(300_000, 'kafka'),
  'log4j-core': Buffer.alloc(2_000, 'log4j'),
};
const line = (artifact: string) => {
  const content = CONTENTS[artifact]!;
  return (
    `${createHash('sha256').update(content).digest('hex')} ${content.length} ` +
    `org.example:${artifact}:1.0`
  );
};
const LIST = parseJarList(`# a comment\n${Object.keys(CONTENTS).map(line).join('\n')}\n`);
const FILES = ['kafka_2.13-1.0.jar', 'log4j-core-1.0.jar'];

const before = { ...process.env };
let target: string;
let server: Server;
let notes: string[];
let requests: string[];
let behave: RequestListener;

const serve: RequestListener = ({ url = '' }, response) => {
  const artifact = url.split('/').at(-3) ?? '';
  response.end(CONTENTS[artifact]);
};

beforeEach(async () => {
  target = mkdtempSync(join(tmpdir(), 'waypost-jars-test-'));
  notes = [];
  requests = [];
  behave = serve;
  server = createServer((request, response) => {
    requests.push(request.url ?? '');
    behave(request, response);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
  rmSync(target, { recursive: true, force: true });
  process.env = { ...before };
});

const mirror = () =>
  `http://user:secret@127.0.0.1:${String((server.address() as AddressInfo).port)}/maven/`;

/** Maven is not there. */
function bring(settings: { offline?: boolean; from?: string } = {}): Promise<string> {
  const place = { list: LIST, target, hasMaven: () => Promise.resolve(false), pausesMs: [0, 0] };
  const from = {
    WAYPOST_OFFLINE: settings.offline ?? false,
    WAYPOST_MAVEN_MIRROR: settings.from ?? mirror(),
  };
  return kafkaJars(from, (note) => notes.push(note), place);
}

const failure = async (settings?: Parameters<typeof bring>[0]): Promise<string> =>
  bring(settings).then(
    () => 'no failure',
    (error: unknown) => (error as Error).message,
  );

test('A start downloads all jars from the mirror as its user, and a later one none', async () => {
  let authorization: string | undefined;
  behave = (request, response) => {
    authorization = request.headers.authorization;
    serve(request, response);
  };
  const folder = await bring();
  expect(readdirSync(folder).sort()).toEqual(FILES);
  expect(readFileSync(join(folder, FILES[1]!))).toEqual(CONTENTS['log4j-core']);
  expect(requests.sort()).toEqual([
    '/maven/org/example/kafka_2.13/1.0/kafka_2.13-1.0.jar',
    '/maven/org/example/log4j-core/1.0/log4j-core-1.0.jar',
  ]);
  expect(Buffer.from(authorization!.split(' ')[1]!, 'base64').toString()).toBe('user:secret');
  expect(notes).toEqual(['downloading Apache Kafka 1.0 (2 files, 1 MB, once)']);
  expect(await bring()).toBe(folder);
  expect(requests).toHaveLength(2);
});

test('A connection that is cut once does not fail the start', async () => {
  behave = (request, response) => {
    if (requests.length > 1) return serve(request, response);
    response.writeHead(200, { 'content-length': '300000' });
    response.write(Buffer.alloc(1_000), () => response.destroy());
  };
  expect(readdirSync(await bring()).sort()).toEqual(FILES);
});

test('A start after an interrupted one downloads what is missing and removes parts', async () => {
  const unfinished = join(target, `lib-${LIST.id}.unfinished`);
  mkdirSync(unfinished);
  writeFileSync(join(unfinished, FILES[0]!), CONTENTS['kafka_2.13']!);
  writeFileSync(join(unfinished, FILES[1]!), 'half of it');
  writeFileSync(join(unfinished, `${FILES[1]!}.123.part`), 'half');
  expect(readdirSync(await bring()).sort()).toEqual(FILES);
  expect(requests).toEqual(['/maven/org/example/log4j-core/1.0/log4j-core-1.0.jar']);
  expect(notes).toEqual(['continuing to download Apache Kafka 1.0 (1 of 2 files, 1 MB)']);
});

test('Two starts at the same time get the same complete folder', async () => {
  const [one, other] = await Promise.all([bring(), bring()]);
  expect(one).toBe(other);
  expect(readdirSync(one).sort()).toEqual(FILES);
});

describe('One sentence without a password says what to do about', () => {
  afterEach(() => {
    // A failed start leaves no folder that a later one would take as complete.
    expect(readdirSync(target).filter((name) => !name.endsWith('.unfinished'))).toEqual([]);
  });

  test.each<[string, RequestListener, RegExp]>([
    [
      'a changed file',
      (_, response) => void response.end('something else'),
      /not the file that Waypost expects .*mirror/,
    ],
    [
      'a missing file',
      (_, response) => void response.writeHead(404).end(),
      /status 404: .*WAYPOST_MAVEN_MIRROR/,
    ],
    [
      'a wrong password',
      (_, response) => void response.writeHead(401).end(),
      /status 401: .*password/,
    ],
    [
      'a broken server',
      (_, response) => void response.writeHead(503).end(),
      /status 503: start again later/,
    ],
    [
      'a connection that is always cut',
      (_, response) => void response.destroy(),
      /was cut .*start again/,
    ],
  ])('%s', async (_, listener, sentence) => {
    behave = listener;
    const text = await failure();
    expect(text).toMatch(sentence);
    expect(text).not.toContain('secret');
  });

  test('a server that is away', async () => {
    const from = mirror();
    server.close();
    const text = await failure({ from });
    expect(text).toMatch(
      /^127\.0\.0\.1:\d+ cannot be reached \(ECONNREFUSED\): .*HTTPS_PROXY.*WAYPOST_MAVEN_MIRROR.*\.$/,
    );
  });

  test('a proxy that is away', async () => {
    process.env.HTTP_PROXY = 'http://127.0.0.1:1';
    expect(await failure()).toMatch(
      /through the proxy in HTTP_PROXY \(ECONNREFUSED\): correct HTTP_PROXY/,
    );
    expect(requests).toEqual([]);
  });

  test('a full disk', () => {
    const attempt = { host: 'a host', folder: '/srv/waypost', size: '45 MB', proxy: undefined };
    const error = Object.assign(new Error('write'), { code: 'ENOSPC', syscall: 'write' });
    expect(downloadProblem(error, attempt)).toBe(
      'The disk of /srv/waypost is full (ENOSPC): free 45 MB there and start again.',
    );
  });

  test('an authority that Node does not know', () => {
    const attempt = { host: 'a host', folder: '/srv/waypost', size: '45 MB', proxy: undefined };
    const cause = Object.assign(new Error('self-signed'), { code: 'SELF_SIGNED_CERT_IN_CHAIN' });
    expect(downloadProblem(new TypeError('fetch failed', { cause }), attempt)).toMatch(
      /^The certificate of a host is not trusted \(SELF_SIGNED_CERT_IN_CHAIN\): .*NODE_EXTRA_CA_CERTS\.$/,
    );
  });

  test('a proxy that wants a password', () => {
    const attempt = { host: 'a host', folder: '/srv/waypost', size: '45 MB', proxy: 'HTTPS_PROXY' };
    expect(downloadProblem(new UnexpectedStatus(407), attempt)).toBe(
      'The proxy in HTTPS_PROXY refuses its user (status 407): put a user and a password into it.',
    );
  });

  test('a folder that cannot be written', async () => {
    rmSync(target, { recursive: true });
    writeFileSync(target, 'a file is in the way');
    const text = await failure();
    rmSync(target);
    mkdirSync(target);
    expect(text).toBe(
      `${target} cannot be written (ENOTDIR): give this user the right to write there.`,
    );
  });

  test('WAYPOST_OFFLINE without the jars', async () => {
    expect(await failure({ offline: true })).toMatch(
      /^The jars of Kafka are not on this machine, and WAYPOST_OFFLINE .*\.$/,
    );
    expect(requests).toEqual([]);
  });
});

test('A line of another form in the list is an error', () => {
  expect(() => parseJarList('abc 12 kafka')).toThrow('This line of jars.txt');
});
