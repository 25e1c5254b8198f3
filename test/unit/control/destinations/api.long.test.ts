import { type OutRecord } from '../../../../shared/kafka/port';
import { createAuthenticator } from '../../../../shared/config/authentication';
import { createEncryptor } from '../../../../shared/config/encryption';
import { mapSecrets } from '../../../../shared/model/secret-fields';
import { type Destination } from '../../../../shared/model/config';
import { type ControlUnderTest, controlUnderTest, SECRET_KEY } from '../../../support/control';

/** Must not appear in any response, log or record. */
const PLANTED = /planted-(secret|header|other)/;

let control: ControlUnderTest;
let source: string;
beforeEach(async () => {
  control = await controlUnderTest();
  source = (await control.call('post', '/sources').send({ name: 'Site' })).body.id;
});

const aBody = (over: object = {}) => ({
  name: 'Hooks',
  type: 'webhooks',
  sources: [source],
  webhooks: [
    {
      url: 'https://a.example.com/in?token=t',
      headers: { Authorization: 'Bearer planted-header' },
    },
  ],
  sharedSecret: 'planted-secret',
  ...over,
});
const make = async (over: object = {}) =>
  (await control.call('post', '/destinations').send(aBody(over))).body;
const patch = (id: string, body: object) => control.call('patch', `/destinations/${id}`).send(body);
const problems = (body: { errors: { pointer: string; detail: string }[] }) =>
  Object.fromEntries(body.errors.map(({ pointer, detail }) => [pointer, detail]));

/** Returns the destination as delivery reads it from `config`. */
function stored(id: string) {
  const last = control.memory
    .compacted('config')
    .find((record) => record.key?.toString() === `destination:${id}`);
  const destination = JSON.parse(last!.value!.toString()).data as Destination;
  const encryptor = createEncryptor([SECRET_KEY]);
  const opened = mapSecrets(
    destination,
    (sealed, field) => encryptor.decrypt(sealed, field).text ?? 'lost',
  );
  return {
    destination,
    secrets: { current: opened.secrets?.current, previous: opened.secrets?.previous },
    webhooks: opened.webhooks.map(({ id, url, origin, headers }) => ({ id, url, origin, headers })),
  };
}

