import { type Kind, KINDS, presetOf, withKind } from '../../../console/src/connect/kinds';
import { addressOf, markOf, STEPS, testedOf } from '../../../console/src/connect/steps';
import { creationOf, emptyDraft, problemsOf } from '../../../console/src/destination/draft';
import { hasPassed, whyNotPassed } from '../../../console/src/destination/test-advice';
import { type Test } from '../../../shared/api/operations';
import { blockNamed } from '../../support/doc-blocks';

describe('the steps', () => {
  const marks = (place: Omit<Parameters<typeof markOf>[1], 'isLive'>, isLive = false) =>
    STEPS.map((step) => markOf(step, { ...place, isLive }));

  test.each([
    [{ id: undefined, at: 'source', tested: undefined }, 'open open open open'],
    [{ id: undefined, at: 'endpoint', tested: undefined }, 'done open open open'],
    [{ id: 'dst_1', at: 'test', tested: undefined }, 'done done open open'],
    [{ id: 'dst_1', at: 'test', tested: 'passed' }, 'done done done open'],
    [{ id: 'dst_1', at: 'live', tested: 'failed' }, 'done done failed open'],
    // A test that was left out is not done.
    [{ id: 'dst_1', at: 'live', tested: undefined }, 'done done open open'],
  ] as const)('%j are %s', (place, expected) => {
    expect(marks(place).join(' ')).toBe(expected);
  });

  test('end with the last one done once the destination is enabled', () => {
    expect(marks({ id: 'dst_1', at: 'live', tested: 'passed' }, true).join(' ')).toBe(
      'done done done done',
    );
  });

  test('keep in the address how the test ended', () => {
    expect(addressOf('live', { id: 'dst_1', tested: 'failed' })).toBe(
      '/connect/dst_1/live?test=failed',
    );
    expect(addressOf('test', { id: 'dst_1', tested: undefined })).toBe('/connect/dst_1/test');
    expect(addressOf('source', { id: undefined, tested: undefined })).toBe('/connect');
    expect(addressOf('test', { id: undefined, tested: undefined })).toBeUndefined();
    expect(['passed', 'failed', 'maybe', null].map(testedOf)).toEqual([
      'passed',
      'failed',
      undefined,
      undefined,
    ]);
  });
});

describe('the cards', () => {
  const begun = emptyDraft(['src_1'], 'Webhooks');
  const typed = (url: string, name = 'Webhooks') => ({
    ...begun,
    name,
    sharedSecret: 'whsec_typed',
    webhooks: [{ url, headers: [] }],
  });

  test('fill a name and an address, and leave those that somebody has typed', () => {
    const paged = withKind(begun, 'webhook', 'pagerduty');
    expect(paged.name).toBe('PagerDuty');
    expect(paged.webhooks[0]?.url).toBe('https://events.pagerduty.com/v2/enqueue');
    const back = withKind(paged, 'pagerduty', 'webhook');
    expect(back).toEqual(begun);
    const kept = withKind(typed('https://a.example/', 'Mine'), 'webhook', 'slack');
    expect(kept).toMatchObject({
      name: 'Mine',
      sharedSecret: 'whsec_typed',
      webhooks: [{ url: 'https://a.example/' }],
    });
  });

  test('ask for the secrets that a kind needs', () => {
    const problems = (kind: Kind) => [...problemsOf(withKind(begun, 'webhook', kind)).keys()];
    expect(problems('slack')).toEqual(['webhooks/0/url']);
    expect(problems('pagerduty')).toEqual(['webhooks/0/auth/routingKey']);
    expect(problems('oauth2')).toEqual([
      'webhooks/0/url',
      'webhooks/0/auth/tokenUrl',
      'webhooks/0/auth/clientId',
      'webhooks/0/auth/clientSecret',
    ]);
  });

  test.each(KINDS.filter((kind) => kind !== 'webhook'))(
    'create of %s what its recipe creates, but for its names, its filter and its template',
    (kind) => {
      const recipe = blockNamed(`docs/guide/receivers/${kind}.md`, 'create');
      const option = (name: string) => new RegExp(`--${name} (\\S+)`).exec(recipe)?.[1];
      const made = creationOf(withKind(typed('https://a.example/'), 'webhook', kind));
      const { batch } = made;
      expect({
        format: made.request?.format,
        maxPerSecond: made.maxPerSecond?.toString(),
        batch: batch ? `${String(batch.maxEvents)},${String(batch.maxWait)}` : undefined,
        auth: made.webhooks[0]?.auth?.type,
      }).toEqual({
        format: option('format'),
        maxPerSecond: option('max-per-second'),
        batch: option('batch'),
        auth: /"type": "(\w+)"/.exec(recipe)?.[1],
      });
      expect(presetOf(kind).example ?? 'https://').toMatch(/^https:/);
    },
  );
});

