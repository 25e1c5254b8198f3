import { AUDIT_KINDS } from '../../../shared/api/operation';
import { PLAIN_OPTIONS } from '../../../cli/commands/plain-fields';
import { atControl, playControl } from '../../support/cli';

/** The commands that tables describe, against a control API in this process. */

const at = '2026-01-01T00:00:00.000Z';
const site = {
  id: 'src_1',
  name: 'Site',
  enabled: true,
  trust: 'server',
  writeKey: 'k',
  oldWriteKeys: [],
  version: 7,
};
const twin = { ...site, name: 'Twin' };
const sources = [site, { ...twin, id: 'src_2' }, { ...twin, id: 'src_3' }];
const hook = {
  id: 'dst_1',
  name: 'Hook',
  enabled: true,
  paused: false,
  sources: [],
  webhooks: [],
  types: null,
};
const change = {
  at,
  by: { name: 'Me', role: 'admin' },
  action: 'changed',
  kind: 'source',
  entry: 'src_1',
  name: 'Site',
};

/** Pages by the list and the page's `after`; a list without pages is empty. */
const PAGES: Record<string, { data: object[]; next: string | null }> = {
  '/sources': { data: sources.slice(0, 2), next: 'second' },
  '/sources second': { data: sources.slice(2), next: null },
  '/audit': {
    data: [{ ...change, changes: [{ field: 'enabled', from: null, to: true }] }],
    next: 'second',
  },
};

let requests: string[];
beforeEach(() => {
  requests = [];
  playControl(({ method, path, query, ifMatch }) => {
    requests.push([method, path, query.toString(), ifMatch].filter(Boolean).join(' '));
    const [, , id] = path.split('/');
    if (id === undefined) {
      return (
        PAGES[[path, query.get('after')].filter(Boolean).join(' ')] ?? { data: [], next: null }
      );
    }
    const entry = sources.find((each) => each.id === id);
    return entry && method === 'DELETE' ? new Response(null, { status: 204 }) : entry;
  });
});
afterEach(() => jest.restoreAllMocks());

test('a list command without --limit reads every page and prints every row', async () => {
  const { code, out } = await atControl('sources', 'list');
  expect([code, out]).toEqual([
    0,
    'ID     NAME  ON   WRITE KEY\nsrc_1  Site  yes  k\nsrc_2  Twin  yes  k\nsrc_3  Twin  yes  k\n',
  ]);
  expect(requests).toEqual(['GET /sources limit=200', 'GET /sources limit=200&after=second']);
});

test('a list with --json does not ask for what only the table shows', async () => {
  PAGES['/destinations'] = { data: [hook], next: null };
  await atControl('destinations', 'list', '--json');
  expect(requests).toEqual(['GET /destinations limit=200']);
});

test('a list of sources shows a dash as the write key of an audience, which has none', async () => {
  PAGES['/sources second'] = {
    data: [{ id: 'src_3', name: 'Members', enabled: true, oldWriteKeys: [] }],
    next: null,
  };
  const { out } = await atControl('sources', 'list');
  PAGES['/sources second'] = { data: sources.slice(2), next: null };
  expect(out).toMatch(/src_3 +Members +yes +-\n$/);
});

test('a source for a page is created with a public write key, by --trust browser', async () => {
  const sent: unknown[] = [];
  playControl(({ body }) => {
    sent.push(JSON.parse(body ?? ''));
    return { ...site, trust: 'browser' };
  });
  const { code, out } = await atControl('sources', 'create', 'Site', '--trust', 'browser');
  await atControl('sources', 'create', 'Server');
  expect(sent).toEqual([{ name: 'Site', trust: 'browser' }, { name: 'Server' }]);
  expect([code, out]).toEqual([0, expect.stringMatching(/^trust +browser$/m)]);
  const wrong = await atControl('sources', 'create', 'Site', '--trust', 'everybody');
  expect([wrong.code, wrong.err]).toEqual([2, expect.stringContaining('server, browser')]);
});

test('a destination is created and edited with a filter and a time to switch off', async () => {
  const sent: unknown[] = [];
  playControl(({ body }) => {
    if (body !== null) sent.push(JSON.parse(body));
    return { ...hook, version: 1 };
  });
  const filter = 'event == "Order Completed"';
  const options = ['--filter', filter, '--switch-off-after', '5d'];
  await atControl('destinations', 'create', 'Hook', '--webhook', 'https://a.example/', ...options);
  await atControl(
    'destinations',
    'edit',
    'dst_1',
    '--filter',
    'none',
    '--switch-off-after',
    'default',
  );
  expect(sent).toMatchObject([
    { filter, switchOffAfter: '5d' },
    { filter: null, switchOffAfter: null },
  ]);
});

