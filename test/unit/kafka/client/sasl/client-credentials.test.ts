import { createServer, type IncomingMessage, type Server } from 'node:http';
import { type AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import {
  requestToken,
  tokenFromFile,
} from '../../../../../shared/kafka/client/sasl/client-credentials';

/** Requests to a token endpoint, and the errors that name it. */

let answer: { status: number; body: string };
let asked: { headers: IncomingMessage['headers']; body: string };
let server: Server;
let url: URL;
const secret = 'planted: secret +/';

beforeAll(async () => {
  server = createServer((request, response) => {
    void text(request).then((body) => {
      asked = { headers: request.headers, body };
      response.writeHead(answer.status, { location: '/elsewhere' }).end(answer.body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = new URL(`http://user:planted@127.0.0.1:${(server.address() as AddressInfo).port}/token`);
});
afterAll(() => new Promise((resolve) => server.close(resolve)));

const request = () =>
  requestToken({ url, clientId: 'wp:ingest', secret, scope: 'kafka', audience: 'my kafka' });

test('a token request has id and secret in a header, scope and audience in a form', async () => {
  answer = { status: 200, body: JSON.stringify({ access_token: 'abc', expires_in: 60 }) };
  const before = Date.now();
  const token = await request();
  expect(token).toEqual({ value: 'abc', expiresAt: expect.any(Number) });
  expect(token.expiresAt - before).toBeGreaterThanOrEqual(60_000);
  expect(asked.body).toBe('grant_type=client_credentials&scope=kafka&audience=my+kafka');
  expect(asked.headers['content-type']).toMatch('application/x-www-form-urlencoded');
  const basic = String(asked.headers.authorization).replace('Basic ', '');
  expect(Buffer.from(basic, 'base64').toString()).toBe('wp%3Aingest:planted%3A+secret+%2B%2F');
});

test.each([
  [
    401,
    '{"error":"invalid_client","error_description":"unknown client"}',
    /: it answered 401 invalid_client: unknown client$/,
  ],
  [503, '<html>', /: it answered 503$/],
  [200, '{"token":"x"}', /: its answer holds no access_token$/],
  [302, '', /: .*redirect/],
])(
  'the answer %d %s becomes an error that names the endpoint and shows no secret',
  async (status, body, reason) => {
    answer = { status, body };
    const error = await request().catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'kafka_unavailable', retriable: true });
    expect(String(error)).toMatch(reason);
    expect(String(error)).toContain(`no token for Kafka from ${url.origin}/token`);
    expect(String(error)).not.toContain('planted');
  },
);

test('an endpoint that cannot be reached is named with the reason', async () => {
  const nowhere = requestToken({ url: new URL('http://127.0.0.1:1/token'), clientId: 'a', secret });
  await expect(nowhere).rejects.toThrow(
    /^no token for Kafka from http:\/\/127\.0\.0\.1:1\/token: .+/,
  );
});

test('a missing token file is named', async () => {
  await expect(tokenFromFile(new URL('file:///no/such/token'))).rejects.toThrow(
    /^no token for Kafka from \/no\/such\/token: ENOENT/,
  );
});
