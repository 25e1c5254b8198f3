import { membersOf } from '../../../console/src/delivery/batch-members';
import { NO_TLS, withType } from '../../../console/src/destination/auth-draft';
import { DESTINATION_LABELS, differences } from '../../../console/src/destination/conflict';
import {
  creationOf,
  type Draft,
  draftOf,
  emptyDraft,
  patchOf,
  previewOf,
  problemsOf,
} from '../../../console/src/destination/draft';
import { effectiveDelays } from '../../../console/src/destination/plan-draft';
import { kindOf, withKind } from '../../../console/src/destination/signature-draft';
import { type WebhookDraft, withoutLost } from '../../../console/src/destination/webhook-draft';
import { destinationBody } from '../../../shared/api/destinations';
import { type Deliveries } from '../../../shared/api/operations';
import { defined } from '../../../shared/collections/defined';
import { aDestinationView } from '../../support/factories';

/** The fields of a destination that say how its endpoint is called, in the console. */

const keep = { keep: true as const };
const oauth2 = {
  type: 'oauth2' as const,
  tokenUrl: 'https://login.example.com/token',
  clientId: 'waypost',
  clientSecret: keep,
  scope: 'events',
  audience: null,
  params: { resource: keep },
  clientAuth: 'body' as const,
};

const STORED = aDestinationView({
  webhooks: [
    {
      id: 'wh_1',
      url: 'https://example.com/hook',
      headers: { 'X-Team': keep },
      auth: oauth2,
      tls: { certificate: 'PEM', key: keep, ca: null, notAfter: '2027-01-01T00:00:00.000Z' },
      disabled: null,
    },
  ],
  signature: { xSignature: true, ed25519: true, custom: null },
  request: {
    method: null,
    format: null,
    body: '{"id": userId}',
    headers: { 'X-User': 'userId' },
    gzipAbove: 100,
  },
  retry: { delays: ['45s'], effectiveDelays: ['50s'], window: '1h', timeout: null, on: [404] },
  proxy: 'http://***@proxy.example.com:3128',
});

/** Changes the only webhook of the stored destination. */
function edited(
  change: (webhook: WebhookDraft) => Partial<WebhookDraft>,
  more: Partial<Draft> = {},
): Draft {
  const draft = draftOf(STORED);
  const [webhook] = draft.webhooks;
  return { ...draft, webhooks: [{ ...webhook!, ...change(webhook!) }], ...more };
}

const webhookIn = (draft: Draft) => patchOf(STORED, draft).webhooks?.[0];

test('a stored destination that is not edited has no problem and changes nothing', () => {
  expect([...problemsOf(draftOf(STORED))]).toEqual([]);
  expect(patchOf(STORED, draftOf(STORED))).toEqual({});
});

describe('a stored secret', () => {
  test('is kept unless the user enters another', () => {
    const moved = edited(() => ({ url: 'https://example.com/other' }));
    expect(webhookIn(moved)).toEqual({
      id: 'wh_1',
      url: 'https://example.com/other',
      headers: { 'X-Team': keep },
      auth: { ...oauth2, audience: undefined },
      tls: { certificate: 'PEM', key: keep },
    });
    const replaced = edited(({ auth }) => ({
      auth: { ...auth!, secret: { value: 'new', kept: true } },
    }));
    expect(webhookIn(replaced)?.auth).toMatchObject({
      clientSecret: 'new',
      params: { resource: keep },
    });
  });

  test.each<[string, Draft, string[]]>([
    [
      'the URL is another address (scheme, host or port)',
      edited(() => ({ url: 'https://example.com:8443/hook' })),
      ['headers/0', 'auth/params/0', 'auth/clientSecret', 'tls/key'],
    ],
    [
      'the token URL is another address (scheme, host or port)',
      edited(({ auth }) => ({ auth: { ...auth!, tokenUrl: 'https://else.example.com/token' } })),
      ['auth/params/0', 'auth/clientSecret', 'tls/key'],
    ],
    [
      'the proxy changes',
      edited(() => ({}), { proxy: 'socks5://proxy.example.com:1080' }),
      ['headers/0', 'auth/params/0', 'auth/clientSecret', 'tls/key'],
    ],
  ])('is asked for again if %s', (why, draft, fields) => {
    expect([...problemsOf(draft)]).toEqual(
      fields.map((field) => [`webhooks/0/${field}`, `Enter it again: ${why}`]),
    );
  });

  test('is given up with what is nothing without it, and the form says what', () => {
    const { webhooks, ...draft } = edited(({ headers, tls }) => ({
      url: 'https://example.com:8443/hook',
      headers: [...headers, { name: 'X-New', value: 'new', kept: false }],
      tls: { ...tls!, ca: 'CA' },
    }));
    const without = withoutLost(webhooks[0]!);
    expect(without.dropped).toEqual([
      'the header X-Team',
      'the authentication (OAuth2 client credentials)',
      'the client certificate and its key',
    ]);
    expect(withoutLost(without)).toBe(without);
    const after = { ...draft, webhooks: [without] };
    expect([...problemsOf(after)]).toEqual([]);
    expect(webhookIn(after)).toEqual({
      id: 'wh_1',
      url: 'https://example.com:8443/hook',
      headers: { 'X-New': 'new' },
      tls: { ca: 'CA' },
    });
  });

  test.each<[string, Draft, string[]]>([
    [
      'new secret of the authentication leaves its parameters',
      edited(({ auth }) => ({
        url: 'https://example.com:8443/hook',
        headers: [],
        auth: { ...auth!, secret: { value: 'new', kept: true } },
        tls: NO_TLS,
      })),
      ['the parameter resource of the token request'],
    ],
    [
      'another token URL leaves the headers where they are',
      edited(({ auth }) => ({
        auth: { ...auth!, tokenUrl: 'https://example.com:444/' },
        tls: NO_TLS,
      })),
      ['the authentication (OAuth2 client credentials)'],
    ],
    [
      'path at the same address loses nothing',
      edited(() => ({ url: 'https://example.com/b' })),
      [],
    ],
  ])('of what is given up: a %s', (_, { webhooks }, dropped) => {
    expect(withoutLost(webhooks[0]!).dropped ?? []).toEqual(dropped);
  });

  test('is not asked for again if only the login at the proxy changes', () => {
    const draft = edited(() => ({}), { proxy: 'http://user:pass@proxy.example.com:3128' });
    expect(problemsOf(draft).size).toBe(0);
    expect(patchOf(STORED, draft)).toEqual({ proxy: 'http://user:pass@proxy.example.com:3128' });
  });

  test('of another type of authentication is none of this type', () => {
    const draft = edited(({ auth }) => ({ auth: withType(auth, 'bearer') }));
    expect([...problemsOf(draft).keys()]).toEqual(['webhooks/0/auth/token', 'webhooks/0/tls/key']);
  });
});

