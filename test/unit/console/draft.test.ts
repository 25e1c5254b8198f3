import {
  creationOf,
  draftOf,
  emptyDraft,
  patchOf,
  problemsOf,
} from '../../../console/src/destination/draft';
import { urlProblem } from '../../../console/src/destination/webhook-draft';
import {
  ALERT_LABELS,
  DESTINATION_LABELS,
  differences,
  fieldInWords,
  hidesSecret,
} from '../../../console/src/destination/conflict';
import { alertsDraftOf, alertsPatch, alertsProblems } from '../../../console/src/alerts/draft';
import { type Alerts } from '../../../shared/api/operations';
import { aDestinationView } from '../../support/factories';

const STORED = aDestinationView({ name: 'Shop' });

describe('a URL in the form', () => {
  test.each([
    ['', 'Enter a URL'],
    ['example.com', 'http:// or https://'],
    ['https://', 'no host'],
    ['https://user:pass@example.com/', 'user name or password'],
    ['https://example.com/#top', 'fragment'],
    ['ftp://example.com/', 'http:// or https://'],
  ])('%j is refused', (url, why) => {
    expect(urlProblem(url)).toContain(why);
  });

  test('is accepted if requests can be sent to it', () => {
    expect(urlProblem('https://example.com/hook?token=1')).toBeUndefined();
  });
});

describe('the problems of a draft', () => {
  test('have the field names of the API', () => {
    const draft = {
      ...emptyDraft([], 'Webhooks'),
      name: ' ',
      types: [],
      maxPerSecond: 'many',
      switchOffAfter: 'soon',
      batch: { maxEvents: '1', maxWait: '2m', maxBytes: '1.5' },
      webhooks: [
        {
          url: 'nowhere',
          headers: [
            { name: 'X-Key', value: 'a', kept: false },
            { name: 'x-key', value: 'b', kept: false },
            { name: 'Host', value: 'c', kept: false },
            { name: 'X-Empty', value: '', kept: false },
          ],
        },
      ],
    };
    expect([...problemsOf(draft).keys()]).toEqual([
      'name',
      'webhooks/0/url',
      'webhooks/0/headers/1',
      'webhooks/0/headers/2',
      'webhooks/0/headers/3',
      'types',
      'maxPerSecond',
      'switchOffAfter',
      'batch/maxEvents',
      'batch/maxWait',
      'batch/maxBytes',
    ]);
  });

  test('are empty for a stored destination', () => {
    expect(problemsOf(draftOf(STORED)).size).toBe(0);
  });
});

describe('the request of a draft', () => {
  test('creates a destination disabled', () => {
    const draft = {
      ...emptyDraft(['src_1'], 'Webhooks'),
      webhooks: [{ url: 'https://example.com/', headers: [] }],
    };
    expect(creationOf(draft)).toEqual({
      name: 'Webhooks',
      type: 'webhooks',
      enabled: false,
      sources: ['src_1'],
      webhooks: [{ url: 'https://example.com/', headers: {} }],
    });
  });

  test('is empty if nothing was changed', () => {
    expect(patchOf(STORED, draftOf(STORED))).toEqual({});
  });

  test('contains only changed fields, and keeps stored header values', () => {
    const draft = draftOf(STORED);
    draft.webhooks[0]!.url = 'https://example.com/other';
    draft.webhooks[0]!.headers.push({ name: 'X-New', value: 'v', kept: false });
    expect(patchOf(STORED, { ...draft, maxPerSecond: '5', types: ['track'] })).toEqual({
      webhooks: [
        {
          id: 'whk_1',
          url: 'https://example.com/other',
          headers: { Authorization: { keep: true }, 'X-New': 'v' },
        },
      ],
      maxPerSecond: 5,
      types: ['track'],
    });
  });

  test('contains the limits of a batch, and null once the user clears the number of events', () => {
    const draft = draftOf(STORED);
    const batch = { maxEvents: 50, maxBytes: 1_000_000, maxWait: '1s' };
    const batched = { ...draft, batch: { ...draft.batch, maxEvents: '50' } };
    expect(patchOf(STORED, batched)).toEqual({ batch });
    expect(creationOf(batched)).toMatchObject({ batch });
    expect(patchOf({ ...STORED, batch }, draft)).toEqual({ batch: null });
  });

  test('removes a field by null', () => {
    const limited = { ...STORED, maxPerSecond: 5, types: ['track' as const], switchOffAfter: '5d' };
    const draft = { ...draftOf(limited), maxPerSecond: '', types: null, switchOffAfter: '' };
    expect(patchOf(limited, draft)).toEqual({
      maxPerSecond: null,
      types: null,
      switchOffAfter: null,
    });
  });
});

