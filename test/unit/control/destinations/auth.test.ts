import { createEncryptor } from '../../../../shared/config/encryption';
import { mapSecrets } from '../../../../shared/model/secret-fields';
import { type Destination } from '../../../../shared/model/config';
import { makeCertificate } from '../../../support/certificate';
import { type ControlUnderTest, controlUnderTest, SECRET_KEY } from '../../../support/control';

/** Authentication, TLS settings and signatures of destinations, over HTTP. */

const URL_A = 'https://a.example.com/in';
const KEEP = { keep: true };
const OAUTH2 = {
  type: 'oauth2',
  tokenUrl: 'https://login.example.com/token?tenant=planted-tenant',
  clientId: 'waypost',
  clientSecret: 'planted-client',
  scope: 'hooks',
  audience: 'shop',
  params: { resource: 'planted-resource' },
};
/** The clock of control in these tests stands at the beginning of 2026. */
const notBefore = new Date('2025-06-01T00:00:00Z');
const PAIR = makeCertificate({ name: 'a client', notBefore });
const AUTHORITY = makeCertificate({ name: 'an authority', authority: true, notBefore });

let control: ControlUnderTest;
beforeEach(async () => {
  control = await controlUnderTest();
});

const bodyOf = (webhook: object, over: object = {}) => ({
  name: 'Hooks',
  type: 'webhooks',
  sources: [],
  webhooks: [{ url: URL_A, ...webhook }],
  ...over,
});
const post = (webhook: object, over: object = {}) =>
  control.call('post', '/destinations').send(bodyOf(webhook, over));
const patch = (id: string, body: object) => control.call('patch', `/destinations/${id}`).send(body);
const make = async (webhook: object, over: object = {}) => {
  const { status, body } = await post(webhook, over);
  expect({ status, errors: body.errors }).toEqual({ status: 201, errors: undefined });
  return body;
};
const problems = (body: { errors?: { pointer: string; detail: string }[] }) =>
  Object.fromEntries((body.errors ?? []).map(({ pointer, detail }) => [pointer, detail]));

function stored(id: string): Destination {
  const last = control.memory
    .compacted('config')
    .find((record) => record.key?.toString() === `destination:${id}`);
  return JSON.parse(last!.value!.toString()).data;
}
/** With its secrets in the clear. */
const opened = (id: string): Destination =>
  mapSecrets(
    stored(id),
    (sealed, field) => createEncryptor([SECRET_KEY]).decrypt(sealed, field).text ?? 'lost',
  );

