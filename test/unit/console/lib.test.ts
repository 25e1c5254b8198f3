import { MAX_SHOWN, withNew, withPast } from '../../../console/src/lib/merge';
import { groupsOf } from '../../../console/src/lib/notice-groups';
import { fieldProblems, isSignedOut, partsOf, sayProblem } from '../../../console/src/lib/problems';
import { ingestAddress, snippetsFor } from '../../../console/src/lib/snippets';
import { defined } from '../../../shared/collections/defined';
import { addressWarning } from '../../../shared/model/address-warning';
import { checklistOf } from '../../../console/src/lib/checklist';
import { newSecret } from '../../../console/src/lib/secret';
import {
  lastAttempts,
  responseInShort,
  tookOf,
} from '../../../console/src/destination/last-attempts';
import {
  everyStep,
  latencyTicks,
  listOf,
  listOfAccepted,
  sinceCreation,
  sinceOf,
  sizeSteps,
  stepLabel,
  stepSecondsOf,
} from '../../../console/src/lib/series';
import { LONG_SPANS, spanNamed } from '../../../console/src/lib/spans';
import { readViews, removeView, saveView } from '../../../console/src/lib/views';
import {
  absolute,
  clock,
  isoOfLocal,
  latency,
  localOfIso,
  causeInWords,
  noticeInWords,
  pageInWords,
  perMinuteInWords,
  rateInWords,
  reasonInWords,
  relative,
  takersInWords,
  urlInShort,
} from '../../../console/src/lib/labels';
import {
  previewOf,
  rateProblem,
  REPLAYABLE,
  replayOf,
  scopeFor,
  scopeProblem,
  withFailedUrls,
} from '../../../console/src/replay/scope';
import { MOST_REACHED } from '../../../shared/api/operation';
import { ApiProblem } from '../../../shared/api/client';

describe('times', () => {
  const now = Date.parse('2026-01-01T12:00:00.000Z');
  test.each([
    ['2026-01-01T12:00:00.200Z', 'now'],
    ['2026-01-01T11:59:48.000Z', '12 s ago'],
    ['2026-01-01T12:10:00.000Z', 'in 10 min'],
    ['2026-01-01T09:00:00.000Z', '3 h ago'],
    ['2025-12-25T12:00:00.000Z', '7 days ago'],
  ])('the time %s is shown as %s', (iso, text) => {
    expect(relative(iso, now)).toBe(text);
  });

  test('have an exact form, with the day unless today and the year unless it is this one', () => {
    const local = (text: string) => new Date(text).toISOString();
    const at = Date.parse(local('2026-01-01T12:00:00'));
    expect(absolute(local('2026-01-01T09:05:07'), at)).toBe('09:05:07');
    expect(absolute(local('2026-01-03T09:05:07'), at)).toBe('Jan 3, 09:05:07');
    expect(absolute(local('2025-12-31T09:05:07'), at)).toBe('Dec 31, 2025, 09:05:07');
    expect(clock(local('2026-01-01T09:05:07'), at)).toBe('09:05');
    expect(clock(local('2026-01-03T09:05:07'), at)).toBe('Jan 3, 09:05');
  });

  test('that are invalid say so: an exception would empty the page', () => {
    expect(absolute('no time', now)).toBe('Invalid Date, Invalid Date');
    expect(clock('no time', now)).toBe('Invalid Date, Invalid Date');
    expect(stepLabel('no time', 60)).toBe('Invalid Date');
  });

  test('survive the way from a field to the API and back', () => {
    expect(localOfIso(isoOfLocal('2026-01-01T12:34'))).toBe('2026-01-01T12:34');
    expect(isoOfLocal('')).toBeUndefined();
    expect(localOfIso('no time')).toBe('');
  });

  test.each([
    [null, '–'],
    [12.4, '12 ms'],
    [1_500, '1.5 s'],
    [120_000, '2 min'],
    [90_000, '1.5 min'],
    [5_400_000, '1.5 h'],
  ])('a latency of %s ms is shown as %s', (ms, text) => {
    expect(latency(ms)).toBe(text);
  });
});