describe('a destination', () => {
  test('a destination is created off and shows no secret', async () => {
    const answer = await control.call('post', '/destinations').send(aBody());
    expect(answer.status).toBe(201);
    expect(answer.headers.etag).toBe('"1"');
    expect(answer.body).toEqual({
      id: expect.stringMatching(/^dst_/),
      name: 'Hooks',
      type: 'webhooks',
      enabled: false,
      paused: false,
      sources: [source],
      webhooks: [
        {
          id: expect.stringMatching(/^whk_/),
          url: 'https://a.example.com/in?token=t',
          headers: { Authorization: { keep: true } },
          auth: null,
          tls: null,
          disabled: null,
        },
      ],
      signature: null,
      filter: null,
      hasSharedSecret: true,
      secretRotation: null,
      types: null,
      maxPerSecond: null,
      shards: 4,
      batch: null,
      switchOffAfter: null,
      retry: null,
      proxy: null,
      request: null,
      version: 1,
      createdAt: '2026-01-01T00:00:00.000Z',
      updatedAt: '2026-01-01T00:00:00.000Z',
    });
    expect(stored(answer.body.id)).toMatchObject({
      secrets: { current: 'planted-secret' },
      webhooks: [
        { origin: 'https://a.example.com', headers: { Authorization: 'Bearer planted-header' } },
      ],
    });
  });

  test('the request of a destination is stored, merged and removed', async () => {
    const request = {
      method: 'PUT',
      body: '{"id": messageId}',
      headers: { 'X-User': 'userId', 'X-Type': 'type' },
    };
    const { id, request: shown } = await make({ request });
    expect(shown).toEqual({ ...request, format: null, gzipAbove: null });
    expect(stored(id).destination.request).toEqual(request);
    const merged = await patch(id, { request: { gzipAbove: 1_000, headers: { 'X-Type': null } } });
    expect(merged.body.request).toEqual({
      ...shown,
      gzipAbove: 1_000,
      headers: { 'X-User': 'userId' },
    });
    const other = await patch(id, { request: { body: null, format: 'slack' } });
    expect(other.body.request).toMatchObject({ body: null, format: 'slack', method: 'PUT' });
    expect((await patch(id, { paused: true })).body.request).toMatchObject({ format: 'slack' });
    expect((await patch(id, { request: null })).body.request).toBeNull();
    expect(stored(id).destination).not.toHaveProperty('request');
  });

  test.each([
    [{ method: 'GET' }, '#/request/method', 'must be "POST" or "PUT" or "PATCH"'],
    [{ format: 'xml' }, '#/request/format', /^must be "default" or "thin"/],
    [{ format: 'slack', body: '{"a": 1}' }, '#/request/format', /^cannot be combined with body/],
    [
      { body: '{"a": propertis.total}' },
      '#/request/body',
      /^line 1, column 7: Unknown name "propertis"/,
    ],
    [{ body: 'properties.total > 3' }, '#/request/body', /must be a map, a list or text/],
    [{ body: `"${'a'.repeat(2_000)}"` }, '#/request/body', /longer than 2000 characters/],
    [{ headers: { 'X-User': 'userid' } }, '#/request/headers/X-User', /Unknown name "userid"/],
    [{ headers: { 'X-User': '1' } }, '#/request/headers/X-User', /must be text/],
    [
      { headers: { 'Webhook-Id': 'userId' } },
      '#/request/headers/Webhook-Id',
      'is set by Waypost itself',
    ],
    [
      { headers: { 'Content-Length': 'userId' } },
      '#/request/headers/Content-Length',
      /HTTP connection/,
    ],
    [{ headers: { 'X-A': 'type', 'x-a': 'type' } }, '#/request/headers/x-a', 'is given twice'],
    [
      { headers: { 'content-type': '"a"', 'Content-Type': '"b"' } },
      '#/request/headers/Content-Type',
      'is given twice',
    ],
    [
      { headers: { authorization: 'userId' } },
      '#/request/headers/authorization',
      /is also a header of a webhook/,
    ],
    [{ gzipAbove: -1 }, '#/request/gzipAbove', 'must be at least 0'],
    [{ url: 'https://a.example.com' }, '#/request/url', 'is not a known field'],
  ])('the request %j is refused, and nothing is stored', async (request, field, detail) => {
    const refused = await control.call('post', '/destinations').send(aBody({ request }));
    expect([refused.status, problems(refused.body)]).toEqual([
      422,
      { [field]: typeof detail === 'string' ? detail : expect.stringMatching(detail) },
    ]);
    const { id } = await make();
    expect((await patch(id, { request })).status).toBe(422);
    expect(stored(id).destination).not.toHaveProperty('request');
  });

  test('a static header is refused if a rendered header has its name', async () => {
    const { id } = await make({ request: { headers: { 'X-User': 'userId' } } });
    const webhooks = [{ url: 'https://a.example.com/', headers: { 'x-user': 'me' } }];
    expect((await patch(id, { webhooks })).status).toBe(422);
    expect((await patch(id, { webhooks, request: { headers: { 'X-User': null } } })).status).toBe(
      200,
    );
  });

  test('no response, log or record contains a secret of a destination', async () => {
    const { id } = await make();
    const answers = [
      await control.call('get', '/destinations'),
      await control.call('get', `/destinations/${id}`),
      await patch(id, { sharedSecret: 'planted-other' }),
      await patch(id, { sharedSecret: 'planted-secret', name: 7 }),
      await patch(id, {
        webhooks: [
          {
            url: 'ftp://x/planted-other',
            headers: { Host: 'planted-header', 'X-A': 'planted-other\r\n' },
          },
        ],
      }),
      await control
        .call('post', `/destinations/${id}/rotate-secret`)
        .send({ sharedSecret: 'planted-secret2' }),
      await control
        .call('post', `/destinations/${id}/rotate-secret`)
        .send({ sharedSecret: ['planted-secret'] }),
      await control
        .call('post', '/destinations')
        .type('json')
        .send('{"sharedSecret":"planted-secret" "'),
      await control.call('delete', `/destinations/${id}`),
    ];
    expect(answers.map((answer) => answer.status)).toEqual([
      200, 200, 200, 422, 422, 200, 422, 400, 204,
    ]);
    const records = control.memory
      .records('config')
      .map((record) => record.value?.toString() ?? '');
    const everything = [...answers.map((answer) => answer.text), control.logged(), ...records].join(
      '\n',
    );
    expect(everything).not.toMatch(PLANTED);
    expect(everything).not.toContain(SECRET_KEY.toString('base64'));
    expect(records.join('')).not.toContain('token=t');
  });

  test('a destination accepts every setting', async () => {
    const set = {
      enabled: true,
      paused: true,
      types: ['track', 'identify', 'track'],
      maxPerSecond: 12.5,
      shards: 8,
      batch: { maxEvents: 50, maxBytes: 500_000, maxWait: '250ms' },
      switchOffAfter: '5d',
    };
    expect(await make(set)).toMatchObject({ ...set, types: ['track', 'identify'] });
  });
});

