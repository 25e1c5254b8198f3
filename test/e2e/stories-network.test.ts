import { check } from '../../bin/check';
import { eventually } from '../support/eventually';
import { freePort } from '../support/free-port';
import { openStorySystem, type StorySystem } from '../support/story-system';
import { type Sink, startSink } from '../../tools/harness/sink';
import { makeCertificate } from '../support/certificate';
import { aTrack } from '../support/factories';

/**
 * The network between delivery and a receiver: forbidden networks, certificates, names and ports,
 * and the retry window. The receiver is at 127.0.0.2, the only allowed address. Most tests wait, so
 * they wait together.
 */

const WINDOW_MS = 6_000;
const HOST = '127.0.0.2';
let stage: StorySystem;
const sinks: Sink[] = [];

beforeAll(async () => {
  const env = {
    WAYPOST_ALLOWED_NETWORKS: `${HOST}/32`,
    WAYPOST_RETRY_DELAYS: '300ms,600ms',
    WAYPOST_RETRY_WINDOW: `${WINDOW_MS / 1_000}s`,
    WAYPOST_TIMEOUT: '2s',
  };
  stage = await openStorySystem({ env, host: HOST, together: true });
});
afterAll(async () => {
  await stage.close();
  await Promise.all(sinks.map((sink) => sink.close()));
});

async function sinkWith(options: Parameters<typeof startSink>[0]): Promise<Sink> {
  const sink = await startSink({ host: HOST, ...options });
  sinks.push(sink);
  return sink;
}

test.concurrent(
  'a delivery is retried until no tier fits its window, and then dead with reason window_closed',
  async () => {
    const { sink, topics } = stage;
    sink.on('/down', { status: 500 });
    const { send } = await stage.connect({ webhooks: [{ url: sink.url('/down') }] });
    const { messageId } = await send();
    const { delivery, body } = await topics.dead(messageId);
    await topics.event(messageId, 'dead');
    expect(delivery.reason).toBe('window_closed');
    expect(delivery.expiresAt - delivery.acceptedAt).toBe(WINDOW_MS);
    const attempts = topics.attemptsOf(messageId);
    expect(attempts.map(({ n }) => n)).toEqual(attempts.map((_, i) => i + 1));
    expect(delivery.attempt).toBe(attempts.length);
    expect(sink.received('/down')).toHaveLength(attempts.length);
    // Waits of 300 ms, then 600 ms each: eleven attempts without lost time, and fewer on a slow
    // machine.
    expect(attempts.length).toBeGreaterThanOrEqual(3);
    expect(attempts.length).toBeLessThanOrEqual(12);
    expect(Date.parse(attempts.at(-1)!.at)).toBeLessThanOrEqual(delivery.expiresAt);
    expect(attempts.at(-1)).toMatchObject({ reason: 'window_closed', outcome: 'retry' });
    expect(body.equals(sink.received('/down')[0]!.body)).toBe(true);
  },
);

test.concurrent(
  'any delivery above a rate is delivered or becomes a dead letter with the reason rate_limited',
  async () => {
    // Forty concurrent calls, at a rate of one a second.
    const { sink, topics } = stage;
    const { send } = await stage.connect({
      webhooks: [{ url: sink.url('/slow-lane') }],
      maxPerSecond: 1,
    });
    const calls = await Promise.all(Array.from({ length: 40 }, () => send()));
    const ends = await Promise.all(
      calls.map(({ messageId }) =>
        eventually(() => {
          const end = topics
            .eventsOf(messageId)
            .find(
              (event) =>
                event.kind === 'dead' ||
                (event.kind === 'attempt' && event.outcome === 'delivered'),
            );
          if (!end) {
            throw new Error(
              `no end of ${messageId}: ${JSON.stringify(topics.eventsOf(messageId))}`,
            );
          }
          return end;
        }),
      ),
    );
    const dead = ends.flatMap((end) => (end.kind === 'dead' ? [end.reason] : []));
    expect(new Set(dead)).toEqual(new Set(['rate_limited']));
    expect(sink.received('/slow-lane')).toHaveLength(calls.length - dead.length);
  },
);