describe('labels', () => {
  test('exist for reasons, and an unknown reason is shown by its name', () => {
    expect(reasonInWords('window_closed')).toContain('window');
    expect(reasonInWords('some_news')).toBe('some news');
    expect(reasonInWords(null)).toBe('');
  });

  test('of an API error name each bad field', () => {
    const errors = [
      { pointer: '#/webhooks/0/headers/a~1b', detail: 'no' },
      { parameter: 'limit', detail: 'too large' },
    ];
    const error = new ApiProblem(422, { detail: 'Some fields are wrong', errors });
    expect([...fieldProblems(error)]).toEqual([
      ['webhooks/0/headers/a/b', 'no'],
      ['limit', 'too large'],
    ]);
    expect(sayProblem(error)).toBe('Some fields are wrong');
    expect(sayProblem(new TypeError('fetch failed'))).toContain('is unreachable');
  });
});

test.each([
  ['https://a.example/hooks', 'a.example/hooks'],
  ['http://127.0.0.1:39919/webhooks/Acme', '127.0…hooks/Acme'],
])('the URL %s is in short %s', (url, short) => {
  expect(urlInShort(url)).toBe(short);
});

describe('snippets', () => {
  test('only the code for a browser puts the write key where everybody can read it', () => {
    const inPage = snippetsFor('http://localhost:8080', 'key-1').filter((each) => each.inPage);
    expect(inPage.map(({ name }) => name)).toEqual(['Browser']);
  });

  test('contain the write key and the address in every language', () => {
    const snippets = snippetsFor('http://localhost:8080/', 'key-1');
    expect(snippets.map(({ name }) => name)).toEqual([
      'curl',
      'Browser',
      'Node',
      'Python',
      'Go',
      'Node (Waypost)',
      'Go (Waypost)',
    ]);
    for (const { code } of snippets) {
      expect(code).toContain('key-1');
      expect(code).toContain('localhost:8080');
    }
  });

  test('are whole programs: they install what they import, and end once the call is sent', () => {
    const programs = snippetsFor('http://localhost:8080', 'key-1').filter(({ file }) => file);
    for (const { file = '', code, install = '', run = '' } of programs) {
      const [, named = ''] =
        /from '(?:@waypost\/)?(.+?)'|import (segment)\.|"github\.com\/(.+?)"/
          .exec(code)
          ?.filter(Boolean) ?? [];
      expect([file, install]).toEqual([file, expect.stringContaining(named)]);
      expect(code).toMatch(/closeAndFlush\(\)|flush\(\)|\.close\(\)|\.Close\(/);
      expect(run).toContain(file === 'main.go' ? 'go run .' : file);
    }
  });

  test.each([
    [{ url: null, port: 8081 }, 'https://waypost.example:8090', 'https://waypost.example:8081'],
    [{ url: null, port: 8081 }, 'http://[::1]:8090', 'http://[::1]:8081'],
    [{ url: 'https://in.example', port: 8081 }, 'http://localhost:8090', 'https://in.example'],
  ])(
    'send to the address of ingest, with the settings %j from %s to %s',
    (ingest, origin, address) => {
      expect(ingestAddress(ingest, origin)).toBe(address);
    },
  );
});

describe('steps of a chart', () => {
  const span = { since: '2026-01-01T00:00:00.000Z', stepSeconds: 60 };

  test('exist for every time, also without counts', () => {
    const counted = { at: '2026-01-01T00:01:00.000Z', delivered: 2 };
    const steps = everyStep(span, [counted], Date.parse('2026-01-01T00:02:30.000Z'));
    expect(steps.map(({ at, found }) => [at.slice(11, 16), found?.delivered])).toEqual([
      ['00:00', undefined],
      ['00:01', 2],
      ['00:02', undefined],
    ]);
  });

  test('begin at a whole minute, so that queries within a minute are equal', () => {
    const now = Date.parse('2026-01-01T12:34:56.789Z');
    expect(sinceOf(3_600_000, now)).toBe('2026-01-01T11:34:00.000Z');
    expect(sinceOf(3_600_000, now + 3_000)).toBe(sinceOf(3_600_000, now));
    expect(sinceOf(3_600_000, now, 900_000)).toBe('2026-01-01T11:30:00.000Z');
  });

  test('show the size that was counted last, and none before the first count', () => {
    const span = { since: '2026-01-01T00:00:00.000Z', stepSeconds: 60 };
    const counted = [
      { at: '2026-01-01T00:01:10.000Z', members: 5 },
      { at: '2026-01-01T00:01:50.000Z', members: 7 },
      { at: '2026-01-01T00:03:00.000Z', members: 6 },
    ];
    const sizes = sizeSteps(counted, span, Date.parse('2026-01-01T00:05:00.000Z'));
    expect(sizes.map(({ at, members }) => [at.slice(14, 16), members])).toEqual([
      ['00', null],
      ['01', 7],
      ['02', 7],
      ['03', 6],
      ['04', 6],
    ]);
  });

  test.each([
    ['1h', 60],
    ['24h', 900],
    ['7d', 7_200],
    ['90d', 86_400],
    ['unknown', 900],
  ])('of a line over %s have %d seconds', (name, seconds) => {
    expect(stepSecondsOf(spanNamed(name, LONG_SPANS).ms)).toBe(seconds);
  });

  test('are labelled with the time, and long steps with the day', () => {
    const at = new Date(2026, 0, 2, 3, 4).toISOString();
    expect(stepLabel(at, 60)).toBe('03:04');
    expect(stepLabel(at, 10_800)).toBe('Jan 2, 03:04');
    expect(stepLabel(at, 86_400)).toBe('Jan 2');
  });
});

test.each([
  [401, 'urn:waypost:problem:unauthorized', true],
  [429, 'urn:waypost:problem:rate_limited', true],
  [429, undefined, false],
  [403, 'urn:waypost:problem:forbidden', false],
  [503, 'urn:waypost:problem:unavailable', false],
])('an answer %d of type %s means that the session has ended: %s', (status, type, expected) => {
  expect(
    isSignedOut(
      new ApiProblem(status, {
        ...defined({ type: type || undefined }),
        detail: 'Something',
      }),
    ),
  ).toBe(expected);
});

test.each([
  [
    'A call needs `userId` or `anonymousId`.',
    ['A call needs ', 'userId', ' or ', 'anonymousId', '.'],
  ],
  ['Nothing is named', ['Nothing is named']],
  ['A ` alone is text', ['A ` alone is text']],
])('every second part of the message %j is a name', (message, parts) => {
  expect(partsOf(message)).toEqual(parts);
});

describe('the scope of a replay', () => {
  test('is sent with the chosen fields only', () => {
    const scope = {
      ...scopeFor('dst_1'),
      from: '2026-01-01T00:00',
      type: 'track',
      includeDelivered: true,
    };
    const chosen = {
      destination: 'dst_1',
      origin: 'dead_letters',
      from: isoOfLocal('2026-01-01T00:00'),
      type: 'track',
      includeDelivered: true,
    };
    expect(previewOf(scope)).toEqual({ ...chosen, preview: true });
    expect(replayOf(scope, '0.5')).toEqual({ ...chosen, maxPerSecond: 0.5 });
  });

  test('reads messages to send only to URLs that failed, as a dead letter failed at all', () => {
    const scope = withFailedUrls(scopeFor('dst_1'), true);
    expect(previewOf(scope)).toMatchObject({ origin: 'messages', onlyFailedUrls: true });
    expect(previewOf(withFailedUrls(scope, false))).not.toHaveProperty('onlyFailedUrls');
  });

  test('offers the statuses of ended deliveries, because the API refuses the others', () => {
    expect(REPLAYABLE).toEqual(['delivered', 'partly_delivered', 'dead', 'cancelled']);
  });

  test.each([
    [{ destination: '' }, 'destination'],
    [{ from: '2026-01-02T00:00', to: '2026-01-01T00:00' }, 'before'],
  ])('is refused with the change %j', (change, word) => {
    expect(scopeProblem({ ...scopeFor('dst_1'), ...change })).toContain(word);
  });

  test.each([
    ['', false],
    ['fast', false],
    ['0', false],
    ['0.5', true],
    ['10000', true],
    ['10001', false],
  ])('may have the rate "%s": %s', (rate, isPossible) => {
    expect(rateProblem(rate) === undefined).toBe(isPossible);
  });
});

describe('a list of live events', () => {
  const event = (id: string) => ({
    id,
    at: '2026-01-01T00:00:00.000Z',
    source: 'src_1',
    accepted: true,
    call: {},
    warnings: [],
  });
  const ids = (events: { id: string }[]) => events.map(({ id }) => id).join('');

  test('shows the newest event first, each event once, and a limited number', () => {
    expect(ids(withNew([event('b'), event('a')], event('c')))).toBe('cba');
    expect(ids(withNew([event('b'), event('a')], event('a')))).toBe('ba');
    const full = Array.from({ length: MAX_SHOWN }, (_, i) => event(String(i)));
    expect(withNew(full, event('new'))).toHaveLength(MAX_SHOWN);
  });

  test('adds earlier events once, also if the two lists overlap', () => {
    expect(ids(withPast([event('d'), event('c')], [event('c'), event('b'), event('a')]))).toBe(
      'dcba',
    );
  });
});

test.each([
  [
    'http://169.254.169.254/latest',
    /call 169\.254\.169\.254 \(metadata service, and not in WAYPOST_ALLOWED_NETWORKS\)/,
  ],
  ['http://2852039166/', /call 169\.254\.169\.254 /],
  ['http://[::ffff:10.0.0.5]/', /private/],
  ['http://localhost:3000/', /private name/],
  ['http://db.internal/', /private name/],
])('the URL %s gets a warning that names the setting', (url, warning) => {
  expect(addressWarning(url)).toMatch(warning);
});

test.each([
  'https://example.com/hook',
  'https://8.8.8.8/',
  'not a url',
  'https://localhost.example.com/',
])('the URL %s gets no warning', (url) => {
  expect(addressWarning(url)).toBeUndefined();
});

const networks = {
  allowed: ['127.0.0.0/8', '10.0.0.0/8'],
  forbidden: ['10.9.0.0/16', '203.0.113.0/24'],
};
test.each([
  'http://127.0.0.1:3000/',
  'http://localhost:3000/',
  'http://10.0.0.5/',
  'http://[::ffff:10.0.0.5]/',
  'http://db.internal/',
])('the URL %s gets no warning where the settings allow its network', (url) => {
  expect(addressWarning(url, networks)).toBeUndefined();
});

test.each([
  ['http://192.168.0.1/', 'private, and not in WAYPOST_ALLOWED_NETWORKS'],
  ['http://10.9.0.1/', 'forbidden by WAYPOST_FORBIDDEN_NETWORKS'],
  ['https://203.0.113.7/', 'forbidden by WAYPOST_FORBIDDEN_NETWORKS'],
])('the URL %s gets a warning although other networks are allowed', (url, why) => {
  expect(addressWarning(url, networks)).toBe(
    `Waypost refuses to call ${new URL(url).hostname} (${why}).`,
  );
});

test('a generated secret has the format of Standard Webhooks and 32 random bytes', () => {
  const secrets = [newSecret(), newSecret()];
  for (const secret of secrets) {
    expect(Buffer.from(secret.replace('whsec_', ''), 'base64')).toHaveLength(32);
  }
  expect(new Set(secrets).size).toBe(2);
});

test.each([
  [0, [0, 1]],
  [395, [0, 100, 200, 300, 400]],
  [270_000, [0, 60_000, 120_000, 180_000, 240_000, 300_000]],
])('the axis of latencies up to %d ms has the ticks %j', (max, ticks) => {
  expect(latencyTicks(max)).toEqual(ticks);
});

test.each([
  [1, 50, { count: 1_234, exact: true }, '1–50 of 1,234'],
  [25, 34, { count: 1_234, exact: true }, '1,201–1,234 of 1,234'],
  [1, 50, { count: 10_000, exact: false }, '1–50 of more than 10,000'],
  [2, 50, { count: 7, exact: false }, '51–100 of at least 100'],
  [1, 7, { count: 6, exact: true }, '1–7 of 7'],
  [1, 0, { count: 0, exact: true }, ''],
])('page %d with %d rows of a list with the total %j says "%s"', (nth, rows, total, says) => {
  expect(pageInWords(nth, rows, total)).toBe(says);
});

test.each([
  ['failing', null, 'Failing for 2 h, ongoing.'],
  ['failing', '2026-01-01T11:00:00Z', 'Failed for 1 h.'],
  ['recovered', '2026-01-01T10:30:00Z', 'Recovered after 30 min.'],
  ['dead_letters', null, ''],
])('the notice %s that ended at %s says "%s"', (kind, endedAt, words) => {
  const times = { since: '2026-01-01T10:00:00Z', at: '2026-01-01T10:30:00Z' };
  expect(noticeInWords({ kind, ...times, endedAt }, Date.parse('2026-01-01T12:00:00Z'))).toBe(
    words,
  );
});

test.each([
  [null, 'no attempts'],
  [1, '100 %'],
  [0.9999, '99.9 %'],
  [0.5, '50 %'],
  [0, '0 %'],
])('the success rate %s is shown as %s', (rate, text) => {
  expect(rateInWords(rate)).toBe(text);
});

test('a figure leads to what it counts: deliveries that ended in its time, without tests', () => {
  const range = { since: '2026-01-01T10:00:00.000Z', until: '2026-01-01T11:00:00.000Z' };
  const query = (...given: Parameters<typeof listOf>) =>
    Object.fromEntries(new URLSearchParams(listOf(...given).split('?')[1]));
  const ended = { endedSince: range.since, endedUntil: range.until, counted: 'true' };
  expect(query('', range)).toEqual(ended);
  for (const status of ['delivered', 'cancelled', 'dead'] as const) {
    expect(query('dst_1', range, status)).toEqual({ destination: 'dst_1', status, ...ended });
  }
  expect(query('', {}, 'pending')).toEqual({ status: 'pending', counted: 'true' });
  expect(listOfAccepted(range)).toBe(`/deliveries?${new URLSearchParams({ ...range }).toString()}`);
});

test('the last attempts of a destination come from all its deliveries, newest first', () => {
  const url = (status: number, outcome: 'delivered' | 'retry') => ({
    url: 'whk',
    origin: '',
    outcome,
    status,
    durationMs: 1,
  });
  const attempt = (at: string, n = 1) => ({
    n,
    replay: 0,
    at,
    durationMs: 5,
    outcome: 'retry' as const,
    urls: [url(503, 'retry'), url(200, 'delivered')],
  });
  type Lists = Parameters<typeof lastAttempts>[0];
  const row = (id: string, ...at: string[]) => ({
    id,
    attempts: at.map((each, i) => attempt(each, i + 1)),
  });
  const lists = [
    [
      row('dlv_new', '2026-01-01T10:05:00Z'),
      row('dlv_old', '2026-01-01T09:00:00Z', '2026-01-01T10:06:00Z'),
    ],
    [row('dlv_old', '2026-01-01T09:00:00Z', '2026-01-01T10:06:00Z')],
  ] as unknown as Lists;
  const found = lastAttempts(lists, 2);
  expect(found.map(({ delivery, n }) => `${delivery.id} ${n}`)).toEqual(['dlv_old 2', 'dlv_new 1']);
  expect(responseInShort(found[0]!)).toBe('503');
  // The wait for a turn is not the endpoint's.
  expect(tookOf({ ...attempt('', 1), durationMs: 9_700 } as (typeof found)[0])).toBe(
    Math.max(...attempt('', 1).urls.map(({ durationMs }) => durationMs)),
  );
});

test('saved views are kept by name, replaced by the same name, and survive broken storage', () => {
  const kept = new Map<string, string>();
  const store = {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, text: string) => void kept.set(key, text),
  };
  saveView('deliveries', { name: 'Dead', filters: 'status=dead' }, store);
  saveView('deliveries', { name: 'Dead', filters: 'status=dead&type=track' }, store);
  saveView('deliveries', { name: 'Acme', filters: 'destination=dst_1' }, store);
  expect(readViews('deliveries', store).map(({ name, filters }) => [name, filters])).toEqual([
    ['Acme', 'destination=dst_1'],
    ['Dead', 'status=dead&type=track'],
  ]);
  expect(removeView('deliveries', 'Dead', store)).toHaveLength(1);
  expect(readViews('deliveries', { getItem: () => 'broken', setItem: () => undefined })).toEqual(
    [],
  );
  expect(readViews('deliveries', undefined)).toEqual([]);
});

