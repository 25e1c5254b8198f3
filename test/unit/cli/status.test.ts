import { goesOnInShort, goesOnWords } from '../../../cli/explain/goes-on';
import { reasonWords } from '../../../cli/explain/reason-words';
import { type GoesOn } from '../../../shared/api/operations';
import { CANCEL_REASONS, DEAD_REASONS, WAIT_REASONS } from '../../../shared/model/reasons';
import { atControl, playControl } from '../../support/cli';

/** `waypost status` and `waypost why`, against a control API in this process. */

const NOW = Date.parse('2026-01-01T12:00:00.000Z');
const at = '2026-01-01T11:00:00.000Z';
const later = '2026-01-01T12:04:00.000Z';
const base = {
  acceptedAt: at,
  expiresAt: '2026-01-01T15:00:00.000Z',
  nextAttemptAt: null,
  attemptsMade: 1,
  lastStatusCode: null,
  lastError: null,
  goesOn: null,
};
const circuit = { url: 'whk_1', origin: 'https://a.example', state: 'open', why: 'timeout', at };
const error = { at, code: 'timeout', status: null, message: 'no response within 5 s' };
const none = { at: null, lastCheck: null, nextCheckBy: null, givenUpAt: base.expiresAt };
const down = { lastCheck: { ...error, url: 'whk_1' }, nextCheckBy: later };

test.each<[GoesOn['when'], string | null, Partial<GoesOn>, RegExp, string]>([
  ['at', 'backoff', { at: later }, /^at 2026-01-01T12:04/, `at ${later}`],
  ['at', 'backoff', { at }, /^as soon as Waypost comes to it$/, 'now'],
  ['at', null, { at }, /^as soon as/, 'now'],
  [
    'not_before',
    'retry_after',
    { at },
    /the endpoint asked for; first planned for 2026-01-01T11:00/,
    'in its turn',
  ],
  [
    'not_before',
    'retry_after',
    { at: later },
    /asked for, not before 2026-01-01T12:04/,
    `not before ${later}`,
  ],
  ['not_before', 'rate_limited', { at }, /rate limit/, 'in its turn'],
  ['not_before', 'lane_full', { at }, /before it; first planned for/, 'in its turn'],
  ['not_before', 'handed_over', { at }, /takes it again/, 'in its turn'],
  [
    'on_answer',
    'circuit_open',
    down,
    /^as soon as the endpoint answers \(.*11:00.*no response within 5 s\); the next check is within 4 min$/,
    'when it answers; next check within 4 min',
  ],
  [
    'on_answer',
    'backoff',
    { ...down, at: later },
    /^as soon as the endpoint answers, not before 2026-01-01T12:04/,
    'when it answers; next check within 4 min',
  ],
  [
    'on_answer',
    'token',
    { nextCheckBy: '2026-01-01T12:00:09.500Z' },
    /; the next check is within 10 s$/,
    'when it answers; next check within 10 s',
  ],
  ['on_answer', 'token', {}, /token endpoint/, 'when it answers'],
  ['on_answer', 'proxy', {}, /proxy connects/, 'when it answers'],
  ['on_release', 'paused', {}, /resumes/, 'when somebody acts'],
  ['on_release', 'backoff', {}, /resumes/, 'when somebody acts'],
  ['on_release', 'secrets_unreadable', {}, /key/, 'when somebody acts'],
  ['on_release', 'destination_unreadable', {}, /read/, 'when somebody acts'],
])('goes on %s for %s (%j)', (when, reason, over, words, short) => {
  const goesOn = { ...none, when, ...over };
  expect(goesOnWords(goesOn, reason, NOW)).toMatch(words);
  expect(goesOnInShort(goesOn, NOW)).toBe(short);
});

test('every reason has words', () => {
  const all = [...WAIT_REASONS, ...DEAD_REASONS, ...CANCEL_REASONS];
  expect(all.filter((reason) => reasonWords(reason) === reason)).toEqual([]);
});

const row = {
  name: 'Fine',
  state: 'healthy',
  failedAttempts: 0,
  delivered: 77,
  lastError: null,
  lastDead: null,
  oldestWaitingAt: null,
  waiting: 0,
  retrying: 0,
  held: 0,
  dead: 0,
  circuits: [],
};
/** As the API sorts them. */
const ROWS = [
  {
    ...row,
    destination: 'dst_lost',
    name: 'Borealis',
    dead: 2_279,
    lastDead: { at, reason: 'rejected', status: 410, code: null, message: null },
  },
  {
    ...row,
    destination: 'dst_down',
    name: 'Cobalt',
    state: 'failing',
    held: 1_370,
    oldestWaitingAt: at,
    circuits: [circuit],
    lastError: error,
  },
  { ...row, destination: 'dst_fine' },
];
const sum = {
  since: '2025-12-31T12:00:00.000Z',
  destinations: 3,
  open: { waiting: 0, retrying: 0, held: 1_370 },
  totals: { dead: 2_279 },
};
const LISTS: Record<string, object[]> = {
  'dst_down held': [
    {
      ...base,
      id: 'dlv_1',
      status: 'held',
      reason: 'circuit_open',
      goesOn: { ...none, when: 'on_answer', ...down },
    },
  ],
};

