import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Collector, startCollector } from '../../tools/harness/collector';
import { startSink } from '../../tools/harness/sink';
import { makeCertificate } from '../support/certificate';
import { type Program, startProgram } from '../support/child-program';
import { eventually } from '../support/eventually';
import { aCall } from '../support/factories';
import { type Connection, openStorySystem, type StorySystem } from '../support/story-system';
import { readTopic } from '../support/topics';

/**
 * Destinations that authenticate by OAuth2, with the server of the package oidc-provider, and by
 * client certificates. Two other token endpoints hang and fail, and one destination has no
 * authentication.
 */

const SECRET = 'planted-client-secret';
const TIMEOUT_MS = 5_000;
const TOKEN_SECONDS = 4;

let stage: StorySystem;
let collector: Collector;
let oidc: Program;
let base: string;
let connection: Connection;
const ids = { oauth2: '', hanging: '', failing: '' };

beforeAll(async () => {
  collector = await startCollector();
  oidc = startProgram(process.execPath, [
    join(__dirname, '../support/oidc-server.mjs'),
    SECRET,
    `${TOKEN_SECONDS}`,
  ]);
  const [, port] = await oidc.printed(/port (\d+)/);
  base = `http://127.0.0.1:${port!}`;
  const telemetry = {
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_BSP_SCHEDULE_DELAY: '100',
    OTEL_METRIC_EXPORT_INTERVAL: '1000',
  };
  const env = {
    WAYPOST_RETRY_DELAYS: '500ms,2s',
    WAYPOST_TIMEOUT: `${TIMEOUT_MS}ms`,
    ...telemetry,
  };
  stage = await openStorySystem({ env, together: true });
  const { sink, system } = stage;
  sink.on('/hanging-token', { misbehave: 'hang' });
  sink.on('/failing-token', { status: 500, body: SECRET });
  connection = await stage.connect({ webhooks: [{ url: sink.url('/plain') }] });
  const tokenUrls = {
    oauth2: `${base}/token`,
    hanging: sink.url('/hanging-token'),
    failing: sink.url('/failing-token'),
  };
  for (const [name, tokenUrl] of Object.entries(tokenUrls) as [keyof typeof ids, string][]) {
    const auth = {
      type: 'oauth2',
      tokenUrl,
      clientId: 'shop',
      clientSecret: SECRET,
      scope: 'hooks',
    };
    const url = name === 'oauth2' ? `${base}/hook` : sink.url(`/${name}`);
    const webhooks = [Object.assign({ url }, { auth })];
    // Tracks are the load; those without a token get identifies alone.
    const types = name === 'oauth2' ? {} : { types: ['identify'] };
    ids[name] = (
      await system.createDestination({ sources: [connection.source.id], webhooks, ...types })
    ).id;
  }
  await stage.settled();
}, 240_000);

afterAll(async () => {
  await stage.close();
  await oidc.stop();
  await collector.close();
});

interface State {
  /** all that were issued */
  tokens: string[];
  200: number;
  401: number;
}
const state = async () => (await (await fetch(`${base}/state`)).json()) as State;
const deliveryOf = async (messageId: string, destination: string) => {
  const { body } = await stage.system.control(
    'GET',
    `/deliveries?message=${messageId}&destination=${destination}`,
  );
  return body.data[0];
};
const attemptsAt = (destination: string, messageId: string) =>
  stage.topics.attemptsOf(messageId).filter((attempt) => attempt.destination === destination);
const plainHas = (messageId: string) => attemptsAt(connection.destination.id, messageId);

/** Revokes a token as any client may (RFC 7009). */
async function revoke(token: string): Promise<void> {
  const authorization = `Basic ${Buffer.from(`shop:${SECRET}`).toString('base64')}`;
  const body = new URLSearchParams({ token });
  const answer = await fetch(`${base}/token/revocation`, {
    method: 'POST',
    headers: { authorization },
    body,
  });
  expect(answer.status).toBe(200);
}