test('the first steps are done one by one', () => {
  const none = {
    sources: 0,
    destinations: [],
    delivered: false,
    alerts: { enabled: false, webhooks: [] },
  };
  expect(checklistOf(none).map(({ done, to }) => [done, to])).toEqual([
    [false, '/connect'],
    ...Array.from({ length: 4 }, () => [false, '/connect']),
    [false, '/alerts'],
  ]);
  const one = {
    ...none,
    sources: 1,
    destinations: [{ id: 'dst_1', enabled: true, hasSharedSecret: false }],
  };
  expect(checklistOf(one).filter(({ done }) => !done)).toMatchObject([
    { to: '/destinations/dst_1' },
    { to: '/connect/dst_1/live' },
    { to: '/alerts' },
  ]);
});

test.each([
  [0, '0.0'],
  [0.04, 'below 0.1'],
  [0.5, '0.5'],
  [60_000, '60,000'],
])('%d a minute is shown as %s', (n, says) => {
  expect(perMinuteInWords(n)).toBe(says);
});

test.each([
  [0, 0, 'for no destination'],
  [1, 3, 'for 1 destination'],
  [2, 47, 'for 2 destinations'],
  // The rest of the source's destinations is not known.
  [0, MOST_REACHED, ''],
  [2, MOST_REACHED, ''],
])('an event that %d destinations take, and %d do not, is %s', (routed, others, says) => {
  const all = [
    ...Array.from({ length: routed }, () => ({ outcome: 'routed' })),
    ...Array.from({ length: others }, () => ({ outcome: 'filtered' })),
  ];
  expect(takersInWords(all.slice(0, MOST_REACHED))).toBe(says);
});