const REFUSED = {
  ...base,
  id: 'dlv_2',
  status: 'dead',
  reason: 'rejected',
  destination: 'dst_lost',
  settledAt: at,
  budget: { attemptsMade: 1 },
  replay: 0,
  attempts: [
    {
      n: 1,
      at,
      urls: [
        {
          origin: 'https://a.example',
          outcome: 'rejected',
          status: 422,
          response: { body: `{"error":"no\u001b such shop. ${'x'.repeat(300)}\nsecond line` },
        },
      ],
    },
  ],
};

beforeEach(() => {
  playControl(({ path, query }) => {
    if (path === '/overview') {
      const ids = query.get('ids');
      const data = ROWS.filter(({ destination }) => (ids ?? destination) === destination);
      return { ...sum, data };
    }
    if (path === '/deliveries') {
      const listed = LISTS[`${query.get('destination')} ${query.get('status')}`] ?? [];
      return { data: listed, next: null };
    }
    if (path.endsWith('/health')) return { stateSince: '2026-01-01T10:41:00.000Z' };
    if (path === '/deliveries/dlv_2') return REFUSED;
    if (path === '/deliveries/dlv_1') {
      return {
        ...LISTS['dst_down held']![0],
        destination: 'dst_down',
        budget: { attemptsMade: 1 },
        replay: 0,
        attempts: [],
      };
    }
    const [, , id] = path.split('/');
    return { id, name: ROWS.find(({ destination }) => destination === id)?.name };
  });
});
afterEach(() => jest.restoreAllMocks());

test('status names first who loses events, then who waits, and leaves out the rest', async () => {
  const { code, out, err } = await atControl('status');
  expect(code).toBe(0);
  expect(err).toBe(
    '2 of 3 destinations need attention; 1,370 deliveries wait, 2,279 are dead in 24 h.\n' +
      'Dead deliveries are not tried again. After a fix, replay them: ' +
      'waypost replay all --destination <destination>\n',
  );
  const [, first, second, ...others] = out.split('\n');
  expect(first).toMatch(/^Borealis .* 0 +2279 +only by a replay +HTTP 410$/);
  expect(second).toMatch(
    /^Cobalt +failing +2026-01-01T10:41\S+ +1370 +0 +as soon as the endpoint answers; the next check is within 1 s +no response within 5 s$/,
  );
  expect(others).toEqual(['']);
});

test('status --json has every destination, in the same order', async () => {
  const [{ destinations }] = (await atControl('status', '--json')).json as [
    { destinations: object[] },
  ];
  expect(destinations).toMatchObject([
    { id: 'dst_lost', dead: 2_279, why: 'HTTP 410', goesOn: null },
    {
      id: 'dst_down',
      name: 'Cobalt',
      state: 'failing',
      since: '2026-01-01T10:41:00.000Z',
      why: 'no response within 5 s',
      waiting: 1_370,
      goesOn: { when: 'on_answer', lastCheck: { at } },
    },
    { id: 'dst_fine', why: null, waiting: 0, dead: 0, goesOn: null },
  ]);
});

test("a destination's status says who, since when, why, how many and when it goes on", async () => {
  const { out } = await atControl('status', 'dst_down');
  expect(out).toMatch(/^destination +Cobalt \(dst_down\)$/m);
  expect(out).toMatch(/^since +2026-01-01T10:41/m);
  expect(out).toMatch(/^why +no response within 5 s$/m);
  expect(out).toMatch(/^waiting +1370, the oldest accepted at 2026-01-01T11:00/m);
  expect(out).toMatch(/^last failure +2026-01-01T11:00:00/m);
  expect(out).toMatch(/^goes on +as soon as the endpoint answers; the next check/m);
  expect(out).toMatch(/^gives up at +2026-01-01T15:00:00.000Z, on the newest$/m);
  expect(out).toMatch(/^delivered +77 since 2025-12-31T12:00:00.000Z$/m);
  expect(out).toMatch(/^dead +0 since 2025-12-31T12:00:00.000Z$/m);
});

test('status of one destination shows the dead letters that it has counted', async () => {
  const { out, err } = await atControl('status', 'dst_lost');
  expect(out).toMatch(/^dead +2279 since 2025-12-31T12:00:00.000Z$/m);
  expect(err).toContain('--ended-since 2025-12-31T12:00:00.000Z\n');
  expect(err).toContain('After a fix, replay them: waypost replay all --destination dst_lost\n');
});

test('why says in sentences what a delivery waits for', async () => {
  const { out } = await atControl('why', 'dlv_1');
  expect(out).toContain('Delivery dlv_1 to "Cobalt" is held: its endpoint is failing.');
  expect(out).toContain('It goes on as soon as the endpoint answers');
  expect((await atControl('why', 'dlv_1', '--json')).json).toMatchObject([
    { id: 'dlv_1', goesOn: { when: 'on_answer' } },
  ]);
});

test('why says what the endpoint said when it refused, and where the rest is', async () => {
  const { out, err } = await atControl('why', 'dlv_2');
  expect(out).toMatch(
    /https:\/\/a\.example answered 422\.\nIt said: \{"error":"no\ufffd such shop\. x+…\nIt ended/,
  );
  expect(out).not.toContain('second line');
  expect(err).toBe('See the requests and responses with: waypost deliveries show dlv_2\n');
});