test('webhooks pass first time while tokens expire, and after all were revoked', async () => {
  const sent: string[] = [];
  await eventually(
    async () => {
      sent.push((await connection.send()).messageId);
      expect((await state()).tokens.length).toBeGreaterThanOrEqual(3);
    },
    { deadlineMs: 60_000 },
  );
  const delivered = [{ n: 1, outcome: 'delivered' }];
  await eventually(() => {
    for (const messageId of sent) {
      expect(attemptsAt(ids.oauth2, messageId)).toMatchObject(delivered);
    }
    for (const messageId of sent) expect(plainHas(messageId)).toMatchObject(delivered);
  });

  const before = await state();
  for (const token of before.tokens) await revoke(token);
  const { messageId } = await connection.send();
  await eventually(() => expect(attemptsAt(ids.oauth2, messageId)).toMatchObject(delivered));
  const after = await state();
  expect(after.tokens.length).toBeGreaterThan(before.tokens.length);
  expect(after[401]).toBeGreaterThan(before[401]);
});

test.each([
  ['hangs', 'hanging' as const, `no complete answer within ${TIMEOUT_MS} ms (headers)`],
  ['answers 500', 'failing' as const, 'it answered 500'],
])(
  'a token endpoint that %s holds its own deliveries, and spends no attempt',
  async (_, name, why) => {
    const { messageId } = await connection.send(aCall('identify'));
    await eventually(async () => {
      const delivery = await deliveryOf(messageId, ids[name]);
      expect(delivery).toMatchObject({ status: 'held', reason: 'token', attemptsMade: 0 });
    });
    const error = {
      code: 'token',
      phase: 'token',
      message: `the token endpoint gave no token: ${why}`,
    };
    // Deliveries that asked for a token name the cause. Others are held without asking again.
    await eventually(async () => {
      const { body } = await stage.system.control(
        'GET',
        `/deliveries?destination=${ids[name]}&error=token`,
      );
      expect(body.data).toContainEqual(
        expect.objectContaining({ status: 'held', attemptsMade: 0, lastError: error }),
      );
    });
    const test = await stage.system.control('POST', `/destinations/${ids[name]}/test`, {});
    expect(test.body).toMatchObject({ status: 'dead', attempt: { urls: [{ error }] } });
    expect(stage.sink.received(`/${name}`)).toEqual([]);
    // The destination without authentication, and the one with a token, got the same call.
    await eventually(() => {
      for (const attempts of [attemptsAt(ids.oauth2, messageId), plainHas(messageId)]) {
        expect(attempts).toMatchObject([{ n: 1, outcome: 'delivered' }]);
      }
    });
  },
);

describe('an endpoint that demands a client certificate', () => {
  const past = { notBefore: new Date('2020-01-01'), notAfter: new Date('2020-02-01') };
  const ours = makeCertificate({ name: 'ours', authority: true });
  const another = makeCertificate({ name: 'another', authority: true });
  const signed = (name: string, options: object = {}) =>
    makeCertificate({ name, issuer: ours, ...options });
  const demands = { requestCert: true, rejectUnauthorized: true, ca: ours.cert };
  const tlsOf = ({ cert, key }: { cert: string; key: string }, ca = ours) => ({
    certificate: cert,
    key,
    ca: ca.cert,
  });

  test.each<[string, () => object, RegExp | undefined, object?]>([
    ['with its certificate, delivers', () => tlsOf(signed('the client')), undefined],
    [
      'without one, names the demand',
      () => ({ ca: ours.cert }),
      /the endpoint (demands|may demand) a client certificate/,
    ],
    [
      'with one of another authority, names the refusal',
      () => tlsOf(makeCertificate({ name: 'a stranger', issuer: another })),
      /the endpoint (does not trust the authority of|may not accept) the client certificate/,
    ],
    [
      'that has a certificate of an authority that is not trusted, is named',
      () => tlsOf(signed('the client'), another),
      /no trusted authority signed the certificate of the endpoint/,
    ],
    [
      'whose own certificate has expired, is named',
      () => tlsOf(signed('the client')),
      /the certificate of the endpoint has expired/,
      past,
    ],
  ])('a delivery to it %s', async (_, tls, cause, server = {}) => {
    const sink = await startSink({ tls: { ...signed('the endpoint', server), ...demands } });
    try {
      const { send, destination } = await stage.connect({
        webhooks: [Object.assign({ url: sink.url('/') }, { tls: tls() })],
      });
      const { messageId } = await send();
      const { urls } = await stage.topics.event(messageId, 'attempt', ({ n }) => n === 1);
      if (cause) {
        expect(urls).toMatchObject([
          { outcome: 'retry', error: { message: expect.stringMatching(cause) } },
        ]);
      } else expect(urls).toMatchObject([{ outcome: 'delivered', status: 200 }]);
      expect(sink.requests).toHaveLength(cause ? 0 : 1);
      const { body } = await stage.system.control('GET', `/destinations/${destination.id}`);
      expect(JSON.stringify(body)).not.toContain('PRIVATE KEY');
    } finally {
      await sink.close();
    }
  });

  test('a client certificate that expires is named, and an expired one is refused', async () => {
    const sink = await startSink({ tls: { ...signed('the endpoint'), ...demands } });
    try {
      const url = sink.url('/');
      const refused = await stage.system.control('PATCH', `/destinations/${ids.failing}`, {
        webhooks: [{ url, headers: {}, tls: tlsOf(signed('old', past)) }],
      });
      expect([refused.status, refused.body.errors]).toMatchObject([
        422,
        [{ pointer: '#/webhooks/0/tls/certificate' }],
      ]);
      // Long enough for the call that sets it, and for the one whose reader knows it.
      const notAfter = new Date(Date.now() + 10_000);
      const webhooks = [Object.assign({ url }, { tls: tlsOf(signed('short', { notAfter })) })];
      const { send } = await stage.connect({ webhooks });
      await eventually(() => expect(Date.now()).toBeGreaterThan(notAfter.getTime() + 1_000));
      const { messageId } = await send();
      const { urls } = await stage.topics.event(messageId, 'attempt', ({ n }) => n === 1);
      const message = expect.stringMatching(/the client certificate expired at \d{4}-/);
      expect(urls).toMatchObject([{ outcome: 'retry', error: { message } }]);
      expect(sink.requests).toEqual([]);
    } finally {
      await sink.close();
    }
  });
});