test('an event that came before a destination says so, unless another takes it', () => {
  const later = { outcome: 'created_later' };
  expect(takersInWords([{ outcome: 'filtered' }, later])).toBe(
    'before its destination was created',
  );
  expect(takersInWords([{ outcome: 'routed' }, later])).toBe('for 1 destination');
});

test.each([
  [{ status: 500, code: 'status', message: 'https://a.example: status 500' }, 'HTTP 500'],
  [
    { status: null, code: 'tls', message: 'tls: DEPTH_ZERO_SELF_SIGNED_CERT' },
    'the certificate is self-signed',
  ],
  [{ status: null, code: 'tls', message: 'tls: CERT_HAS_EXPIRED' }, 'the certificate has expired'],
  [{ status: null, code: 'dns', message: 'dns: ENOTFOUND' }, 'its host name is unknown'],
  [{ status: null, code: 'connection', message: 'x' }, 'the connection to it fails'],
  [{ status: null, code: 'newer', message: 'as the API says it' }, 'as the API says it'],
])('the cause %j is "%s"', (error, words) => {
  expect(causeInWords(error)).toBe(words);
});

const notice = (id: string, destination: string, origin: string | null, acknowledged = false) => ({
  id,
  destination,
  origin,
  acknowledged: acknowledged ? { at: '', by: { id: '', name: '' } } : null,
});