describe('addresses that webhooks may not reach', () => {
  test.concurrent.each([
    ['link-local, where clouds keep credentials', () => 'http://169.254.169.254/latest/meta-data/'],
    ['loopback, written as one number', (port: number) => `http://2130706433:${port}/`],
    ['loopback, written in octal', (port: number) => `http://0177.0.0.1:${port}/`],
    ['loopback by its name', (port: number) => `http://localhost:${port}/`],
    ['IPv4 in IPv6', () => 'http://[::ffff:10.0.0.1]/'],
    ['loopback in IPv6', (port: number) => `http://[::ffff:127.0.0.1]:${port}/`],
    ['IPv6 loopback', (port: number) => `http://[::1]:${port}/`],
    ['this host', (port: number) => `http://0.0.0.0:${port}/`],
    ['a private network', () => 'http://192.168.0.1/'],
  ])(
    'a delivery to a URL at %s is a dead letter after one attempt, without a connection',
    async (_, url) => {
      const victim = await sinkWith({ host: '127.0.0.1' });
      const { send } = await stage.connect({ webhooks: [{ url: url(victim.port) }] });
      const { messageId } = await send();
      expect((await stage.topics.dead(messageId)).delivery).toMatchObject({
        reason: 'rejected',
        attempt: 1,
      });
      await stage.topics.event(messageId, 'dead');
      expect(stage.topics.attemptsOf(messageId)).toEqual([
        expect.objectContaining({
          outcome: 'rejected',
          urls: [
            expect.objectContaining({
              outcome: 'rejected',
              error: expect.objectContaining({ code: 'forbidden_address' }),
            }),
          ],
        }),
      ]);
      expect(victim.totalConnections).toBe(0);
    },
  );
});

test.concurrent('a forbidden URL does not affect the other URL of its destination', async () => {
  // The forbidden URL comes first. From the second attempt on, the delivery goes to the other URL
  // alone.
  const { sink, topics } = stage;
  sink.on('/beside', [{ status: 503 }, {}]);
  const { send } = await stage.connect({
    webhooks: [{ url: 'http://10.0.0.1/' }, { url: sink.url('/beside') }],
  });
  const { messageId } = await send();
  await topics.event(messageId, 'attempt', ({ n, outcome }) => n === 2 && outcome === 'delivered');
  const attempts = topics.attemptsOf(messageId);
  expect(attempts.map(({ n, outcome, urls }) => [n, outcome, urls.length])).toEqual([
    [1, 'retry', 2],
    [2, 'delivered', 1],
  ]);
  expect(topics.eventsOf(messageId)).toHaveLength(2);
  expect(topics.deadOf(messageId)).toEqual([]);
});

describe('certificates', () => {
  const HOUR_MS = 3_600_000;
  const trouble = {
    'self-signed': () => makeCertificate({ hosts: [HOST] }),
    expired: () =>
      makeCertificate({
        hosts: [HOST],
        notBefore: new Date(Date.now() - 2 * HOUR_MS),
        notAfter: new Date(Date.now() - HOUR_MS),
      }),
    'of another host': () => makeCertificate({ hosts: ['shop.example'] }),
  };
  test.concurrent.each(Object.entries(trouble))(
    'a receiver whose certificate is %s gets no request, and the delivery is retried',
    async (_, certificate) => {
      const sink = await sinkWith({ tls: certificate() });
      const { send } = await stage.connect({
        webhooks: [{ url: sink.url('/secure') }],
        sharedSecret: 'kept to ourselves',
      });
      const { messageId } = await send();
      await stage.topics.event(messageId, 'attempt', ({ n }) => n === 2);
      expect(stage.topics.attemptsOf(messageId)[0]).toMatchObject({
        outcome: 'retry',
        urls: [{ outcome: 'retry', error: { code: 'tls' } }],
      });
      expect(sink.totalConnections).toBeGreaterThanOrEqual(2);
      expect(sink.requests).toEqual([]);
    },
  );
});

test.concurrent(
  'a delivery whose connection is refused is retried and arrives once the receiver listens',
  async () => {
    const port = await freePort();
    const { send } = await stage.connect({ webhooks: [{ url: `http://${HOST}:${port}/late` }] });
    const { messageId } = await send();
    const first = await stage.topics.event(messageId, 'attempt');
    expect(first).toMatchObject({
      outcome: 'retry',
      urls: [{ error: { code: 'connection', phase: 'connect' } }],
    });
    const sink = await sinkWith({ port });
    await sink.waitFor(1, { path: '/late' });
  },
);