describe('a conflict', () => {
  test('shows an absent limit and absent types in words', () => {
    const theirs = { ...STORED, maxPerSecond: 7, types: ['track' as const] };
    const found = differences(DESTINATION_LABELS, {
      before: STORED,
      theirs,
      patch: { enabled: false },
    });
    expect(found.map(({ name, before, theirs: now, mine }) => [name, before, now, mine])).toEqual([
      ['Types', 'all', 'track', undefined],
      ['Rate limit', 'no limit', '7', undefined],
      ['Enabled', 'yes', 'yes', 'no'],
    ]);
  });

  test('shows the changes of both people, and no header value', () => {
    const theirs = { ...STORED, name: 'Store', paused: true };
    const draft = draftOf(STORED);
    draft.webhooks[0]!.headers[0] = { name: 'Authorization', value: 'planted', kept: false };
    const patch = patchOf(STORED, { ...draft, name: 'My shop', sharedSecret: 'planted' });
    const found = differences(DESTINATION_LABELS, { before: STORED, theirs, patch });
    expect(found.map(({ name, before, theirs: now, mine }) => [name, before, now, mine])).toEqual([
      ['Name', 'Shop', 'Store', 'My shop'],
      [
        'URLs, headers and authentication',
        ...Array<string>(3).fill('https://example.com/hook (Authorization)'),
      ],
      ['Paused', 'no', 'yes', undefined],
      ['Secret', 'yes', 'yes', 'a new one'],
    ]);
    expect(JSON.stringify(found)).not.toContain('planted');
  });
});

const WEBHOOK = {
  id: 'whk_1',
  origin: 'https://a.example',
  address: '***',
  headers: { 'X-Key': '***' },
};

test.each<[string, unknown, string]>([
  ['enabled', true, 'yes'],
  ['filter', null, 'none'],
  ['maxPerSecond', null, 'no limit'],
  ['maxPerSecond', 7, '7'],
  ['role', 'read_only', 'read-only'],
  ['trust', 'browser', 'a page or an app'],
  ['trust', null, 'a server'],
  ['compute', 'count', 'how many there were'],
  ['sharedSecret', '***', 'set'],
  ['types', [], 'none'],
  ['types', ['track', 'page'], 'track, page'],
  ['retry', { delays: ['5s', '1m'], window: '4h' }, 'delays: 5s, 1m; window: 4h'],
  ['retry', { delays: null, window: null, timeout: '9s', on: null }, 'timeout: 9s'],
  ['webhooks', [{ ...WEBHOOK, address: 'https://a.example/x' }], 'https://a.example/x (X-Key)'],
  ['webhooks', [WEBHOOK], 'https://a.example (X-Key)'],
  ['webhooks', [{ id: 'whk_1', address: '***', headers: {} }], 'whk_1'],
  ['webhooks', [{ id: 'whk_1', url: null, headers: {} }], 'unreadable'],
  [
    'webhooks',
    [{ ...WEBHOOK, auth: { type: 'basic', username: 'kim', password: '***' } }],
    'https://a.example (X-Key, basic, kim)',
  ],
  [
    'webhooks',
    [{ ...WEBHOOK, disabled: { at: '2026-01-01T00:00:00.000Z', reason: 'gone' } }],
    'https://a.example (X-Key, Off: its receiver answered 410 (Gone))',
  ],
])('%s %j of the audit trail in words', (field, value, expected) => {
  expect(fieldInWords(field, value)).toBe(expected);
});

