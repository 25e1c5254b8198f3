import {
  verifyWebhook,
  type WebhookErrorCode,
  type WebhookRequest,
} from '../../../clients/node/src/webhook';
import { prepareSecrets, signHeaders, type SigningSecrets } from '../../../shared/model/sign';

/** Verifies requests that Waypost signed. */

const BODY = Buffer.from('{"version":1,"type":"track","event":"Ünïcode 😀"}');
const AT_S = 1_795_259_669;
const WHSEC = `whsec_${Buffer.from('0123456789abcdef0123456789abcdef').toString('base64')}`;

function signed(secrets: SigningSecrets, body: Buffer = BODY): Record<string, string> {
  const prepared = prepareSecrets(secrets);
  const list = signHeaders({
    id: 'dlv_1',
    timestampS: AT_S,
    body,
    secrets: prepared,
    nowMs: AT_S * 1000,
  });
  return Object.fromEntries(
    list.flatMap((name, i) => (i % 2 === 0 ? [[name.toLowerCase(), list[i + 1]!] as const] : [])),
  );
}

const good = signed({ current: 's3cret' });
const without = (...names: string[]) =>
  Object.fromEntries(Object.entries(good).filter(([name]) => !names.includes(name)));
const verify = (over: Partial<WebhookRequest> = {}) =>
  verifyWebhook({ headers: good, body: BODY, secret: 's3cret', now: AT_S * 1000, ...over });

test.each(['s3cret', 'gehëim-秘密', WHSEC, 'x'.repeat(300)])(
  'a request signed with %s, by either scheme',
  (secret) => {
    const headers = signed({ current: secret });
    expect(verify({ headers, secret })).toEqual({
      id: 'dlv_1',
      event: JSON.parse(BODY.toString()),
    });
    expect(verify({ headers, secret, scheme: 'x-signature' })).toEqual({
      event: JSON.parse(BODY.toString()),
    });
  },
);

test.each<[string, Partial<WebhookRequest>]>([
  ['a body that is text', { body: BODY.toString() }],
  ['a body of bytes', { body: new Uint8Array(BODY) }],
  ['headers of fetch', { headers: new Headers(good) }],
  [
    'headers in other letters',
    { headers: { ...good, 'Webhook-Signature': good['webhook-signature'] } },
  ],
  [
    'headers that are lists',
    { headers: { ...good, 'webhook-signature': [good['webhook-signature']!] } },
  ],
  ['one of two secrets', { secret: ['new', 's3cret'] }],
  ['the end of the tolerance', { now: (AT_S + 300) * 1000 }],
  ['a tolerance of its own', { now: (AT_S + 3_600) * 1000, toleranceS: 3_600 }],
  [
    'X-Signature alone, where any will do',
    { headers: without('webhook-signature'), scheme: 'any' },
  ],
  [
    'X-Signature in capitals',
    { headers: { 'x-signature': good['x-signature']!.toUpperCase() }, scheme: 'any' },
  ],
])('taken: %s', (_, over) => {
  expect(verify(over).event).toMatchObject({ type: 'track' });
});

test.each<[string, Partial<WebhookRequest>, WebhookErrorCode]>([
  ['another body', { body: `${BODY.toString()} ` }, 'bad_signature'],
  ['another secret', { secret: 'other' }, 'bad_signature'],
  ['another id', { headers: { ...good, 'webhook-id': 'dlv_2' } }, 'bad_signature'],
  [
    'another time',
    { headers: { ...good, 'webhook-timestamp': String(AT_S + 1) } },
    'bad_signature',
  ],
  [
    'a signature cut short',
    { headers: { ...good, 'webhook-signature': 'v1,AAAA' } },
    'bad_signature',
  ],
  [
    'a wrong one, where any will do',
    { headers: { ...good, 'webhook-signature': 'v1,A' }, scheme: 'any' },
    'bad_signature',
  ],
  ['too old', { now: (AT_S + 301) * 1000 }, 'too_old'],
  ['too new', { now: (AT_S - 301) * 1000 }, 'too_new'],
  ['no time', { headers: without('webhook-timestamp') }, 'no_timestamp'],
  ['no id', { headers: without('webhook-id') }, 'no_signature'],
  ['X-Signature alone', { headers: without('webhook-signature') }, 'no_signature'],
  [
    'no signature',
    { headers: without('webhook-signature', 'x-signature'), scheme: 'any' },
    'no_signature',
  ],
  ['X-Signature of another body', { body: '{}', scheme: 'x-signature' }, 'bad_signature'],
])('refused: %s', (_, over, code) => {
  expect(() => verify(over)).toThrow(expect.objectContaining({ name: 'WebhookError', code }));
});

test('in a rotation either secret verifies', () => {
  const headers = signed({ current: 'new', previous: 'old', overlapUntil: (AT_S + 1) * 1000 });
  for (const secret of ['new', 'old']) expect(verify({ headers, secret }).id).toBe('dlv_1');
  // X-Signature holds one signature: the receiver tries both secrets.
  expect(verify({ headers, secret: ['new', 'old'], scheme: 'x-signature' }).event).toBeDefined();
});

test('a signed body that is no event', () => {
  const body = Buffer.from('[]');
  expect(() => verify({ body, headers: signed({ current: 's3cret' }, body) })).toThrow(
    expect.objectContaining({ code: 'invalid_body' }),
  );
});

test.each<[string, Partial<WebhookRequest>]>([
  ['a parsed body', { body: JSON.parse(BODY.toString()) as string }],
  ['no secret', { secret: [] }],
  ['an empty secret', { secret: ['s3cret', ''] }],
  ['a tolerance that is not a number', { toleranceS: NaN, now: (AT_S + 1e9) * 1000 }],
  ['a tolerance without an end', { toleranceS: Infinity }],
  ['a tolerance below zero', { toleranceS: -1 }],
  ['a tolerance as text', { toleranceS: '300' as unknown as number }],
  ['a clock that is not a number', { now: NaN }],
])('called wrongly: %s', (_, over) => {
  expect(() => verify(over)).toThrow(TypeError);
});