describe('a new authentication', () => {
  const draftWith = (auth: WebhookDraft['auth']): Draft => ({
    ...emptyDraft(['src_1'], 'Webhooks'),
    webhooks: [
      {
        url: 'https://example.com/',
        headers: [],
        ...defined({ auth }),
      },
    ],
  });

  test.each([
    [
      'basic',
      ['username', 'password'],
      { username: 'u' },
      { type: 'basic', username: 'u', password: 's' },
    ],
    ['bearer', ['token'], {}, { type: 'bearer', token: 's' }],
    ['header', ['name', 'value'], { name: 'X-Key' }, { type: 'header', name: 'X-Key', value: 's' }],
    ['pagerduty', ['routingKey'], {}, { type: 'pagerduty', routingKey: 's' }],
    [
      'oauth2',
      ['tokenUrl', 'clientId', 'clientSecret'],
      { tokenUrl: 'https://login.example.com/', clientId: 'c', scope: 'a b' },
      {
        type: 'oauth2',
        tokenUrl: 'https://login.example.com/',
        clientId: 'c',
        clientSecret: 's',
        scope: 'a b',
        clientAuth: 'basic',
      },
    ],
  ] as const)(
    '%s needs its fields, and is sent as the API reads it',
    (type, needed, fields, sent) => {
      const empty = withType(undefined, type);
      expect([...problemsOf(draftWith(empty)).keys()]).toEqual(
        needed.map((field) => `webhooks/0/auth/${field}`),
      );
      const draft = draftWith({ ...empty, ...fields, secret: { value: 's', kept: false } });
      expect(problemsOf(draft).size).toBe(0);
      expect(creationOf(draft).webhooks[0]?.auth).toEqual(sent);
      expect(destinationBody.safeParse(creationOf(draft)).error).toBeUndefined();
    },
  );
});

describe('the settings of a request', () => {
  const request = draftOf(STORED).request;

  test.each<[string, Partial<Draft['request']>, object | null]>([
    ['a method', { method: 'PUT' }, { method: 'PUT' }],
    ['a format instead of the template', { format: 'slack' }, { format: 'slack', body: null }],
    ['a template', { body: '"text"' }, { body: '"text"' }],
    [
      'another header',
      { headers: [{ name: 'X-Type', expression: 'type' }] },
      { headers: { 'X-User': null, 'X-Type': 'type' } },
    ],
    ['no compression', { gzipAbove: '' }, { gzipAbove: null }],
    ['no header', { headers: [] }, { headers: null }],
    ['the default', { format: 'default', headers: [], gzipAbove: '' }, null],
  ])('%s is a merge patch of what was changed', (_, fields, patch) => {
    expect(patchOf(STORED, { ...draftOf(STORED), request: { ...request, ...fields } })).toEqual({
      request: patch,
    });
  });

  test('have problems by the names of the API', () => {
    const headers = [
      { name: 'Host', expression: 'userId' },
      { name: 'X-User', expression: '' },
    ];
    const draft = {
      ...draftOf(STORED),
      request: { ...request, body: ' ', headers, gzipAbove: '-1' },
    };
    expect([...problemsOf(draft).keys()]).toEqual([
      'request/body',
      'request/headers/0',
      'request/headers/1',
      'request/gzipAbove',
    ]);
  });

  test("are previewed with other headers' names, without settings that cannot be used yet", () => {
    const preview = previewOf(draftOf(STORED), true, 'evt_1');
    expect(preview).toMatchObject({
      destination: {
        request: { body: '{"id": userId}' },
        webhooks: [{ headers: { 'X-Team': keep } }],
      },
      event: 'evt_1',
    });
    const destination = destinationBody.partial().safeParse(preview.destination);
    expect(destination.error).toBeUndefined();
    const broken = edited(() => ({ url: 'nowhere' }));
    const body = previewOf(
      { ...broken, signature: withKind(broken.signature, 'other') },
      false,
      '',
    );
    expect(Object.keys(body.destination)).toEqual(['request']);
    expect(body.event).toBeUndefined();
  });
});