describe('bad fields', () => {
  test('POST names every bad field', async () => {
    const answer = await control.call('post', '/destinations').send({
      type: 'webhook',
      sources: [source, 'src_none', 5],
      webhooks: [
        {
          url: 'ftp://a.example.com/',
          headers: { 'Content-Length': '5', 'X-Ok': 'a\r\nEvil: 1', 'bad name': 'x' },
        },
        { url: 5, headers: [], method: 'GET' },
        {
          id: 'whk_mine',
          url: 'https://a.example.com/#x',
          headers: { 'X-A': { keep: true }, 'X-B': 5 },
        },
      ],
      sharedSecret: '',
      types: ['click'],
      maxPerSecond: 0,
      shards: 1.5,
      batch: { maxEvents: 1, maxBytes: 5_000_001, maxWait: '61s', size: 5 },
      switchOffAfter: '91d',
      enabled: 'yes',
      secret: 'x',
    });
    expect(answer.status).toBe(422);
    expect(problems(answer.body)).toEqual({
      '#/name': 'is required',
      '#/type': 'must be "webhooks"',
      '#/sources/1': 'unknown source "src_none"',
      '#/sources/2': 'must be a string',
      '#/webhooks/0/url': 'must start with http:// or https://',
      '#/webhooks/0/headers/Content-Length': expect.stringContaining('connection'),
      '#/webhooks/0/headers/X-Ok': expect.stringContaining('printable ASCII'),
      '#/webhooks/0/headers/bad%20name': 'is not a valid header name',
      '#/webhooks/1/url': 'must be a string',
      '#/webhooks/1/headers': 'must be an object',
      '#/webhooks/1/method': 'is not a known field',
      '#/webhooks/2/id': expect.stringContaining('leave it out'),
      '#/webhooks/2/url': expect.stringContaining('fragment'),
      '#/webhooks/2/headers/X-A': expect.stringContaining('no stored value'),
      '#/webhooks/2/headers/X-B': 'must have a string value',
      '#/sharedSecret': 'must not be empty',
      '#/types/0': expect.stringContaining('"track"'),
      '#/maxPerSecond': 'must be at least 0.1',
      '#/shards': 'must be a whole number',
      '#/batch/maxEvents': 'must be at least 2',
      '#/batch/maxBytes': 'must be at most 5000000',
      '#/batch/maxWait': expect.stringContaining('at least 100ms, at most 1m'),
      '#/batch/size': 'is not a known field',
      '#/switchOffAfter': 'must be a duration such as 0s, 10s, 30m, 24h, 7d, at most 90d',
      '#/enabled': 'must be true or false',
      '#/secret': 'is not a known field',
    });
  });

  test.each([
    [
      'six URLs',
      { webhooks: Array.from({ length: 6 }, (_, i) => ({ url: `https://a.example.com/${i}` })) },
      '#/webhooks',
    ],
    ['user info', { webhooks: [{ url: 'https://u:p@a.example.com/' }] }, '#/webhooks/0/url'],
    [
      'a header that Waypost sets itself',
      { webhooks: [{ url: 'https://a/', headers: { 'X-Signature': 'x' } }] },
      '#/webhooks/0/headers/X-Signature',
    ],
    ['a secret of a wrong type', { sharedSecret: [] }, '#/sharedSecret'],
    ['a whsec_ secret that is not base64', { sharedSecret: 'whsec_!' }, '#/sharedSecret'],
    ['a secret of seven bytes', { sharedSecret: '1234567' }, '#/sharedSecret'],
    ['a whsec_ secret of one byte', { sharedSecret: 'whsec_ab' }, '#/sharedSecret'],
    ['half a surrogate pair in the secret', { sharedSecret: 'abc\ud800' }, '#/sharedSecret'],
    ['an empty list of types', { types: [] }, '#/types'],
    ['batches of texts', { batch: {}, request: { body: '"user " + userId' } }, '#/batch'],
    ['null as sources', { sources: null }, '#/sources'],
  ])('POST refuses %s', async (_, over, pointer) => {
    const answer = await control.call('post', '/destinations').send(aBody(over));
    expect(answer.status).toBe(422);
    expect(answer.body.errors.map((error: { pointer: string }) => error.pointer)).toEqual([
      pointer,
    ]);
  });

  test.each(['slack', 'teams', 'discord', 'pagerduty', 'cloudevents-binary'])(
    'POST refuses batches in the format %s',
    async (format) => {
      const answer = await control
        .call('post', '/destinations')
        .send(aBody({ batch: {}, request: { format } }));
      expect([answer.status, Object.keys(problems(answer.body))]).toEqual([422, ['#/batch']]);
    },
  );

  const URL_X = 'https://a.example.com/in';
  const CUSTOM = { algorithm: 'sha256', encoding: 'hex' };
  test.each<[string, object, string, RegExp]>([
    [
      'batches beside the authentication pagerduty',
      { batch: {}, webhooks: [{ url: URL_X, auth: { type: 'pagerduty', routingKey: 'k' } }] },
      '#/batch',
      /authentication pagerduty/,
    ],
    ...(
      [
        ['a list', '[message]', 'a list'],
        ['text', '"user " + userId', 'text'],
      ] as const
    ).map(([what, body, named]): [string, object, string, RegExp] => [
      `the authentication pagerduty beside a body that is ${what}`,
      {
        webhooks: [{ url: URL_X, auth: { type: 'pagerduty', routingKey: 'k' } }],
        request: { body },
      },
      '#/request/body',
      new RegExp(`^is ${named}, but .* Yield a map, such as \\{"event_action": "trigger", .*\\}`),
    ]),
    ['no URL', { webhooks: [] }, '#/webhooks', /^must not be empty$/],
    [
      'a format beside a body',
      { request: { format: 'thin', body: '{"a": 1}' } },
      '#/request/format',
      /with body/,
    ],
    [
      'an authentication beside a static header of its name',
      {
        webhooks: [
          {
            url: URL_X,
            auth: { type: 'header', name: 'x-key', value: 'v' },
            headers: { 'X-Key': 'w' },
          },
        ],
      },
      '#/webhooks/0/auth',
      /also in headers/,
    ],
    [
      'an authentication beside a rendered header of its name',
      {
        webhooks: [{ url: URL_X, auth: { type: 'basic', username: 'a', password: 'b' } }],
        request: { headers: { AUTHORIZATION: 'userId' } },
      },
      '#/request/headers/AUTHORIZATION',
      /also a header of a webhook/,
    ],
    [
      'a custom signature beside a rendered header of its name',
      {
        signature: { custom: { ...CUSTOM, header: 'X-Sign' } },
        request: { headers: { 'x-sign': 'userId' } },
      },
      '#/request/headers/x-sign',
      /of the signature/,
    ],
    [
      'a custom signature beside an authentication of its name',
      {
        signature: { custom: { ...CUSTOM, header: 'Authorization' } },
        webhooks: [{ url: URL_X, auth: { type: 'bearer', token: 't' } }],
      },
      '#/signature/custom/header',
      /already a header of a webhook/,
    ],
    [
      'a delay below half of the shortest tier',
      { retry: { delays: ['4999ms'] } },
      '#/retry/delays/0',
      /at least 5000 ms/,
    ],
  ])('POST refuses %s, and names the field and the remedy', async (_, over, at, detail) => {
    const answer = await control.call('post', '/destinations').send(aBody(over));
    expect([answer.status, problems(answer.body)]).toEqual([
      422,
      { [at]: expect.stringMatching(detail) },
    ]);
    expect((await control.get('/destinations')).data).toEqual([]);
  });

  test.each<[string, string, object, string[]]>([
    ['webhooks', 'patch', { webhooks: [{ url: URL_X }] }, ['admin']],
    ['sharedSecret', 'patch', { sharedSecret: 'another secret' }, ['admin']],
    ['signature', 'patch', { signature: { xSignature: false } }, ['admin']],
    ['proxy', 'patch', { proxy: 'none' }, ['admin']],
    ['request', 'patch', { request: { format: 'thin' } }, ['admin', 'operator']],
    ['batch', 'patch', { batch: { maxEvents: 5 } }, ['admin', 'operator']],
    ['retry', 'patch', { retry: { timeout: '9s' } }, ['admin', 'operator']],
    [
      'a preview',
      'post',
      { destination: { request: { format: 'thin' } } },
      ['admin', 'operator', 'read_only'],
    ],
    ['the health', 'get', {}, ['admin', 'operator', 'read_only']],
    ['the list', 'get', {}, ['admin', 'operator', 'read_only']],
  ])('%s: only these roles may %s it', async (what, method, body, roles) => {
    // Without stored header values, which a change of the proxy would have to send again.
    const { id } = await make({ webhooks: [{ url: URL_X }] });
    const paths: Record<string, string> = {
      'a preview': '/preview',
      'the health': `/${id}/health`,
      'the list': '',
    };
    const path = `/destinations${paths[what] ?? `/${id}`}`;
    for (const role of ['admin', 'operator', 'read_only'] as const) {
      const call = (await control.as(role))(method as 'get', path);
      const { status } = await (method === 'get' ? call : call.send(body));
      // The health needs the history, which this system has not.
      expect([role, status === 503 ? 200 : status]).toEqual([
        role,
        roles.includes(role) ? 200 : 403,
      ]);
    }
  });

  test('a preview of a message keeps the digits of its numbers', async () => {
    const body =
      '{"destination":{"request":{"format":"default"}},"message":{"properties":{"id":7615917337495251231}}}';
    const answer = await control.call('post', '/destinations/preview').type('json').send(body);
    expect([answer.status, (answer.body as { body: string }).body]).toEqual([
      200,
      expect.stringContaining('"properties":{"id":7615917337495251231}'),
    ]);
  });

  const RESERVED = [
    'webhook-id',
    'webhook-timestamp',
    'webhook-signature',
    'content-type',
    'content-length',
    'X-Signature',
    'traceparent',
    'Waypost-Deliveries',
    'host',
  ];
  test.each(RESERVED)(
    'POST refuses the reserved header %s for an authentication, a signature and static headers',
    async (name) => {
      const auth = { type: 'header', name, value: 'v' };
      for (const [over, at] of [
        [{ webhooks: [{ url: URL_X, auth }] }, '#/webhooks/0/auth/name'],
        [{ webhooks: [{ url: URL_X, headers: { [name]: 'v' } }] }, `#/webhooks/0/headers/${name}`],
        [{ signature: { custom: { ...CUSTOM, header: name } } }, '#/signature/custom/header'],
      ] as const) {
        const answer = await control.call('post', '/destinations').send(aBody(over));
        expect([answer.status, Object.keys(problems(answer.body))]).toEqual([422, [at]]);
      }
    },
  );

  test('POST refuses the header User-Agent unless static: it replaces ours', async () => {
    const name = 'User-Agent';
    for (const over of [
      { webhooks: [{ url: URL_X, auth: { type: 'header', name, value: 'v' } }] },
      { signature: { custom: { ...CUSTOM, header: name } } },
      { request: { headers: { [name]: 'userId' } } },
    ]) {
      expect((await control.call('post', '/destinations').send(aBody(over))).status).toBe(422);
    }
    const { webhooks } = await make({
      webhooks: [{ url: URL_X, headers: { [name]: 'shop-gateway/2' } }],
    });
    expect(webhooks).toMatchObject([{ headers: { [name]: { keep: true } } }]);
  });

  test('POST refuses a header waypost-… unless static, as these were allowed once', async () => {
    const header = 'Waypost-Other';
    for (const [over, at] of [
      [
        { webhooks: [{ url: URL_X, auth: { type: 'header', name: header, value: 'v' } }] },
        '#/webhooks/0/auth/name',
      ],
      [{ signature: { custom: { ...CUSTOM, header } } }, '#/signature/custom/header'],
      [{ request: { headers: { [header]: 'userId' } } }, `#/request/headers/${header}`],
    ] as const) {
      const answer = await control.call('post', '/destinations').send(aBody(over));
      expect([answer.status, Object.keys(problems(answer.body))]).toEqual([422, [at]]);
    }
    await make({ webhooks: [{ url: URL_X, headers: { [header]: 'v' } }] });
  });

  test('PATCH refuses batches with an authentication pagerduty, whichever is stored', async () => {
    const webhooks = [{ url: URL_X, auth: { type: 'pagerduty', routingKey: 'k' } }];
    const [paged, batched] = [await make({ webhooks }), await make({ batch: {} })];
    for (const answer of [
      await patch(paged.id, { batch: {} }),
      await patch(batched.id, { webhooks }),
    ]) {
      expect([answer.status, Object.keys(problems(answer.body))]).toEqual([422, ['#/batch']]);
    }
  });

  test('PATCH refuses a text body with authentication pagerduty, whichever is stored', async () => {
    const webhooks = [{ url: URL_X, auth: { type: 'pagerduty', routingKey: 'k' } }];
    const request = { body: 'userId + ""' };
    const [paged, text] = [await make({ webhooks }), await make({ request })];
    for (const answer of [await patch(paged.id, { request }), await patch(text.id, { webhooks })]) {
      expect([answer.status, Object.keys(problems(answer.body))]).toEqual([
        422,
        ['#/request/body'],
      ]);
    }
    expect(
      (await patch(paged.id, { request: { body: '{"event_action": "trigger"}' } })).status,
    ).toBe(200);
    expect((await patch(paged.id, { request: { body: 'properties.anything' } })).status).toBe(200);
  });

  test('PATCH names every bad field', async () => {
    const { id } = await make();
    const answer = await patch(id, {
      name: null,
      sources: ['src_none'],
      webhooks: null,
      colour: 'red',
      id: 'dst_other',
    });
    expect(Object.keys(problems(answer.body)).sort()).toEqual([
      '#/colour',
      '#/id',
      '#/name',
      '#/sources/0',
      '#/webhooks',
    ]);
    expect((await control.get(`/destinations/${id}`)).version).toBe(1);
  });
});