test('notices about one server that nobody has acknowledged are a group', () => {
  expect(
    groupsOf([
      notice('n1', 'dst_1', 'https://a.example'),
      notice('n2', 'dst_2', 'https://b.example'),
      notice('n3', 'dst_2', 'https://b.example'),
      notice('n4', 'dst_3', 'https://b.example'),
      notice('n5', 'dst_4', 'https://a.example', true),
      notice('n6', 'dst_5', null),
      notice('n7', 'dst_6', null),
      notice('n8', 'dst_7', 'https://c.example'),
      notice('n9', 'dst_8', 'https://c.example'),
    ]),
  ).toEqual([
    { origin: 'https://b.example', unacknowledged: ['n2', 'n3', 'n4'], destinations: 2 },
    { origin: 'https://c.example', unacknowledged: ['n8', 'n9'], destinations: 2 },
  ]);
});

test.each([
  // Created before the trend begins, in its middle, and just now.
  ['2026-01-01T00:00:00Z', 24],
  ['2026-01-02T12:30:00Z', 12],
  ['2026-01-02T23:59:00Z', 6],
])('the bars of a destination that was created at %s are the last %d', (createdAt, bars) => {
  const hours = Array.from({ length: 24 }, (_, i) => i);
  const trend = { stepSeconds: 3_600, delivered: hours, failedAttempts: hours };
  const shown = sinceCreation(trend, '2026-01-02T00:00:00Z', createdAt);
  expect(shown).toEqual({ delivered: hours.slice(-bars), failed: hours.slice(-bars) });
  expect(sinceCreation(trend, undefined, createdAt).delivered).toHaveLength(24);
});