describe('the retry plan', () => {
  const plan = draftOf(STORED).retry;

  test.each<[string, Partial<Draft['retry']>, object | null]>([
    ['other delays', { delays: '30s, 5m' }, { delays: ['30s', '5m'] }],
    ['a timeout, and no window', { timeout: '20s', window: '' }, { timeout: '20s', window: null }],
    ['other statuses', { on: '404, 409' }, { on: [404, 409] }],
    ['nothing of its own', { delays: '', window: '', on: '' }, null],
  ])('with %s is a merge patch of what was changed', (_, fields, patch) => {
    expect(patchOf(STORED, { ...draftOf(STORED), retry: { ...plan, ...fields } })).toEqual({
      retry: patch,
    });
  });

  test('has problems by the names of the API', () => {
    const retry = { delays: '5m, soon', window: '73h', timeout: '31s', on: '200' };
    const fields = ['retry/delays', 'retry/window', 'retry/timeout', 'retry/on'];
    expect([...problemsOf({ ...draftOf(STORED), retry }).keys()]).toEqual(fields);
  });

  test('has the delays that the tiers of the installation can make', () => {
    expect(effectiveDelays('45s, 2h', ['10s', '1m', '5m', '30m'])).toEqual(['50s', '2h']);
    expect(effectiveDelays('45s, so', ['10s'])).toBeUndefined();
    expect(effectiveDelays('', ['10s'])).toEqual([]);
  });
});

test('signatures are chosen by the product whose receivers check them', () => {
  const before = draftOf(STORED).signature;
  const github = withKind(before, 'github');
  expect(kindOf(github)).toBe('github');
  expect(
    patchOf(STORED, { ...draftOf(STORED), signature: { ...github, xSignature: false } }),
  ).toEqual({
    signature: {
      xSignature: false,
      custom: {
        header: 'X-Hub-Signature-256',
        algorithm: 'sha256',
        encoding: 'hex',
        prefix: 'sha256=',
      },
    },
  });
  const other = withKind(github, 'other');
  expect([...problemsOf({ ...draftOf(STORED), signature: other }).keys()]).toEqual([
    'signature/custom/header',
  ]);
  expect(kindOf(withKind(other, 'none'))).toBe('none');
});

test('a conflict names the kind of an authentication, and shows no secret and no login', () => {
  const draft = edited(() => ({}), { proxy: 'http://user:planted@proxy.example.com:3128' });
  draft.webhooks[0]!.auth = {
    ...withType(undefined, 'bearer'),
    secret: { value: 'planted', kept: false },
  };
  const found = differences(DESTINATION_LABELS, {
    before: STORED,
    theirs: STORED,
    patch: patchOf(STORED, draft),
  });
  expect(found.map(({ field, mine }) => [field, mine])).toEqual([
    ['webhooks', 'https://example.com/hook (X-Team, bearer, tls)'],
    ['proxy', 'http://***@proxy.example.com:3128'],
  ]);
});

test('members of a batch are in the order of its array, each with its outcome there', () => {
  const delivery = (id: string, event: string | null, urls: object[]) =>
    ({ id, type: 'track', event, attempts: [{ urls }] }) as Deliveries['data'][number];
  const sent = (batch: string, index: number, outcome = 'delivered') => ({
    batch: { id: batch, size: 2, index },
    outcome,
  });
  const rows = [
    delivery('dlv_2', null, [
      sent('bat_0', 1, 'retry'),
      { ...sent('bat_1', 1, 'retry'), status: 503 },
    ]),
    delivery('dlv_1', 'Order', [sent('bat_1', 0)]),
    delivery('dlv_3', null, [{ outcome: 'delivered' }]),
  ];
  expect(membersOf('bat_1', rows)).toEqual([
    { delivery: 'dlv_1', title: 'track: Order', index: 0, outcome: 'delivered', status: undefined },
    { delivery: 'dlv_2', title: 'track', index: 1, outcome: 'retry', status: 503 },
  ]);
});