describe('PATCH', () => {
  test('PATCH keeps absent fields and removes null fields', async () => {
    const made = await make({
      types: ['track'],
      maxPerSecond: 5,
      shards: 2,
      switchOffAfter: '5d',
      enabled: true,
      paused: true,
    });
    const kept = await patch(made.id, { name: 'New' });
    expect(kept.body).toEqual({ ...made, name: 'New', version: 2 });
    const body = {
      types: null,
      maxPerSecond: null,
      shards: null,
      switchOffAfter: null,
      sharedSecret: null,
      enabled: null,
      paused: null,
    };
    expect((await patch(made.id, body)).body).toMatchObject({
      types: null,
      maxPerSecond: null,
      shards: 4,
      hasSharedSecret: false,
      enabled: false,
      paused: false,
      webhooks: made.webhooks,
    });
    expect(stored(made.id).webhooks[0]?.headers).toEqual({
      Authorization: 'Bearer planted-header',
    });
  });

  test.each([
    ['cloudevents', { format: 'cloudevents' }],
    ['thin', { format: 'thin' }],
    ['the body that a template makes', { body: '{"user": userId}' }],
  ])('POST accepts batches of %s', async (_, request) => {
    expect((await make({ batch: {}, request })).batch).toMatchObject({ maxEvents: 100 });
  });

  test('PATCH refuses a format that the stored batch excludes', async () => {
    const { id } = await make({ batch: {} });
    const answer = await patch(id, { request: { format: 'slack' } });
    expect([answer.status, Object.keys(problems(answer.body))]).toEqual([422, ['#/batch']]);
  });

  test('PATCH changes one limit of a batch, and removes the batch by null', async () => {
    const { id } = await make({ batch: {} });
    expect(stored(id).destination.batch).toEqual({
      maxEvents: 100,
      maxBytes: 1_000_000,
      maxWaitMs: 1_000,
    });
    const changed = await patch(id, { batch: { maxWait: '60s' } });
    expect(changed.body.batch).toEqual({ maxEvents: 100, maxBytes: 1_000_000, maxWait: '1m' });
    expect((await patch(id, { batch: null })).body.batch).toBeNull();
    expect(stored(id).destination).not.toHaveProperty('batch');
  });

  test('PATCH accepts webhooks as they were read, and keeps ids and values', async () => {
    const made = await make();
    const { body } = await patch(made.id, {
      webhooks: [...made.webhooks, { url: 'https://b.example.com/' }],
    });
    expect(body.webhooks).toEqual([
      ...made.webhooks,
      {
        id: expect.any(String),
        url: 'https://b.example.com/',
        headers: {},
        auth: null,
        tls: null,
        disabled: null,
      },
    ]);
    expect(stored(made.id).webhooks[0]?.headers).toEqual({
      Authorization: 'Bearer planted-header',
    });
  });

  test('PATCH matches a webhook by id with another path, and by URL without an id', async () => {
    const made = await make();
    const id = made.webhooks[0].id;
    const moved = await patch(made.id, {
      webhooks: [
        { id, url: 'https://a.example.com/elsewhere', headers: { authorization: { keep: true } } },
      ],
    });
    expect(moved.body.webhooks).toEqual([
      {
        id,
        url: 'https://a.example.com/elsewhere',
        headers: { authorization: { keep: true } },
        auth: null,
        tls: null,
        disabled: null,
      },
    ]);
    expect(stored(made.id).webhooks[0]?.headers).toEqual({
      authorization: 'Bearer planted-header',
    });
    const same = await patch(made.id, { webhooks: [{ url: 'https://a.example.com/elsewhere' }] });
    expect(same.body.webhooks).toMatchObject([
      { id, url: 'https://a.example.com/elsewhere', headers: {} },
    ]);
  });

  test.each([
    ['another host', 'https://evil.example.com/in'],
    ['another port', 'https://a.example.com:8443/in'],
    ['another scheme', 'http://a.example.com/in'],
  ])('PATCH keeps no header value for %s', async (_, url) => {
    const made = await make();
    const answer = await patch(made.id, {
      webhooks: [{ id: made.webhooks[0].id, url, headers: { Authorization: { keep: true } } }],
    });
    expect(answer.status).toBe(422);
    expect(problems(answer.body)).toEqual({
      '#/webhooks/0/headers/Authorization': expect.stringContaining('origin'),
    });
    const given = await patch(made.id, {
      webhooks: [{ id: made.webhooks[0].id, url, headers: { Authorization: 'new' } }],
    });
    expect(given.body.webhooks[0]).toMatchObject({ id: made.webhooks[0].id, url });
  });

  test('PATCH keeps no value of one webhook for another', async () => {
    const made = await make({
      webhooks: [
        { url: 'https://a.example.com/', headers: { Authorization: 'planted-header' } },
        { url: 'https://b.example.com/' },
      ],
    });
    const [a, b] = made.webhooks;
    const keep = { Authorization: { keep: true } };
    const answer = await patch(made.id, {
      webhooks: [
        { id: a.id, url: b.url, headers: keep },
        { id: b.id, url: a.url, headers: keep },
        { id: a.id, url: a.url, headers: keep },
      ],
    });
    expect(problems(answer.body)).toEqual({
      '#/webhooks/0/headers/Authorization': expect.stringContaining('origin'),
      '#/webhooks/1/headers/Authorization': expect.stringContaining('no stored value'),
      '#/webhooks/2/id': 'is given twice',
      '#/webhooks/2/headers/Authorization': expect.stringContaining('no stored value'),
    });
  });

  test('PATCH of a destination drops its deleted source', async () => {
    const { id } = await make();
    await control.call('delete', `/sources/${source}`);
    expect((await control.get(`/destinations/${id}`)).sources).toEqual([]);
    expect((await patch(id, { enabled: true })).status).toBe(200);
    expect(stored(id).destination.sources).toEqual([]);
  });

  test('PATCH with a stale If-Match is refused', async () => {
    const { id } = await make();
    await patch(id, { name: 'Second' });
    const answer = await patch(id, { name: 'Third' }).set('If-Match', '"1"');
    expect([answer.status, answer.headers.etag]).toEqual([412, '"2"']);
  });
});