describe('the authentication of a URL', () => {
  test.each([
    [
      { type: 'basic', username: 'shop', password: 'planted-1' },
      { type: 'basic', username: 'shop', password: KEEP },
    ],
    [
      { type: 'bearer', token: 'planted-2' },
      { type: 'bearer', token: KEEP },
    ],
    [
      { type: 'header', name: 'X-Api-Key', value: 'planted-3' },
      { type: 'header', name: 'X-Api-Key', value: KEEP },
    ],
    [OAUTH2, { ...OAUTH2, clientSecret: KEEP, params: { resource: KEEP }, clientAuth: 'basic' }],
    [
      { type: 'pagerduty', routingKey: 'planted-4' },
      { type: 'pagerduty', routingKey: KEEP },
    ],
  ])('%j is stored encrypted, and shown without its secret', async (auth, shown) => {
    const made = await make({ auth });
    expect(made.webhooks[0]).toMatchObject({ auth: shown, tls: null });
    const records = control.memory
      .records('config')
      .map(({ value, headers }) => `${value?.toString()} ${JSON.stringify(headers)}`);
    const all = [
      records.join(''),
      control.logged(),
      (await control.call('get', '/audit')).text,
    ].join('');
    expect(all).not.toMatch(/planted/);
    // Sent back as it was read, it keeps everything.
    const again = await patch(made.id, { webhooks: made.webhooks });
    expect(again.body.webhooks).toEqual(made.webhooks);
    const [secretBefore, secretAfter] = [auth, opened(made.id).webhooks[0]!.auth!].map(
      (each) =>
        Object.entries(each).find(([name]) =>
          ['password', 'token', 'value', 'clientSecret', 'routingKey'].includes(name),
        )![1],
    );
    expect(secretAfter).toBe(secretBefore);
  });

  test.each<[string, object, string, string]>([
    [
      'an unknown type',
      { type: 'digest' },
      '/auth/type',
      'must have a type: basic, bearer, header, oauth2, pagerduty',
    ],
    ['no password', { type: 'basic', username: 'a' }, '/auth/password', 'is required'],
    [
      'a colon in the user name',
      { type: 'basic', username: 'a:b', password: 'c' },
      '/auth/username',
      'must not contain a colon',
    ],
    [
      'a line break in the token',
      { type: 'bearer', token: 'a\r\nX: 1' },
      '/auth/token',
      'must be printable ASCII without spaces',
    ],
    [
      'a reserved header',
      { type: 'header', name: 'Host', value: 'a' },
      '/auth/name',
      'is controlled by the HTTP connection',
    ],
    [
      'a token URL with a user',
      { ...OAUTH2, tokenUrl: 'https://a:b@c/' },
      '/auth/tokenUrl',
      'must not contain a user name or password',
    ],
    [
      'a parameter with a setting',
      { ...OAUTH2, params: { scope: 'x' } },
      '/auth/params/scope',
      'is set by Waypost or by another field',
    ],
    [
      'nothing to keep',
      { type: 'bearer', token: KEEP },
      '/auth/token',
      'has no stored value to keep. Send the value',
    ],
    [
      'an unknown field',
      { type: 'bearer', token: 'a', scheme: 'x' },
      '/auth/scheme',
      'is not a known field',
    ],
  ])('%s is refused with the name of the field', async (_, auth, field, detail) => {
    const { status, body } = await post({ auth });
    expect(status).toBe(422);
    expect(problems(body)).toEqual({ [`#/webhooks/0${field}`]: detail });
    expect(JSON.stringify(body)).not.toMatch(/planted/);
  });

  test.each<[string, object, object]>([
    ['the URL', { url: 'https://b.example.com/in' }, {}],
    ['tokenUrl', {}, { tokenUrl: 'https://b.example.com/token' }],
  ])('a secret is not kept if the origin of %s changes', async (what, url, auth) => {
    const { id, webhooks } = await make({ auth: OAUTH2 });
    const moved = { ...webhooks[0], ...url, auth: { ...webhooks[0].auth, ...auth } };
    const { status, body } = await patch(id, { webhooks: [moved] });
    expect(status).toBe(422);
    const detail = `cannot be kept, because the origin of ${what} changes. Send the value`;
    expect(problems(body)).toEqual({
      '#/webhooks/0/auth/clientSecret': detail,
      '#/webhooks/0/auth/params/resource': detail,
    });
  });

  test('a changed proxy drops the secrets of authentication and client certificate', async () => {
    const { id, webhooks } = await make({
      auth: OAUTH2,
      tls: { certificate: PAIR.cert, key: PAIR.key },
    });
    const { status, body } = await patch(id, { proxy: 'http://proxy.example:3128', webhooks });
    expect(status).toBe(422);
    const detail = 'cannot be kept, because the proxy changes. Send the value';
    expect(problems(body)).toEqual(
      Object.fromEntries(
        ['auth/clientSecret', 'auth/params/resource', 'tls/key'].map((field) => [
          `#/webhooks/0/${field}`,
          detail,
        ]),
      ),
    );
    expect((await patch(id, { proxy: 'none' })).status).toBe(422);
    expect(await control.get(`/destinations/${id}`)).toMatchObject({
      proxy: null,
      version: 1,
    });
  });

  test('a secret is kept if only the path of the URL and of tokenUrl changes', async () => {
    const { id, webhooks } = await make({ auth: OAUTH2 });
    const auth = { ...webhooks[0].auth, tokenUrl: 'https://login.example.com/other', scope: null };
    const { status, body } = await patch(id, {
      webhooks: [{ ...webhooks[0], url: `${URL_A}/other`, auth }],
    });
    expect(status).toBe(200);
    expect(body.webhooks[0].auth).toEqual({ ...auth, scope: null });
  });

  test('only administrators see the path of tokenUrl and set an authentication', async () => {
    const { id } = await make({ auth: OAUTH2 });
    const asOperator = await control.as('operator');
    const { body } = await asOperator('get', `/destinations/${id}`);
    expect(body.webhooks[0].auth.tokenUrl).toBe('https://login.example.com');
    for (const change of [{ webhooks: [{ url: URL_A }] }, { signature: { xSignature: false } }]) {
      expect((await asOperator('patch', `/destinations/${id}`).send(change)).status).toBe(403);
    }
  });
});

