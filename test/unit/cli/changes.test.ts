import { AT_CONTROL, atControl, playControl, waypost } from '../../support/cli';

/** Commands against an API that a function plays. */

const requests: { method: string; path: string; ifMatch: string | null }[] = [];
/** the version of the settings of alerts, which somebody else changes with each read */
let version = 0;
beforeEach(() => {
  requests.length = 0;
  version = 0;
  playControl(({ method, path, ifMatch }) => {
    requests.push({ method, path, ifMatch });
    if (path === '/alerts') return { version: ++version, enabled: true, webhooks: [], email: [] };
    return path.startsWith('/destinations/')
      ? { id: 'dst_1', name: 'Hook' }
      : { data: [], next: null };
  });
});
afterEach(() => jest.restoreAllMocks());

test('alerts edit changes only the version that it decided on', async () => {
  await atControl('alerts', 'edit', '--failing-for', '10m');
  expect(requests.filter(({ path }) => path === '/alerts')).toEqual([
    { method: 'GET', path: '/alerts', ifMatch: null },
    { method: 'PATCH', path: '/alerts', ifMatch: '"1"' },
  ]);
});

test('a message for a preview that is no JSON is refused in a sentence', async () => {
  const input = '{"type":';
  const argv = ['destinations', 'preview', 'Hook', '--message', '-'];
  const ran = await waypost(argv, { env: AT_CONTROL, input });
  expect([ran.code, ran.err]).toEqual([2, expect.stringContaining('--message is not JSON')]);
});

test.each([
  ['deliveries', 'list'],
  ['notices', 'list'],
])('%s %s takes the alerts as a destination', async (...command) => {
  const ran = await atControl(...command, '--destination', 'alerts');
  expect([ran.code, ran.err]).not.toContain('Unknown destination');
  expect(requests.map(({ path }) => path)).not.toContain('/destinations/alerts');
});

test('a replay of alerts is asked of control, which says why there is none', async () => {
  await atControl('replay', 'all', '--destination', 'alerts');
  expect(requests.map(({ method, path }) => `${method} ${path}`)).toEqual(['POST /replays']);
});