test('a list command sends its filters as parameters and reads no more than --limit', async () => {
  const { code, out, err } = await atControl(
    'audit',
    '--kind',
    'source',
    '--entry',
    'src_1',
    '--by',
    'admin',
    '--limit',
    '1',
  );
  expect([code, out]).toEqual([
    0,
    expect.stringMatching(/changed source +Site +src_1 +enabled: - → true\n$/),
  ]);
  expect(err).toBe('1 entry, and there may be more: --limit shows them.\n');
  expect(requests).toEqual(['GET /audit kind=source&entry=src_1&by=admin&sessions=false&limit=1']);
});

test('a filter that names an entry sends its id', async () => {
  expect((await atControl('events', '--source', 'Site', '--rejected')).err).toBe(
    'No recent events.\n',
  );
  expect(requests.at(-1)).toBe('GET /events source=src_1&accepted=false&limit=50');
});

test.each(['0.5', '10', '10000'])('the rate --max-per-second %s is a number', (given) => {
  expect(PLAIN_OPTIONS.maxPerSecond?.read(given as never, '--max-per-second', {} as never)).toBe(
    Number(given),
  );
});

test.each([
  [['deliveries', 'list', '--status', 'gone'], /^--status must be one of waiting, /],
  [['deliveries', 'list', '--since', 'soon'], /^--since must be /],
  [['notices', 'list', '--limit', '0'], /^--limit must be a whole number from 1 to 100000/],
  [
    ['destinations', 'create', 'A', '--webhook', 'https://a.example/', '--max-per-second', '0.01'],
    /^--max-per-second must be a number from 0.1 to 100000, not "0.01"/,
  ],
  [['tokens', 'edit', 'A'], /^Nothing to change/],
  [
    [
      'destinations',
      'create',
      'A',
      '--webhook',
      'https://a.example/',
      '--proxy',
      'http://me:secret@b.example',
    ],
    /-file\.\n$/,
  ],
])('the wrong usage %j sends no request and exits with 2', async (argv, why) => {
  expect(await atControl(...argv)).toMatchObject({
    code: 2,
    out: '',
    err: expect.stringMatching(why),
  });
  expect(requests).toEqual([]);
});

test.each(AUDIT_KINDS)('the audit command accepts the kind %s', async (kind) => {
  expect((await atControl('audit', '--kind', kind)).code).toBe(0);
  expect(requests[0]).toBe(`GET /audit kind=${kind}&sessions=false&limit=50`);
});

test('the audit command leaves out sessions unless they are asked for', async () => {
  await atControl('audit');
  expect(requests[0]).toBe('GET /audit sessions=false&limit=50');
});

test.each([
  [
    'its URL',
    { ...hook, webhooks: [{ id: 'whk_2', url: 'https://b.example/in' }] },
    'https://b.example/in',
  ],
  ['its id, once the destination is deleted', undefined, 'whk_2'],
])('a delivery names a URL that was not called by %s', async (_, destination, named) => {
  const attempt = {
    n: 1,
    replay: 0,
    at,
    durationMs: 1,
    outcome: 'delivered',
    notCalled: ['whk_2'],
    urls: [],
  };
  const delivery = {
    id: 'dlv_1',
    destination: 'dst_1',
    reason: null,
    goesOn: null,
    settledAt: at,
    budget: {},
    body: {},
  };
  playControl(({ path }) => {
    if (path === '/deliveries/dlv_1') return { ...delivery, attempts: [attempt] };
    return path === '/destinations/dst_1' ? destination : undefined;
  });
  const { code, out } = await atControl('deliveries', 'show', 'dlv_1');
  expect([code, out]).toEqual([0, expect.stringContaining(` ${named}  not called`)]);
});

test('a delete command finds an entry by name and deletes only the found version', async () => {
  expect((await atControl('sources', 'delete', 'Site', '--yes')).out).toBe('deleted  src_1\n');
  expect(requests.at(-1)).toBe('DELETE /sources/src_1 "7"');
});

test('a name of several entries is refused with their ids', async () => {
  expect(await atControl('sources', 'show', 'Twin')).toMatchObject({
    code: 1,
    out: '',
    err: '2 sources are named "Twin". Use an id (src_2, src_3).\n',
  });
});

test('an id of an unknown entry without a name is refused without a search', async () => {
  expect(await atControl('notices', 'show', 'ntc_9')).toMatchObject({ code: 1, err: 'Unknown.\n' });
  expect(requests).toEqual(['GET /notices/ntc_9']);
});