describe('a URL that somebody switches off', () => {
  const turn = (id: string, word: 'enable' | 'disable', webhook: string) =>
    control.call('post', `/destinations/${id}/${word}-webhook`).send({ webhook });

  test('is off until somebody switches it on, and raises no notice', async () => {
    const made = await make();
    const [{ id: webhook }] = made.webhooks;
    const off = await turn(made.id, 'disable', webhook);
    const disabled = { at: '2026-01-01T00:00:00.000Z', reason: 'user' };
    expect([off.status, off.body.webhooks]).toMatchObject([200, [{ id: webhook, disabled }]]);
    expect(stored(made.id).destination.webhooks).toMatchObject([{ disabled }]);
    expect((await turn(made.id, 'disable', webhook)).body.webhooks).toMatchObject([{ disabled }]);
    // It stays off when other fields change, and when its list is sent back as it was read.
    const { body } = await patch(made.id, { name: 'Other', webhooks: off.body.webhooks });
    expect(body.webhooks).toMatchObject([{ id: webhook, disabled }]);
    const on = await turn(made.id, 'enable', webhook);
    expect([on.status, on.body]).toMatchObject([200, { lostSince: disabled.at }]);
    expect(stored(made.id).destination.webhooks).toMatchObject([{ enables: 1 }]);
    expect(stored(made.id).destination.webhooks[0]).not.toHaveProperty('disabled');
  });

  test('is on again with another address', async () => {
    const made = await make();
    const [{ id: webhook }] = made.webhooks;
    await turn(made.id, 'disable', webhook);
    const { body } = await patch(made.id, {
      webhooks: [{ id: webhook, url: 'https://a.example.com/moved' }],
    });
    expect(body.webhooks).toMatchObject([{ id: webhook, disabled: null }]);
  });

  test.each([
    [{ webhook: 'whk_none' }, '#/webhook'],
    [{}, '#/webhook'],
    [{ webhook: 5 }, '#/webhook'],
  ])('is named by its id, and not by %j', async (body, at) => {
    const { id } = await make();
    for (const word of ['enable', 'disable']) {
      const answer = await control.call('post', `/destinations/${id}/${word}-webhook`).send(body);
      expect([answer.status, Object.keys(problems(answer.body))]).toEqual([422, [at]]);
    }
  });
});