describe('the TLS settings of a URL', () => {
  const tls = { certificate: PAIR.cert, key: PAIR.key, ca: AUTHORITY.cert };

  test('a certificate is shown with its end, and its key is kept encrypted', async () => {
    const made = await make({ tls });
    expect(made.webhooks[0].tls).toEqual({
      ...tls,
      key: KEEP,
      notAfter: expect.stringMatching(/^20.*Z$/),
    });
    const again = await patch(made.id, { webhooks: made.webhooks });
    expect(again.body.webhooks).toEqual(made.webhooks);
    expect(opened(made.id).webhooks[0]!.tls!.key).toBe(PAIR.key);
    const records = control.memory.records('config').map(({ value }) => value?.toString());
    expect(records.join('')).not.toContain('PRIVATE KEY');
    const moved = { ...made.webhooks[0], url: 'https://b.example.com/' };
    expect(problems((await patch(made.id, { webhooks: [moved] })).body)).toEqual({
      '#/webhooks/0/tls/key':
        'cannot be kept, because the origin of the URL changes. Send the value',
    });
  });

  test.each<[string, object, Record<string, string>]>([
    [
      'a certificate without a key',
      { certificate: PAIR.cert },
      { '/key': 'is required beside certificate' },
    ],
    [
      'a key without a certificate',
      { key: PAIR.key },
      { '/certificate': 'is required beside key' },
    ],
    [
      'another key',
      { certificate: PAIR.cert, key: AUTHORITY.key },
      { '/key': 'does not belong to the certificate' },
    ],
    [
      'texts',
      { certificate: 'a', key: 'b', ca: 'c' },
      {
        '/certificate': 'is not a certificate in PEM',
        '/key': 'is not a private key in PEM',
        '/ca': 'is not a certificate in PEM',
      },
    ],
    [
      'a key in the certificate',
      { certificate: PAIR.cert + PAIR.key, key: PAIR.key },
      { '/certificate': 'must not contain a private key. Send it as key' },
    ],
    [
      'a key with a passphrase',
      {
        certificate: PAIR.cert,
        key: '-----BEGIN ENCRYPTED PRIVATE KEY-----\nAA==\n-----END ENCRYPTED PRIVATE KEY-----\n',
      },
      { '/key': 'must have no passphrase. Decrypt it with openssl pkey' },
    ],
  ])('%s is refused with the name of the field', async (_, given, errors) => {
    const { status, body } = await post({ tls: given });
    expect(status).toBe(422);
    const named = Object.entries(errors).map(([field, detail]) => [
      `#/webhooks/0/tls${field}`,
      detail,
    ]);
    expect(problems(body)).toEqual(Object.fromEntries(named));
    expect(JSON.stringify(body)).not.toContain('BEGIN');
  });

  test('an expired certificate and one of the future are refused', async () => {
    for (const [dates, detail] of [
      [
        { notBefore: new Date('2025-01-01'), notAfter: new Date('2025-12-31T00:00:00Z') },
        'expired at 2025-12-31T00:00:00.000Z',
      ],
      [
        { notBefore: new Date('2027-01-01T00:00:00Z'), notAfter: new Date('2028-01-01') },
        'is not valid before 2027-01-01T00:00:00.000Z',
      ],
    ] as const) {
      const { cert, key } = makeCertificate(dates);
      const { body } = await post({ tls: { certificate: cert, key } });
      expect(problems(body)).toEqual({ '#/webhooks/0/tls/certificate': detail });
    }
  });

  test('TLS settings of a URL with http are refused', async () => {
    const { body } = await post({ url: 'http://a.example.com/', tls: { ca: AUTHORITY.cert } });
    expect(problems(body)).toEqual({ '#/webhooks/0/tls': 'needs a URL with https' });
  });
});

