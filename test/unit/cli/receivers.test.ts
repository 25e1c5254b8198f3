import { type UrlAttempt } from '../../../shared/model/attempt-events';
import { atControl, playControl } from '../../support/cli';

/** What the command line says of receivers, against a control API in this process. */

const AT = '2026-01-01T10:00:00.000Z';
const URL_OF_HOOK = 'https://example.com/hook';
const hook = {
  id: 'dst_1',
  name: 'My hook',
  enabled: true,
  paused: false,
  sources: [],
  webhooks: [
    { id: 'whk_1', url: 'https://example.com/other', disabled: null },
    { id: 'whk_2', url: URL_OF_HOOK, disabled: { at: AT, reason: 'gone' } },
  ],
};

let answers: Record<string, object>;
let requests: [string, unknown][];
beforeEach(() => {
  requests = [];
  answers = { 'GET /destinations/dst_1': hook, 'GET /destinations': { data: [hook], next: null } };
  playControl(({ method, path, body }) => {
    const request = `${method} ${path}`;
    requests.push([request, body === null ? undefined : JSON.parse(body)]);
    return answers[request];
  });
});
afterEach(() => jest.restoreAllMocks());

describe('destinations enable-webhook', () => {
  const ENABLE = 'POST /destinations/dst_1/enable-webhook';

  test('switches the URL on by its id, and says how to send again what died', async () => {
    answers[ENABLE] = { lostSince: AT, count: 3 };
    const { code, out, err } = await atControl(
      'destinations',
      'enable-webhook',
      'dst_1',
      URL_OF_HOOK,
    );
    expect(code).toBe(0);
    expect(requests).toContainEqual([ENABLE, { webhook: 'whk_2' }]);
    expect(out).toMatch(/webhook +whk_2\ndead +3\ndead since +2026-01-01T10:00:00.000Z/);
    expect(out + err).toContain(
      `waypost replay all --destination dst_1 --status dead --since ${AT}`,
    );
  });

  test.each([
    ['nothing died', { lostSince: AT, count: 0 }, /dead +0\n/],
    ['it was on', { lostSince: null, count: 0 }, /dead +0\n/],
  ])('offers no replay if %s', async (_, answer, said) => {
    answers[ENABLE] = answer;
    const { code, out, err } = await atControl('destinations', 'enable-webhook', 'dst_1', 'whk_2');
    expect([code, requests.at(-1)]).toEqual([0, [ENABLE, { webhook: 'whk_2' }]]);
    expect(out).toMatch(said);
    expect(out + err).not.toContain('replay');
  });

  test('says so if the history is away', async () => {
    answers[ENABLE] = { lostSince: AT, count: null };
    const { out, err } = await atControl('destinations', 'enable-webhook', 'dst_1', 'whk_2');
    expect(out).toMatch(/dead +unknown: the history is away\n/);
    expect(out + err).toContain('waypost replay all');
  });
});

test('deliveries show says what was odd in a response, and that its status counts', async () => {
  const of: UrlAttempt & { request: null } = {
    url: 'whk_2',
    origin: 'https://example.com',
    destinationVersion: 1,
    outcome: 'delivered',
    durationMs: 3,
    status: 200,
    response: { headers: {}, body: '', truncated: true },
    oddities: ['interim', 'body_cut'],
    request: null,
  };
  answers['GET /deliveries/dlv_1'] = {
    id: 'dlv_1',
    status: 'delivered',
    reason: null,
    type: 'track',
    event: 'Paid',
    userId: 'u',
    messageId: 'm',
    source: 'src_1',
    destination: 'dst_1',
    acceptedAt: AT,
    settledAt: AT,
    goesOn: null,
    replay: 0,
    body: { a: 1 },
    attempts: [{ n: 1, replay: 0, at: AT, outcome: 'delivered', urls: [of] }],
  };
  const { code, out } = await atControl('deliveries', 'show', 'dlv_1');
  expect(code).toBe(0);
  expect(out).toMatch(
    /\nodd in the response to try 1 at \S+: interim, body_cut; its status counts\n/,
  );
  expect(out).toMatch(/\nresponse to try 1 at \S+: its body is not kept\n/);
  expect(out).toMatch(/\nbody of the requests:\n\{\n {2}"a": 1\n\}\n$/);
});

test('deliveries show has the request and the response of a success too', async () => {
  const url = (outcome: string, response: object) => ({
    url: 'whk_2',
    origin: 'https://example.com',
    destinationVersion: 1,
    outcome,
    durationMs: 3,
    request: { url: URL_OF_HOOK, method: 'POST', headers: { 'webhook-signature': '***' } },
    response: { headers: {}, truncated: false, ...response },
  });
  const first = { body: 'busy', signature: { 'webhook-signature': 'v1,a' } };
  answers['GET /deliveries/dlv_1'] = {
    id: 'dlv_1',
    destination: 'dst_1',
    status: 'held',
    reason: 'retry_after',
    goesOn: { when: 'at', at: AT, givenUpAt: AT },
    attempts: [
      { n: 1, replay: 0, at: AT, outcome: 'retry', urls: [url('retry', first)] },
      { n: 2, replay: 0, at: AT, outcome: 'delivered', urls: [url('delivered', { body: '' })] },
    ],
    body: null,
  };
  const { out } = await atControl('deliveries', 'show', 'dlv_1');
  expect(out).toMatch(/^gives up at +2026-01-01T10:00:00.000Z$/m);
  expect(out).toMatch(
    /\nrequest of try 2: POST https:\/\/example.com\/hook\n {2}as before; its signature is not kept\n/,
  );
  expect(out).toMatch(/\nresponse to try 1 at \S+: busy\n/);
  expect(out).toMatch(/\nresponse to try 2 at \S+: no body\n/);
});