test.concurrent('a delivery whose connection is reset is retried', async () => {
  // A receiver of this test alone: delivery sends again at once on a new connection when a kept one
  // turns out to be closed.
  const sink = await sinkWith({});
  sink.on('/reset', [{ misbehave: 'reset' }, {}]);
  const { send } = await stage.connect({ webhooks: [{ url: sink.url('/reset') }] });
  const { messageId } = await send();
  await sink.waitFor(2, { path: '/reset' });
  const first = await stage.topics.event(messageId, 'attempt', ({ n }) => n === 1);
  expect(first).toMatchObject({ outcome: 'retry', urls: [{ error: { code: 'connection' } }] });
});

test.concurrent(
  'a delivery to a name without an address fails with the error dns and is retried',
  async () => {
    const { send } = await stage.connect({ webhooks: [{ url: 'http://no-such-host.invalid/' }] });
    const { messageId } = await send();
    const first = await stage.topics.event(messageId, 'attempt');
    expect(first).toMatchObject({
      outcome: 'retry',
      urls: [{ error: { code: 'dns', phase: 'dns' } }],
    });
    await stage.topics.event(messageId, 'attempt', ({ n }) => n === 2);
  },
);

test.concurrent(
  'static headers arrive unchanged, and none can replace a header that Waypost sets',
  async () => {
    const { sink, system } = stage;
    const webhooks = [
      {
        url: sink.url('/headers?token=t'),
        headers: { Authorization: 'Bearer of-the-customer', 'X-Team': 'a b' },
      },
    ];
    const { send } = await stage.connect({ webhooks });
    await send(aTrack());
    const [request] = await sink.waitFor(1, { path: '/headers' });
    expect(request!.path).toBe('/headers?token=t');
    expect(request!.headers).toMatchObject({
      authorization: 'Bearer of-the-customer',
      'x-team': 'a b',
      'content-type': 'application/json',
      'user-agent': 'Waypost/1.0',
      'content-length': String(request!.body.length),
      host: `${HOST}:${sink.port}`,
    });
    const names = request!.rawHeaders
      .filter((_, i) => i % 2 === 0)
      .map((name) => name.toLowerCase());
    expect(new Set(names).size).toBe(names.length);

    const ours = [
      'Content-Type',
      'Traceparent',
      'tracestate',
      'X-Signature',
      'webhook-id',
      'Webhook-Anything',
      'Host',
      'Content-Length',
      'Content-Encoding',
      'Connection',
      'Keep-Alive',
      'Transfer-Encoding',
      'TE',
      'Trailer',
      'Upgrade',
      'Expect',
      'Proxy-Authorization',
    ];
    const source = await system.createSource();
    const answer = await system.control('POST', '/destinations', {
      name: 'Forger',
      type: 'webhooks',
      sources: [source.id],
      webhooks: [
        {
          url: sink.url('/forged'),
          headers: Object.fromEntries(ours.map((name) => [name, 'forged'])),
        },
      ],
    });
    expect(answer.status).toBe(422);
    const named = (answer.body.errors as { pointer: string }[]).map(({ pointer }) => pointer);
    expect(named.sort()).toEqual(ours.map((name) => `#/webhooks/0/headers/${name}`).sort());
  },
);

// After all others: it looks at all sources and destinations.
test.each([
  ['arrives at an address in an allowed network', HOST, 'The call arrived once'],
  [
    'is refused for the address of the check in any other network',
    '127.0.0.3',
    'no allowed network contains it',
  ],
])(
  'the check of an installation succeeds when its call %s, and deletes its entries',
  async (_, address, end) => {
    const { system } = stage;
    const lines: string[] = [];
    const env = {
      WAYPOST_INGEST_URL: system.ingestUrl,
      WAYPOST_URL: system.controlUrl,
      WAYPOST_TOKEN: system.adminToken,
    };
    await check(address, env, (line) => lines.push(line), 0);
    expect(lines.at(-1)).toContain(end);
    const left = await Promise.all(
      ['/sources', '/destinations'].map((path) => system.control('GET', path)),
    );
    expect(JSON.stringify(left)).not.toContain('Check of the installation');
  },
);