/** Returns all records of all topics as text. */
async function recordsOf({ kafka }: StorySystem['topics']): Promise<string> {
  const topics = await kafka.listTopics();
  expect(topics).toEqual(
    expect.arrayContaining(['attempts', 'config', 'messages', 'webhooks', 'webhooks.retry.500ms']),
  );
  const records = await Promise.all(topics.map((topic) => readTopic(kafka, topic)));
  return records
    .flat()
    .map(({ key, value, headers }) => `${String(key)} ${String(value)} ${JSON.stringify(headers)}`)
    .join('\n');
}

/** Returns the bytes of all files in a folder. */
function filesIn(folder: string): Buffer {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  return Buffer.concat(files.map(({ parentPath, name }) => readFileSync(join(parentPath, name))));
}

test('no token or client secret is in a log, trace, metric, API, history or Kafka', async () => {
  const { tokens } = await state();
  expect(tokens.length).toBeGreaterThanOrEqual(4);
  const views: unknown[] = [];
  for (const id of Object.values(ids)) {
    const { data } = (await stage.system.control('GET', `/deliveries?destination=${id}&limit=3`))
      .body;
    for (const delivery of data) {
      views.push((await stage.system.control('GET', `/deliveries/${delivery.id}`)).body);
    }
    views.push(data, (await stage.system.control('GET', `/destinations/${id}`)).body);
  }
  const metrics = await fetch(
    `http://127.0.0.1:${stage.system.env.WAYPOST_DELIVERY_HEALTH_PORT!}/metrics`,
  );
  const places = {
    Kafka: Buffer.from(await recordsOf(stage.topics)),
    files: filesIn(stage.system.dataDir),
    API: Buffer.from(JSON.stringify(views)),
    output: Buffer.from(stage.system.output()),
    traces: Buffer.from(collector.text()),
    metrics: Buffer.from(await metrics.text()),
  };
  // The endpoint repeats the token in its response, so that each place that stores responses has it
  // masked.
  for (const place of ['Kafka', 'files', 'API'] as const) {
    expect(places[place].includes('you sent Bearer ***')).toBe(true);
  }
  expect(collector.spans().some(({ name }) => name === 'POST')).toBe(true);
  expect(places.metrics.includes('waypost_tokens_requests_total')).toBe(true);
  for (const [place, bytes] of Object.entries(places)) {
    const found = [SECRET, ...tokens].filter((text) => bytes.includes(text));
    expect([place, found]).toEqual([place, []]);
  }
});