describe('a secret that Waypost makes', () => {
  test('at the creation of a destination is shown in the response alone', async () => {
    const made = await make({ sharedSecret: 'generate' });
    expect(made.sharedSecret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(stored(made.id).secrets.current).toBe(made.sharedSecret);
    const read = await control.get(`/destinations/${made.id}`);
    expect(read).not.toHaveProperty('sharedSecret');
    expect(read.hasSharedSecret).toBe(true);
    expect(control.logged()).not.toContain(made.sharedSecret);
  });

  test('at a rotation is shown in the response alone', async () => {
    const { id } = await make();
    const { body } = await control
      .call('post', `/destinations/${id}/rotate-secret`)
      .send({ sharedSecret: 'generate', overlap: '0s' });
    expect(body.sharedSecret).toMatch(/^whsec_/);
    expect(stored(id).secrets.current).toBe(body.sharedSecret);
  });

  test('is not the word by which a change asks for it', async () => {
    const { id } = await make();
    for (const path of [`/destinations/${id}`, '/alerts']) {
      const answer = await control.call('patch', path).send({ sharedSecret: 'generate' });
      expect([answer.status, problems(answer.body)]).toEqual([
        422,
        { '#/sharedSecret': expect.stringContaining('rotate-secret') },
      ]);
    }
    expect(stored(id).secrets.current).toBe('planted-secret');
  });
});

describe('rotate-secret', () => {
  const rotate = (id: string, body: object) =>
    control.call('post', `/destinations/${id}/rotate-secret`).send(body);

  test('a rotation creates a secret, shows it once, and keeps the old for an overlap', async () => {
    const { id } = await make();
    const { body } = await rotate(id, {});
    expect(body.sharedSecret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(body.secretRotation).toEqual({
      overlapUntil: '2026-01-02T00:00:00.000Z',
      switchAt: '2026-01-02T00:00:00.000Z',
    });
    expect(stored(id).secrets).toEqual({ current: body.sharedSecret, previous: 'planted-secret' });
    const read = await control.call('get', `/destinations/${id}`);
    expect(read.body).not.toHaveProperty('sharedSecret');
    control.clock.now = new Date('2026-01-02T00:00:00.000Z');
    expect((await control.get(`/destinations/${id}`)).secretRotation).toBeNull();
    await patch(id, { name: 'Later' });
    expect(stored(id).secrets).toEqual({ current: body.sharedSecret, previous: undefined });
  });

  test('a rotation accepts a secret, an overlap and a time to switch', async () => {
    const { id } = await make();
    const { body } = await rotate(id, {
      sharedSecret: 'planted-other',
      overlap: '2h',
      switchAt: '2026-01-01T02:00:00+01:00',
    });
    expect(body).not.toHaveProperty('sharedSecret');
    expect(body.secretRotation).toEqual({
      overlapUntil: '2026-01-01T02:00:00.000Z',
      switchAt: '2026-01-01T01:00:00.000Z',
    });
  });

  test('a rotation is refused during another one, and can end it immediately', async () => {
    const { id } = await make();
    await rotate(id, {});
    expect((await rotate(id, {})).status).toBe(409);
    const ended = await rotate(id, { overlap: '0s' });
    expect(ended.body.secretRotation).toBeNull();
    expect(stored(id).secrets).toEqual({ current: ended.body.sharedSecret, previous: undefined });
  });

  test('a rotation sets a first secret', async () => {
    const { id } = await make({ sharedSecret: undefined });
    const { body } = await rotate(id, {});
    expect(body).toMatchObject({
      hasSharedSecret: true,
      secretRotation: null,
      sharedSecret: expect.any(String),
    });
  });

  test.each([
    [{ switchAt: '2026-01-03T00:00:00Z' }, '#/switchAt'],
    [{ switchAt: 'tomorrow' }, '#/switchAt'],
    [{ overlap: '90d' }, '#/overlap'],
    [{ sharedSecret: 5 }, '#/sharedSecret'],
    [{ secret: 'x' }, '#/secret'],
  ])('a rotation with %j is refused', async (body, pointer) => {
    const { id } = await make();
    const answer = await rotate(id, body);
    expect([answer.status, Object.keys(problems(answer.body))]).toEqual([422, [pointer]]);
  });
});

test('a destination can be read and repaired once its key was accepted as lost', async () => {
  const { id } = await make();
  // As `config reseal --key-lost` authenticates what it cannot decrypt.
  const authenticator = createAuthenticator([SECRET_KEY]);
  const records = control.memory.records('config').map(({ topic, key, value, headers }) => {
    if (key?.toString() === 'system:system') return { topic, key, value, headers };
    const lost = value!.toString().replaceAll(/"[\w-]{8}\.([\w-]{16}\.)/g, '"AAAAAAAA.$1');
    return { topic, key, value: lost, headers: authenticator.sign(lost, {}) };
  });
  const { memoryLog } = await import('../../../support/memory-log');
  const memory = memoryLog();
  memory.append(records as OutRecord[]);
  control = await controlUnderTest({ memory });
  expect((await control.get(`/destinations/${id}`)).webhooks[0].url).toBeNull();
  expect((await patch(id, { name: 'Still there' })).status).toBe(200);
  const mended = await patch(id, {
    webhooks: [{ url: 'https://c.example.com/' }],
    sharedSecret: 'new secret',
  });
  expect(mended.body.webhooks[0].url).toBe('https://c.example.com/');
});
