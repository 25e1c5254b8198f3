import pino from 'pino';
import {
  type Excuse,
  type SendRequest,
  type SendResult,
} from '../../../../services/delivery/http/exchange';
import { judgeResponse } from '../../../../services/delivery/http/judge-response';
import { AuthorizingSender } from '../../../../services/delivery/tokens/authorizing-sender';
import { clientCredentials } from '../../../../services/delivery/http/client-credentials';
import { type OAuth2 } from '../../../../shared/model/endpoint-auth';

/** OAuth2 at delivery, with a scripted network and a clock that the test moves. */

const OAUTH2: OAuth2<string> = {
  type: 'oauth2',
  tokenUrl: 'https://login.example/token',
  tokenOrigin: 'https://login.example',
  clientId: 'a:b',
  clientSecret: 'planted secret',
};
const PLANTED = /planted/;

let now: number;
let logged: string[];
/** requests that wait for their response */
let open: { request: SendRequest; answer: (result: SendResult) => void }[];
let sender: AuthorizingSender;
let recovered: string[];
/** destinations that have other credentials now */
let changed: string[];
beforeEach(() => {
  now = 0;
  logged = [];
  open = [];
  const inner = {
    send: (request: SendRequest, answer: (result: SendResult) => void) =>
      void open.push({ request, answer }),
  };
  recovered = [];
  changed = [];
  sender = new AuthorizingSender(inner, pino({}, { write: (line) => logged.push(line) }), {
    now: () => now,
    onRecovered: (destination) => recovered.push(destination),
    usesCredential: (destination) => !changed.includes(destination),
  });
});
afterEach(() => {
  sender.stop();
  expect(logged.join('')).not.toMatch(PLANTED);
});

const credentials = (change: Partial<OAuth2<string>> = {}, destination = 'dst') =>
  clientCredentials({ ...OAUTH2, ...change }, { destination, tlsId: undefined });
const answered = (status: number, body: unknown): SendResult => ({
  ok: true,
  durationMs: 1,
  response: {
    status,
    headers: {},
    body: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
    truncated: false,
  },
});
const tokenOf = (value: string, more: object = {}) =>
  answered(200, { access_token: value, token_type: 'Bearer', expires_in: 100, ...more });

function post(by = credentials(), own: Partial<SendRequest> = {}) {
  const results: SendResult[] = [];
  const request = {
    origin: 'https://shop.example',
    path: '/in',
    headers: ['x-a', '1'],
    body: Buffer.from('{}'),
    credentials: by,
    ...own,
  };
  sender.send(request, (result) => results.push(result));
  return results;
}

/** Answers the oldest open request to this origin. */
function answer(origin: 'login' | 'shop', result: SendResult): SendRequest {
  const at = open.findIndex(({ request }) => request.origin === `https://${origin}.example`);
  const [found] = open.splice(at, 1);
  found!.answer(result);
  return found!.request;
}
const waiting = () =>
  open.map(({ request }) => request.origin.replace(/https:\/\/|\.example/g, ''));
const turn = () => new Promise((resolve) => setImmediate(resolve));

test('webhooks share one token request, and carry its token', () => {
  const [first, second] = [post(), post()];
  expect(waiting()).toEqual(['login']);
  const asked = answer('login', tokenOf('planted-a'));
  expect(asked).toMatchObject({
    path: '/token',
    body: Buffer.from('grant_type=client_credentials'),
  });
  expect(asked.headers).toContain(
    `Basic ${Buffer.from('a%3Ab:planted+secret').toString('base64')}`,
  );
  expect(waiting()).toEqual(['shop', 'shop']);
  expect(answer('shop', answered(200, 'ok')).headers).toEqual([
    'x-a',
    '1',
    'authorization',
    'Bearer planted-a',
  ]);
  answer('shop', answered(200, 'ok'));
  expect([first, second]).toMatchObject([[{ ok: true }], [{ ok: true }]]);
  post();
  expect(waiting()).toEqual(['shop']);
});

test('the client secret is in the form if set so, with scope, audience and parameters', () => {
  post(
    credentials({
      clientAuth: 'body',
      scope: 'a b',
      audience: 'shop',
      params: { resource: 'r&d' },
    }),
  );
  const { request } = open[0]!;
  expect(request.headers).not.toContain('authorization');
  expect(Object.fromEntries(new URLSearchParams(request.body.toString()))).toEqual({
    grant_type: 'client_credentials',
    client_id: 'a:b',
    client_secret: 'planted secret',
    scope: 'a b',
    audience: 'shop',
    resource: 'r&d',
  });
});

