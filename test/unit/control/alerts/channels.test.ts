import { channelsOf } from '../../../../services/control/alerts/channels';
import { sampleNotice } from '../../../../services/control/alerts/notice';
import { blankAlerts } from '../../../../services/control/alerts/settings';
import { createEncryptor } from '../../../../shared/config/encryption';
import { ALERTS_ID, type AlertFormat, DEFAULT_ALERTS } from '../../../../shared/model/config';
import { secretFields } from '../../../../shared/model/secret-fields';
import { urlHash } from '../../../../shared/model/delivery';

const encryptor = createEncryptor([Buffer.alloc(32)]);
const NOW = Date.parse('2026-11-24T12:00:00.000Z');

/** Returns the channels of alerts to these URLs, one of each format, and to these addresses. */
const channelsTo = (formats: readonly AlertFormat[], email: string[] = []) =>
  channelsOf(
    {
      ...blankAlerts(new Date(NOW)),
      webhooks: formats.map((format, i) => {
        const id = `whk_${String(i)}`;
        const field = secretFields.url(ALERTS_ID, id);
        const url = encryptor.encrypt(`https://ops.example/${String(i)}`, field);
        return { id, url, origin: 'https://ops.example', headers: {} };
      }),
      alerts: {
        ...DEFAULT_ALERTS,
        email,
        formats: Object.fromEntries(formats.map((format, i) => [`whk_${String(i)}`, format])),
      },
    },
    encryptor,
  );

test('URLs of one format share a delivery, which does not go to the other endpoints', () => {
  const channels = channelsTo(['slack', 'default', 'slack'], ['ops@example.com']);
  expect(
    channels.map(({ name, endpoints, excludedUrls }) => [name, endpoints, excludedUrls.length]),
  ).toEqual([
    ['slack', 2, 2],
    ['default', 1, 3],
    ['mailto:ops@example.com', 1, 3],
  ]);
  expect(channels[2]?.excludedUrls).toEqual(
    [0, 2, 1].sort().map((i) => urlHash(`whk_${String(i)}`, `https://ops.example/${String(i)}`)),
  );
});

test('each mailbox has a delivery of its own', () => {
  expect(
    channelsTo([], ['a@example.com', 'b@example.com']).map(({ excludedUrls }) => excludedUrls),
  ).toEqual([
    [urlHash('mailto:b@example.com', 'mailto:b@example.com')],
    [urlHash('mailto:a@example.com', 'mailto:a@example.com')],
  ]);
});

const notice = { ...sampleNotice(NOW), name: 'Shop <!channel>', failures: 3, error: 'HTTP 503' };
const bodyOf = (format: AlertFormat, change: Partial<typeof notice> = {}) =>
  JSON.parse(JSON.stringify(channelsTo([format])[0]?.body({ ...notice, ...change }))) as Record<
    string,
    unknown
  >;

test('the default body has type, timestamp and data', () => {
  expect(bodyOf('default')).toMatchObject({
    type: 'destination.failing',
    data: { destination: 'dst_test', failures: 3 },
  });
});

test('Slack gets a title without control sequences, and the facts as fields', () => {
  const body = bodyOf('slack');
  expect(body.text).toBe('Webhooks to Shop &lt;!channel&gt; fail');
  expect(JSON.stringify(body.blocks)).toContain('*Last error*\\nHTTP 503');
});

test('Discord notifies nobody, and Teams gets an Adaptive Card', () => {
  expect(bodyOf('discord')).toMatchObject({
    content: 'Webhooks to Shop <!channel> fail',
    allowed_mentions: { parse: [] },
  });
  expect(bodyOf('teams')).toMatchObject({
    type: 'message',
    attachments: [
      { contentType: 'application/vnd.microsoft.card.adaptive', content: { type: 'AdaptiveCard' } },
    ],
  });
});

test('PagerDuty resolves with a recovery the incident that the failure triggered', () => {
  const failing = bodyOf('pagerduty');
  const recovered = bodyOf('pagerduty', { kind: 'recovered', endedAt: NOW });
  expect([failing.event_action, recovered.event_action]).toEqual(['trigger', 'resolve']);
  expect(recovered.dedup_key).toBe(failing.dedup_key);
});

test("PagerDuty resolves a failing destination's incident once it is off or deleted", () => {
  const closed = bodyOf('pagerduty', { endedAt: NOW, closed: true });
  expect([closed.event_action, closed.dedup_key]).toEqual([
    'resolve',
    bodyOf('pagerduty').dedup_key,
  ]);
  expect(closed.payload).toMatchObject({
    severity: 'info',
    summary: 'Shop <!channel> was switched off or deleted',
  });
});

test.each(['certificate_expiring', 'filter_costly', 'profile_full'] as const)(
  'PagerDuty triggers a warning of the kind %s, and resolves it with the same notice',
  (kind) => {
    const begun = bodyOf('pagerduty', { kind });
    const over = bodyOf('pagerduty', { kind, endedAt: NOW });
    expect([begun.event_action, over.event_action]).toEqual(['trigger', 'resolve']);
    expect([begun.payload, over.payload]).toMatchObject([
      { severity: 'warning' },
      { severity: 'info' },
    ]);
    expect(over.dedup_key).toBe(begun.dedup_key);
    // It must not resolve the incident of a failing destination.
    expect(over.dedup_key).not.toBe(bodyOf('pagerduty').dedup_key);
    const title = bodyOf('slack', { kind, endedAt: NOW }).text;
    expect(title).not.toBe(bodyOf('slack', { kind }).text);
  },
);

test('a certificate shows its end, and a partial delivery its number', () => {
  const certificate = JSON.stringify(
    bodyOf('slack', { kind: 'certificate_expiring', expiresAt: NOW, error: 'it ends' }),
  );
  expect(certificate).toContain('*Expires*\\n2026-11-24T12:00:00.000Z');
  expect(certificate).toContain('*Cause*\\nit ends');
  const partly = bodyOf('pagerduty', { kind: 'partly_delivered', partlyDelivered: 7, failures: 0 });
  expect(partly).toMatchObject({ event_action: 'trigger', payload: { severity: 'warning' } });
  expect(JSON.stringify(partly)).toContain('"partlyDelivered":7');
});

test('a mail has a subject of one line and the facts as text', () => {
  const [channel] = channelsTo([], ['ops@example.com']);
  expect(channel?.body({ ...notice, name: 'Shop\nBcc: x' })).toEqual({
    subject: '[Waypost] Webhooks to Shop Bcc: x fail',
    text: expect.stringContaining('Failed attempts: 3') as string,
  });
});