test('a value of the audit trail hides a secret where *** is in its place', () => {
  expect(hidesSecret([[WEBHOOK], [WEBHOOK]])).toBe(true);
  expect(hidesSecret([{ ca: 'a' }, { ca: 'b' }])).toBe(false);
});

describe('a draft of alerts', () => {
  const stored: Alerts = {
    enabled: true,
    webhooks: STORED.webhooks.map((webhook) => ({ ...webhook, format: 'slack' as const })),
    email: ['ops@example.com'],
    hasSharedSecret: false,
    secretRotation: null,
    switchOffAfter: '5d',
    failingFor: '30m',
    deadLettersEvery: '1h',
    version: 2,
    createdAt: '2026-01-01T00:00:00.000Z',
    updatedAt: '2026-01-01T00:00:00.000Z',
  };

  test('is sent with its changed fields only', () => {
    expect(alertsPatch(stored, alertsDraftOf(stored))).toEqual({});
    const draft = { ...alertsDraftOf(stored), webhooks: [], failingFor: '90s', switchOffAfter: '' };
    expect(alertsPatch(stored, draft)).toEqual({
      webhooks: [],
      failingFor: '90s',
      switchOffAfter: null,
    });
  });

  test('keeps the formats of its URLs, and reads addresses separated by commas', () => {
    const before = alertsDraftOf(stored);
    const webhooks = [...before.webhooks, { url: 'https://ops.example/', headers: [] }];
    const patch = alertsPatch(stored, {
      ...before,
      webhooks,
      email: 'ops@example.com, kim@example.com,',
    });
    expect(patch.webhooks?.map(({ format }) => format)).toEqual([
      ...stored.webhooks.map(() => 'slack'),
      'default',
    ]);
    expect(patch.email).toEqual(['ops@example.com', 'kim@example.com']);
  });

  test('authenticates at a URL, and keeps the stored secret', () => {
    const auth = { type: 'pagerduty' as const, routingKey: { keep: true as const } };
    const webhooks = stored.webhooks.map((webhook) => ({
      ...webhook,
      auth,
      format: 'pagerduty' as const,
    }));
    const draft = alertsDraftOf({ ...stored, webhooks });
    draft.webhooks[0]!.url = 'https://example.com/other';
    expect(alertsProblems(draft).size).toBe(0);
    expect(alertsPatch({ ...stored, webhooks }, draft).webhooks).toMatchObject([
      { auth, format: 'pagerduty' },
    ]);
    draft.webhooks[0]!.url = 'https://else.example.com/';
    expect([...alertsProblems(draft).keys()]).toEqual([
      'webhooks/0/headers/0',
      'webhooks/0/auth/routingKey',
    ]);
  });

  test('may have no URL, but needs its times', () => {
    const draft = { ...alertsDraftOf(stored), webhooks: [], failingFor: '', switchOffAfter: '' };
    expect([...alertsProblems(draft).keys()]).toEqual(['failingFor']);
  });

  test('is compared field by field with the changes of somebody else', () => {
    const theirs = { ...stored, deadLettersEvery: '2h', switchOffAfter: null };
    const found = differences(ALERT_LABELS, {
      before: stored,
      theirs,
      patch: { failingFor: '1m' },
    });
    expect(found.map(({ name, before, theirs: now, mine }) => [name, before, now, mine])).toEqual([
      ['Failing after', '30m', '30m', '1m'],
      ['Dead-letter alerts at most every', '1h', '2h', undefined],
      ['Disabled after failing for', '5d', 'not set', undefined],
    ]);
  });
});