test('the token of a webhook with another method is requested by POST, as RFC 6749 demands', () => {
  const way = { timeoutMs: 3_000 };
  post(credentials(), { ...way, method: 'PUT', signatureEntries: 2 });
  const asked = answer('login', tokenOf('planted-a'));
  expect(asked).toMatchObject(way);
  expect(asked).not.toHaveProperty('method');
  expect(asked).not.toHaveProperty('signatureEntries');
  expect(answer('shop', answered(200, ''))).toMatchObject({ method: 'PUT' });
});

test('a token is refreshed while webhooks still use it', () => {
  post();
  answer('login', tokenOf('planted-a'));
  answer('shop', answered(200, ''));
  now = 85_000;
  post();
  expect(waiting()).toEqual(['shop', 'login']);
  answer('login', tokenOf('planted-b'));
  answer('shop', answered(200, ''));
  post();
  expect(answer('shop', answered(200, '')).headers).toContain('Bearer planted-b');
});

test.each<[string, SendResult, string]>([
  ['a 500', answered(500, 'planted'), 'it answered 500'],
  [
    'an OAuth2 error',
    answered(400, { error: 'invalid_client', error_description: 'planted secret' }),
    'it answered 400 invalid_client',
  ],
  ['an error code of its own', answered(401, { error: 'planted secret' }), 'it answered 401'],
  ['a redirect', answered(302, ''), 'it answered 302'],
  ['a page', answered(200, '<html>planted'), 'its answer is not a JSON object'],
  ['no token', answered(200, { token_type: 'Bearer' }), 'its answer has no valid access_token'],
  [
    'a token that splits headers',
    tokenOf('a\r\nX-Evil: 1'),
    'its answer has no valid access_token',
  ],
  [
    'a token of another type',
    tokenOf('planted', { token_type: 'mac' }),
    'its tokens are not bearer tokens',
  ],
  [
    'a timeout',
    {
      ok: false,
      durationMs: 5_000,
      error: { code: 'timeout', phase: 'headers', message: 'no complete answer within 5000 ms' },
    },
    'no complete answer within 5000 ms (headers)',
  ],
])(
  '%s of the token endpoint withholds the webhooks that wait, with the reason',
  async (_, result, why) => {
    const results = post();
    now = 10;
    answer('login', result);
    expect(results).toEqual([
      {
        ok: false,
        durationMs: 10,
        phases: { token: 10 },
        error: {
          code: 'token',
          phase: 'token',
          message: `the token endpoint gave no token: ${why}`,
        },
        excuse: { reason: 'token', waitMs: 0 },
      },
    ]);
    expect(JSON.parse(logged[0]!)).toMatchObject({
      msg: 'token.failed',
      destination: 'dst',
      origin: 'https://login.example',
      reason: why,
    });
    // The next ones are withheld at once, until the pause is over.
    now = 500;
    expect(sender.held(credentials())).toEqual({ reason: 'token', waitMs: 490 });
    const next = post();
    await turn();
    expect([next, waiting()]).toMatchObject([[{ excuse: { waitMs: 490 } }], []]);
    now = 1_500;
    expect(sender.held(credentials())).toBeUndefined();
    const probe = post();
    expect([waiting(), sender.held(credentials())]).toEqual([
      ['login'],
      { reason: 'token', waitMs: 1_490 },
    ]);
    answer('login', tokenOf('planted-a'));
    answer('shop', answered(200, ''));
    expect(probe).toMatchObject([{ ok: true }]);
  },
);

describe('while the token endpoint fails', () => {
  beforeEach(() => jest.useFakeTimers({ doNotFake: ['setImmediate', 'performance'] }));
  afterEach(() => jest.useRealTimers());
  const later = (ms: number) => {
    now += ms;
    jest.advanceTimersByTime(ms);
  };

  test('tokens are requested while webhooks wait, and destinations learn of the first', () => {
    post();
    answer('login', answered(500, ''));
    expect(sender.held(credentials({}, 'other'))).toMatchObject({ reason: 'token' });
    for (const pause of [1_000, 2_000, 4_000, 8_000, 8_000]) {
      later(pause - 1);
      expect(waiting()).toEqual([]);
      later(1);
      expect(waiting()).toEqual(['login']);
      answer('login', answered(500, ''));
    }
    expect(recovered).toEqual([]);
    later(8_000);
    answer('login', tokenOf('planted-a'));
    expect(recovered.sort()).toEqual(['dst', 'other']);
    later(60_000);
    expect(waiting()).toEqual([]);
  });

  test('no token is requested any more for credentials that were replaced', () => {
    post();
    answer('login', answered(500, ''));
    sender.held(credentials({}, 'other'));
    changed = ['other'];
    later(1_000);
    expect(waiting()).toEqual(['login']);
    answer('login', answered(500, ''));
    changed = ['dst', 'other'];
    for (const pause of [2_000, 4_000, 8_000]) later(pause);
    expect(waiting()).toEqual([]);
  });

  test('no token is requested for webhooks not held for an hour, and none after a stop', () => {
    post();
    answer('login', answered(500, ''));
    now += 3_600_001;
    jest.advanceTimersByTime(8_000);
    expect(waiting()).toEqual([]);
    post();
    answer('login', answered(500, ''));
    sender.stop();
    later(8_000);
    expect(waiting()).toEqual([]);
  });
});