describe('the signatures of a destination', () => {
  const custom = {
    header: 'X-Hub-Signature-256',
    algorithm: 'sha256',
    encoding: 'hex',
    prefix: 'sha256=',
  };

  test('a signature setting is changed field by field, and null removes it', async () => {
    const made = await make({}, { sharedSecret: 'planted-secret', signature: { custom } });
    expect(made.signature).toEqual({ xSignature: true, ed25519: false, custom });
    expect(
      (await patch(made.id, { signature: { xSignature: false } })).body.signature,
    ).toMatchObject({
      xSignature: false,
      custom,
    });
    expect((await patch(made.id, { name: 'Other' })).body.signature).toMatchObject({
      xSignature: false,
      custom,
    });
    expect((await patch(made.id, { signature: { custom: null } })).body.signature).toMatchObject({
      custom: null,
    });
    expect((await patch(made.id, { signature: null })).body.signature).toBeNull();
  });

  test.each<[string, object, object, string, string]>([
    [
      'without a shared secret',
      { sharedSecret: undefined },
      custom,
      '',
      'needs a shared secret. Set sharedSecret too',
    ],
    [
      'with a static header of its name',
      { webhooks: [{ url: URL_A, headers: { 'x-hub-signature-256': 'a' } }] },
      custom,
      '/header',
      'is already a header of a webhook',
    ],
    [
      'beside X-Signature',
      {},
      { ...custom, header: 'x-signature' },
      '/header',
      'is set by Waypost itself. Set xSignature to false first',
    ],
    [
      'with the name of a header of Waypost',
      {},
      { ...custom, header: 'webhook-id' },
      '/header',
      'is set by Waypost itself',
    ],
    [
      'of an unknown algorithm',
      {},
      { ...custom, algorithm: 'md5' },
      '/algorithm',
      'must be "sha1" or "sha256" or "sha512"',
    ],
  ])('a custom signature %s is refused', async (_, over, given, field, detail) => {
    const { status, body } = await post(
      {},
      { sharedSecret: 'planted-secret', signature: { custom: given }, ...over },
    );
    expect(status).toBe(422);
    expect(problems(body)).toEqual({ [`#/signature/custom${field}`]: detail });
  });

  test('a custom signature may take the place of X-Signature', async () => {
    const signature = { xSignature: false, custom: { ...custom, header: 'X-Signature' } };
    await make({}, { sharedSecret: 'planted-secret', signature });
  });

  test('public keys are shown without a token, and rotated with an overlap', async () => {
    const { id } = await make({}, { signature: { ed25519: true } });
    const anonymous = () =>
      control.call('get', `/destinations/${id}/public-keys`).set('Authorization', '');
    const first = (await anonymous()).body;
    expect(first).toEqual({
      data: [
        {
          key: expect.stringMatching(/^whpk_.{43}=$/),
          createdAt: '2026-01-01T00:00:00.000Z',
          until: null,
        },
      ],
    });
    expect(JSON.stringify(stored(id))).not.toContain('whsk_');
    expect(opened(id).signature!.ed25519!.current.privateKey).toMatch(/^whsk_/);

    const rotate = (body: object) =>
      control.call('post', `/destinations/${id}/rotate-secret`).send({ key: 'ed25519', ...body });
    expect((await rotate({ overlap: '1h' })).body).not.toHaveProperty('sharedSecret');
    expect((await anonymous()).body.data).toEqual([
      {
        key: expect.not.stringContaining(first.data[0].key),
        createdAt: expect.any(String),
        until: null,
      },
      { ...first.data[0], until: '2026-01-01T01:00:00.000Z' },
    ]);
    expect((await rotate({ overlap: '1h' })).status).toBe(409);
    expect(problems((await rotate({ sharedSecret: 'a new secret' })).body)).toEqual({
      '#/sharedSecret': 'belongs to the shared secret, not to the Ed25519 key',
    });
    expect((await rotate({ overlap: '0s' })).status).toBe(200);
    expect((await anonymous()).body.data).toHaveLength(1);

    expect((await patch(id, { signature: { ed25519: false } })).status).toBe(200);
    expect((await anonymous()).status).toBe(404);
    // A caller without a token must not learn which destinations exist.
    const details = [id, 'dst_none', 'alerts'].map(async (each) => {
      const { status, body } = await control
        .call('get', `/destinations/${each}/public-keys`)
        .set('Authorization', '');
      return [status, body.detail];
    });
    expect(new Set((await Promise.all(details)).map(String)).size).toBe(1);
    expect((await rotate({})).status).toBe(409);
    expect(
      (await control.call('get', '/destinations/dst_none/public-keys').set('Authorization', ''))
        .status,
    ).toBe(404);
  });
});