test('the help of a command without an example shows one with a sample argument', async () => {
  expect((await atControl('destinations', 'show', '--help')).out).toContain(
    '$ waypost destinations show "My hook"\n',
  );
  expect((await atControl('whoami', '--help')).out).toContain('$ waypost whoami\n');
});

test('with --json an error is one JSON object on standard error, as in the API', async () => {
  const { code, out, err } = await atControl('notices', 'show', 'ntc_9', '--json');
  expect([code, out, JSON.parse(err)]).toEqual([
    1,
    '',
    {
      error: {
        message: 'Unknown.',
        exitCode: 1,
        status: 404,
        problem: { type: 'urn:waypost:problem:not_found', detail: 'Unknown' },
      },
    },
  ]);
});

test.each([
  'sources',
  'destinations',
  'audiences',
  'traits',
  'deliveries',
  'notices',
  'tokens',
  'deletions',
  'replay',
  'audit',
  'events',
])('the noun %s alone lists', async (noun) => {
  expect((await atControl(noun, '--json')).code).toBe(0);
  expect(requests[0]).toMatch(/^GET \/[a-z-]+ (sessions=false&)?limit=/);
});

test('deliveries without a subcommand lists deliveries', async () => {
  expect((await atControl('deliveries', '--user', 'u-17', '--limit', '5')).err).toBe(
    'No matching deliveries.\n',
  );
  expect(requests).toEqual(['GET /deliveries?user=u-17&limit=5'.replace('?', ' ')]);
});

const aPage = (...data: object[]) => ({ data, next: null });
afterEach(() => {
  delete PAGES['/notices'];
  delete PAGES['/deliveries'];
});

test('the audit calls a session a sign-in', async () => {
  const before = PAGES['/audit']!;
  const by = { id: 'admin', name: 'admin token', role: 'admin' };
  const session = { ...change, by, kind: 'session', changes: [] };
  PAGES['/audit'] = aPage({ ...session, action: 'created' }, { ...session, action: 'deleted' });
  const { out } = await atControl('audit', '--kind', 'session');
  PAGES['/audit'] = before;
  expect(out).toMatch(/admin token +admin +signed in [^]*admin token +admin +signed out /);
});

test('a list has its count below it, and programs do not get it', async () => {
  PAGES['/deliveries'] = aPage({ id: 'dlv_1', goesOn: null }, { id: 'dlv_2', goesOn: null });
  expect((await atControl('deliveries')).err).toBe('2 deliveries.\n');
  expect((await atControl('deliveries', '--json')).err).toBe('');
});

test.each(['waiting', 'retrying', 'held'])(
  'an empty list of %s deliveries names the word for all that wait',
  async (status) => {
    expect((await atControl('deliveries', '--status', status)).err).toBe(
      'No matching deliveries.\n--status pending finds all that wait: waiting, retrying, held.\n',
    );
  },
);

test('an empty list of others does not', async () => {
  for (const status of ['dead', 'pending']) {
    expect((await atControl('deliveries', '--status', status)).err).toBe(
      'No matching deliveries.\n',
    );
  }
});

test('notices are listed as the API sorts them, with what becomes of the alert, and no end of a recovery', async () => {
  const notice = { at, name: 'Hook', count: 0, acknowledged: null, origin: null, error: null };
  PAGES['/notices'] = aPage(
    { ...notice, id: 'ntc_1', kind: 'recovered', endedAt: at, alert: 'none' },
    { ...notice, id: 'ntc_2', kind: 'failing', endedAt: null, alert: 'later' },
    { ...notice, id: 'ntc_3', kind: 'dead_letters', endedAt: null, alert: 'due' },
  );
  const { out, err } = await atControl('notices', '--unacknowledged');
  expect(requests[0]).toBe('GET /notices acknowledged=false&limit=50');
  const [, ...lines] = out.split('\n');
  expect(lines).toEqual([
    expect.stringMatching(/^ntc_1 .* recovered +- +- +not sent /),
    expect.stringMatching(/^ntc_2 .* failing +- +ongoing +later, if it lasts /),
    expect.stringMatching(/^ntc_3 .* dead_letters +- +ongoing +due /),
    '',
  ]);
  expect(err).toBe('3 notices.\n');
});

test('the open notices say where a failure is seen before its notice', async () => {
  expect((await atControl('notices', '--open')).err).toMatch(
    /^No matching notices\.\n.* less than five minutes has no notice yet: `waypost status`/,
  );
  expect((await atControl('notices')).err).toBe('No matching notices.\n');
});