describe('a test of an endpoint', () => {
  type Try = NonNullable<Test['attempt']>['urls'][number];
  const aTry = (fields: Partial<Try>): Try => ({
    url: 'whk_1',
    origin: 'https://a.example',
    outcome: 'rejected',
    durationMs: 1,
    destinationVersion: 1,
    ...fields,
  });
  const aTest = (...urls: Partial<Try>[]): Pick<Test, 'status' | 'reason' | 'attempt'> => ({
    status: urls.some(({ outcome }) => outcome === 'delivered') ? 'delivered' : 'dead',
    reason: 'rejected',
    attempt: {
      n: 1,
      at: '2026-01-01T00:00:00.000Z',
      durationMs: 1,
      outcome: 'rejected',
      urls: urls.map(aTry),
    },
  });
  const failed = (code: string, message = code): Partial<Try> => ({
    outcome: 'retry',
    error: { code, message },
  });
  const answered = (status: number): Partial<Try> => ({
    status,
    error: { code: 'status', message: `status ${status}` },
  });

  test.each([
    [answered(401), true, 'Why: HTTP 401.', 'the secret of this destination'],
    [answered(401), false, 'Why: HTTP 401.', 'was not signed'],
    [answered(302), true, 'Why: HTTP 302.', 'redirects'],
    [answered(404), true, 'Why: HTTP 404.', 'the path of the URL'],
    [answered(422), true, 'Why: HTTP 422.', 'refuses the content'],
    [answered(429), true, 'Why: HTTP 429.', 'asks for time'],
    [answered(500), true, 'Why: HTTP 500.', 'failed itself'],
    [failed('connection'), true, 'Why: the connection to it fails.', 'localhost'],
    [failed('dns'), true, 'Why: its host name is unknown.', 'spelled'],
    [failed('timeout'), true, 'Why: it does not answer in time.', 'before the timeout'],
    [
      failed('tls', 'tls: DEPTH_ZERO_SELF_SIGNED_CERT'),
      true,
      'Why: the certificate is self-signed.',
      'under TLS',
    ],
    [failed('token'), true, 'Why: the token endpoint gives no token.', 'client secret'],
  ])('that ended with %j (signed: %s) says %s … %s', (url, isSigned, why, advice) => {
    const sentences = whyNotPassed(aTest(url), isSigned);
    expect(sentences).toEqual([why, expect.stringContaining(advice)]);
    expect(hasPassed(aTest(url))).toBe(false);
  });

  test('has passed if every URL has accepted it', () => {
    const all = aTest({ outcome: 'delivered' }, { outcome: 'delivered' });
    expect([hasPassed(all), whyNotPassed(all)]).toEqual([true, []]);
    const some = aTest({ outcome: 'delivered' }, answered(500));
    expect(hasPassed(some)).toBe(false);
    expect(whyNotPassed(some)[0]).toBe('Why: HTTP 500.');
  });

  test('that was never made says why', () => {
    const held = { status: 'cancelled', reason: 'destination_disabled', attempt: null } as const;
    expect(whyNotPassed(held)).toEqual(['The destination was disabled']);
  });
});