test('credentials without any common token do not wait for each other', () => {
  post();
  post(credentials({ clientId: 'other' }));
  expect(waiting()).toEqual(['login', 'login']);
  open.pop()!.answer(tokenOf('planted-b'));
  expect(waiting()).toEqual(['login', 'shop']);
});

test('a 401 is followed by one request with a new token, and a second 401 is the result', () => {
  const results = post();
  answer('login', tokenOf('planted-a'));
  answer('shop', answered(401, ''));
  expect(waiting()).toEqual(['login']);
  answer('login', tokenOf('planted-b'));
  expect(answer('shop', answered(401, 'planted-a planted-b')).headers).toEqual([
    'x-a',
    '1',
    'authorization',
    'Bearer planted-b',
  ]);
  expect([results, waiting()]).toMatchObject([[{ response: { status: 401 } }], []]);
  // The endpoint refuses the client: the next webhook asks for no further token.
  const next = post();
  answer('shop', answered(401, ''));
  expect([next, waiting()]).toMatchObject([[{ response: { status: 401 } }], []]);
});

const ASKED = {
  id: 'whk',
  origin: 'https://shop.example',
  destinationId: 'dst',
  destinationVersion: 1,
  secrets: [],
};
const CONTEXT = {
  nowMs: 0,
  budget: { takes: () => true },
  isTest: false,
};

test('a 401 without a new token spends the attempt and is retried', () => {
  const results = post();
  answer('login', tokenOf('planted-a'));
  answer('shop', answered(401, ''));
  answer('login', answered(500, ''));
  expect(results).toMatchObject([{ ok: false, error: { code: 'token' }, excuse: 'own_fault' }]);
  const judged = judgeResponse(ASKED, results[0]!, CONTEXT);
  expect(judged).toMatchObject({ classification: 'retry', signal: { kind: 'withdrawn' } });
});

test.each<Excuse>(['unpermitted', { reason: 'proxy', waitMs: 1_000 }])(
  'a webhook that is not sent a second time after a 401 spends the attempt (%j)',
  (excuse) => {
    const unsent: SendResult = {
      ok: false,
      durationMs: 1,
      error: { code: 'proxy', message: 'it was not sent' },
      excuse,
    };
    const isPermitted = () => false;
    const results = post(credentials(), { isPermitted });
    const asked = answer('login', tokenOf('planted-a'));
    // A token may be requested however late.
    expect(asked).not.toHaveProperty('isPermitted');
    expect(answer('shop', { ...unsent })).toMatchObject({ isPermitted });
    expect(results).toMatchObject([{ excuse }]);
    const again = post();
    answer('shop', answered(401, ''));
    answer('login', tokenOf('planted-b'));
    answer('shop', { ...unsent });
    expect(again).toMatchObject([{ ok: false, excuse: 'own_fault' }]);
  },
);

test('a response that repeats the token is stored without it', () => {
  const results = post();
  answer('login', tokenOf('planted/a+b=='));
  const echo = { ...answered(200, { got: 'Bearer planted/a+b==' }) } as Extract<
    SendResult,
    { ok: true }
  >;
  echo.response.headers = {
    'x-echo': 'planted/a+b==',
    'x-form': encodeURIComponent('planted/a+b=='),
  };
  answer('shop', echo);
  const { attempt } = judgeResponse(ASKED, results[0]!, CONTEXT);
  expect(attempt.response).toEqual({
    body: '{"got":"Bearer ***"}',
    truncated: false,
    headers: { 'x-echo': '***', 'x-form': '***' },
  });
});

test('a request without credentials passes unchanged', () => {
  const request = { origin: 'https://shop.example', path: '/', headers: [], body: Buffer.from('') };
  sender.send(request, () => undefined);
  expect(open[0]!.request).toBe(request);
});
