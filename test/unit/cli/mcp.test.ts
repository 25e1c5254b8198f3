import { explain } from '../../../cli/mcp/explain';
import { type Delivery } from '../../../shared/api/operations';
import { waypost } from '../../support/cli';

/** `waypost mcp` over its standard input and output, against a control API in this process. */

const NOW = Date.parse('2026-01-01T12:00:00.000Z');
const url = { url: 'whk_1', origin: 'https://a.example', outcome: 'retry', status: 503, durationMs: 5 };
const attempt = { n: 2, replay: 0, at: '2026-01-01T11:59:00.000Z', durationMs: 5, outcome: 'retry', urls: [url] };
const delivery = {
  ...{ id: 'dlv_1', messageId: 'm1', source: 'src_1', destination: 'dst_1', type: 'track', userId: 'u-17' },
  ...{ status: 'retrying', reason: 'backoff', acceptedAt: '2026-01-01T11:50:00.000Z', settledAt: null, replay: 0 },
  ...{ attemptsMade: 2, attempts: [attempt], test: false, body: { event: 'Order Completed' } },
  budget: {
    ...{ attemptsMade: 2, nextAttemptAt: '2026-01-01T12:04:00.000Z', expiresAt: '2026-01-01T15:50:00.000Z' },
    waitsFor: 'backoff',
  },
} as unknown as Delivery;

const requests: string[] = [];
beforeEach(() => {
  requests.length = 0;
  jest.spyOn(globalThis, 'fetch').mockImplementation((input, init) => {
    const { pathname, search } = new URL(input);
    const path = pathname.replace('/api/v1', '');
    requests.push(`${init?.method ?? 'GET'} ${path}${search}`);
    if (path === '/deliveries') return Promise.resolve(Response.json({ data: [delivery], next: null }));
    if (path === '/deliveries/dlv_1') return Promise.resolve(Response.json(delivery));
    if (path === '/destinations/dst_1') return Promise.resolve(Response.json({ id: 'dst_1', name: 'Hook' }));
    if (path === '/deliveries/dlv_1/replay')
      return Promise.resolve(Response.json({ id: 'dlv_1', replay: 1, status: 'waiting' }, { status: 202 }));
    return Promise.resolve(
      Response.json({ type: 'urn:waypost:problem:not_found', detail: 'Unknown' }, { status: 404 }),
    );
  });
});
afterEach(() => jest.restoreAllMocks());

const HELLO = {
  ...{ jsonrpc: '2.0', id: 0, method: 'initialize' },
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
};

interface Answer {
  id: number;
  result: { tools?: { name: string; annotations: object }[]; content?: { text: string }[]; isError?: boolean };
}

/** Sends requests and returns their answers in order. */
async function ask(argv: string[], ...methods: [method: string, params: object][]): Promise<Answer[]> {
  const lines = [
    HELLO,
    { jsonrpc: '2.0', method: 'notifications/initialized' },
    ...methods.map(([method, params], i) => ({ jsonrpc: '2.0', id: i + 1, method, params })),
  ];
  const { code, out } = await waypost(['mcp', ...argv], {
    env: { WAYPOST_URL: 'http://control.test', WAYPOST_TOKEN: 'token' },
    input: lines.map((line) => `${JSON.stringify(line)}\n`).join(''),
  });
  expect(code).toBe(0);
  const answers = out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Answer);
  return answers.filter(({ id }) => id > 0).sort((a, b) => a.id - b.id);
}

const tool = (name: string, input: object = {}): [string, object] => ['tools/call', { name, arguments: input }];

test('mcp offers only tools that change nothing, unless the command allows writes', async () => {
  const names = (answer: Answer | undefined) => answer?.result.tools?.map(({ name }) => name);
  const [reads] = await ask([], ['tools/list', {}]);
  expect(names(reads)).toEqual(['find_deliveries', 'show_delivery', 'explain_delivery', 'list_destinations']);
  for (const { annotations } of reads!.result.tools!) expect(annotations).toMatchObject({ readOnlyHint: true });
  expect(names((await ask(['--allow-writes'], ['tools/list', {}]))[0])).toContain('replay_delivery');

  const [refused] = await ask([], tool('replay_delivery', { id: 'dlv_1' }));
  expect(JSON.stringify(refused)).toMatch(/replay_delivery/);
  expect(requests).toEqual([]);
});

test('mcp finds deliveries by user and destination, shows one, and explains why it waits', async () => {
  const [found, shown, explained] = await ask(
    [],
    tool('find_deliveries', { user: 'u-17', destination: 'dst_1', status: 'retrying' }),
    tool('show_delivery', { id: 'dlv_1' }),
    tool('explain_delivery', { id: 'dlv_1' }),
  );
  expect(requests).toContain('GET /deliveries?user=u-17&status=retrying&destination=dst_1&limit=20');
  expect(found?.result.content?.[0]?.text).toContain('"id": "dlv_1"');
  expect(found?.result.content?.[0]?.text).not.toContain('"attempts"');
  expect(shown?.result.content?.[0]?.text).toContain('Order Completed');
  expect(explained?.result.content?.[0]?.text).toMatch(/^Delivery dlv_1 is retrying, because of backoff\. /);
});

test('mcp answers a tool that fails with the sentence of the API, and goes on', async () => {
  const [failed, next] = await ask(
    ['--allow-writes'],
    tool('show_delivery', { id: 'dlv_9' }),
    tool('replay_delivery', { id: 'dlv_1' }),
  );
  expect(failed?.result).toMatchObject({ isError: true, content: [{ text: expect.stringContaining('Unknown') }] });
  expect(next?.result.content?.[0]?.text).toContain('"replay": 1');
});

test('the explanation of a waiting delivery names the last response, the next attempt and the end', () => {
  expect(explain(delivery, NOW)).toBe(
    'Delivery dlv_1 is retrying, because of backoff. It was accepted at 2026-01-01T11:50:00.000Z; 2 attempts so far. ' +
      'At the last attempt (2026-01-01T11:59:00.000Z) https://a.example answered 503. ' +
      'The next attempt is at 2026-01-01T12:04:00.000Z. Waypost gives up at 2026-01-01T15:50:00.000Z.',
  );
});

test('the explanation announces no attempt at a time that has passed', () => {
  expect(explain(delivery, Date.parse('2026-01-01T12:05:00.000Z'))).toContain('follows as soon as possible');
});

test('the explanation of an ended delivery says when it ended', () => {
  const dead = { ...delivery, status: 'dead', reason: 'rejected', settledAt: '2026-01-01T11:59:01.000Z' } as Delivery;
  expect(explain(dead, NOW)).toMatch(/is dead, because of rejected\. .* It ended at 2026-01-01T11:59:01\.000Z\.$/);
});
