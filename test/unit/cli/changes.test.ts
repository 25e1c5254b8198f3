import { waypost } from '../../support/cli';

/** Commands against an API that a function plays. */

const requests: { method: string; path: string; ifMatch: string | null }[] = [];
/** the version of the settings of alerts, which somebody else changes with each read */
let version = 0;
beforeEach(() => {
  requests.length = 0;
  version = 0;
  jest.spyOn(globalThis, 'fetch').mockImplementation((input, init) => {
    const { pathname } = new URL(input);
    const path = pathname.replace('/api/v1', '');
    const method = init?.method ?? 'GET';
    const headers = new Headers(init?.headers);
    requests.push({ method, path, ifMatch: headers.get('if-match') });
    if (path === '/alerts') {
      const alerts = { version: ++version, enabled: true, webhooks: [], email: [] };
      return Promise.resolve(Response.json(alerts));
    }
    if (path.startsWith('/destinations/')) {
      return Promise.resolve(Response.json({ id: 'dst_1', name: 'Hook' }));
    }
    return Promise.resolve(Response.json({ data: [], next: null }));
  });
});
afterEach(() => jest.restoreAllMocks());

const env = { WAYPOST_URL: 'http://control.test', WAYPOST_TOKEN: 'token' };

test('alerts edit changes only the version that it decided on', async () => {
  await waypost(['alerts', 'edit', '--failing-for', '10m'], { env });
  expect(requests.filter(({ path }) => path === '/alerts')).toEqual([
    { method: 'GET', path: '/alerts', ifMatch: null },
    { method: 'PATCH', path: '/alerts', ifMatch: '"1"' },
  ]);
});

test('a message for a preview that is no JSON is refused in a sentence', async () => {
  const input = '{"type":';
  const ran = await waypost(['destinations', 'preview', 'Hook', '--message', '-'], { env, input });
  expect([ran.code, ran.err]).toEqual([2, expect.stringContaining('--message is not JSON')]);
});

test.each([
  ['deliveries', 'list'],
  ['notices', 'list'],
])('%s %s takes the alerts as a destination', async (...command) => {
  const ran = await waypost([...command, '--destination', 'alerts'], { env });
  expect([ran.code, ran.err]).not.toContain('Unknown destination');
  expect(requests.map(({ path }) => path)).not.toContain('/destinations/alerts');
});
