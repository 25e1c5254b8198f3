import { parseFile, parseSecrets, toFile } from '../../../cli/export-file/format';
import { endingsOf, planImport, planRemovals } from '../../../cli/export-file/plan';
import {
  type Audience,
  type ComputedTrait,
  type Destination,
  type Source,
} from '../../../shared/api/operations';
import { aDestinationView } from '../../support/factories';

/** Export and import: the content of a file, and the changes that it would make. */

const BASE = { version: 1, createdAt: '', updatedAt: '' };
const SITE: Source = {
  ...BASE,
  id: 'src_1',
  name: 'Site',
  enabled: true,
  writeKey: 'the-write-key',
  oldWriteKeys: [],
  blockedEvents: ['Noise'],
  limits: { maxPerSecond: 50, maxBytesPerSecond: null, burst: '10s' },
  trust: 'browser',
};
const URL = 'https://example.com/hook';
const HOOK = aDestinationView({
  name: 'Hook',
  types: ['track'],
  maxPerSecond: 5,
  batch: { maxEvents: 50, maxBytes: 1_000_000, maxWait: '1s' },
  switchOffAfter: '5d',
  filter: 'event != "Ping"',
  retry: { delays: ['30s'], effectiveDelays: ['30s'], window: null, timeout: '10s', on: [404] },
  proxy: 'http://***@proxy.example:3128',
});
const status = {
  phase: 'live',
  members: 3,
  counted: 0,
  full: 0,
  of: 0,
  sent: 3,
  waiting: 0,
  upload: 0,
  lastSync: null,
} as const;
const TOLD = { ...BASE, sources: null, destinations: ['dst_1'], syncEvery: '1m', status };
const PROS: Audience = {
  ...TOLD,
  id: 'aud_1',
  name: 'Pros',
  key: 'pros',
  source: 'src_8',
  condition: 'user.traits.pro',
};
const SPENT: ComputedTrait = {
  ...TOLD,
  id: 'trt_1',
  name: 'Spent',
  key: 'spent',
  source: 'src_9',
  sources: ['src_1'],
  compute: 'sum',
  event: 'Order Completed',
  property: 'total',
  window: null,
};
const HERE = { sources: [SITE], destinations: [HOOK], audiences: [PROS], traits: [SPENT] };
const NOWHERE = { sources: [], destinations: [], audiences: [], traits: [] };
const FILE = toFile(HERE, new Date(0));
const SECRETS = {
  Hook: {
    sharedSecret: 'its secret',
    proxy: 'http://me:its-password@proxy.example:3128',
    headers: { Authorization: 'Bearer its token' },
  },
};

test('a destination may have the name of a property that every object has', () => {
  const file = toFile(
    { ...NOWHERE, destinations: [{ ...HOOK, name: 'constructor' }] },
    new Date(0),
  );
  const { faults } = planImport(file, NOWHERE, {}, false);
  expect(faults).toEqual([expect.stringContaining('"constructor" needs header Authorization of')]);
});

test('an export contains no ids, secrets or write keys, and is parsed to the same content', () => {
  expect(FILE.destinations[0]).toMatchObject({
    name: 'Hook',
    sources: ['Site'],
    sharedSecret: '***',
    webhooks: [{ url: URL, headers: { Authorization: '***' } }],
    filter: 'event != "Ping"',
  });
  expect(FILE.sources).toEqual([
    {
      name: 'Site',
      enabled: true,
      blockedEvents: ['Noise'],
      trust: 'browser',
      limits: { maxPerSecond: 50, maxBytesPerSecond: null, burst: '10s' },
    },
  ]);
  expect(FILE.audiences).toEqual([
    {
      name: 'Pros',
      key: 'pros',
      condition: 'user.traits.pro',
      sources: null,
      destinations: ['Hook'],
      syncEvery: '1m',
    },
  ]);
  expect(FILE.traits).toMatchObject([
    { name: 'Spent', compute: 'sum', property: 'total', sources: ['Site'] },
  ]);
  expect(JSON.stringify(FILE)).not.toMatch(/src_|dst_|aud_|trt_|the-write-key/);
  expect(parseFile(JSON.stringify(FILE))).toEqual(FILE);
});

test('a definition whose sources are all deleted is left out, and the file can be imported', () => {
  const audiences = [PROS, { ...PROS, id: 'aud_2', name: 'Lost', sources: ['src_gone'] }];
  const traits = [{ ...SPENT, sources: ['src_gone'] }];
  const file = toFile({ ...HERE, audiences, traits }, new Date(0));
  expect([file.audiences.map(({ name }) => name), file.traits]).toEqual([['Pros'], []]);
  expect(parseFile(JSON.stringify(file))).toEqual(file);
});

test('entries of a kind with the same name cannot be exported', () => {
  expect(() =>
    toFile({ ...NOWHERE, sources: [SITE, { ...SITE, id: 'src_2' }] }, new Date(0)),
  ).toThrow('Two sources are named "Site"');
  const audiences = [PROS, { ...PROS, id: 'aud_2' }];
  expect(() => toFile({ ...HERE, audiences }, new Date(0))).toThrow(
    'Two audiences are named "Pros"',
  );
});

test('an import into the same system changes nothing', () => {
  const { steps, faults } = planImport(FILE, HERE, {}, false);
  expect([steps.map(({ act }) => act), faults]).toEqual([['keep', 'keep', 'keep', 'keep'], []]);
});

test("an import replaces a destination's whole request, unless the file lacks the field", () => {
  const request = {
    method: 'PUT',
    format: null,
    body: '{"id": messageId}',
    gzipAbove: null,
  } as const;
  const here = {
    ...HERE,
    destinations: [{ ...HOOK, request: { ...request, headers: { 'X-Old': 'type' } } }],
  };
  const wanted = { ...request, headers: { 'X-New': 'userId' } };
  const file = toFile({ ...HERE, destinations: [{ ...HOOK, request: wanted }] }, new Date(0));
  expect(parseFile(JSON.stringify(file)).destinations[0]?.request).toEqual(wanted);
  const changed = planImport(file, here, {}, false).steps.find(
    ({ kind }) => kind === 'destination',
  );
  expect(changed).toMatchObject({
    body: { request: { ...request, headers: { 'X-Old': null, 'X-New': 'userId' } } },
  });
  const { request: _, ...older } = FILE.destinations[0]!;
  const kept = planImport({ ...FILE, destinations: [older] }, here, {}, false).steps;
  expect(kept.map(({ act }) => act)).toEqual(['keep', 'keep', 'keep', 'keep']);
});

test('an import into another system without the secrets names each missing one', () => {
  const { faults } = planImport(FILE, NOWHERE, {}, false);
  expect(faults).toEqual([
    expect.stringContaining(
      '"Hook" needs header Authorization of https://example.com, sharedSecret, proxy',
    ),
  ]);
});

test('an import into another system with the secrets creates every entry', () => {
  const { steps, faults } = planImport(FILE, NOWHERE, SECRETS, false);
  expect(faults).toEqual([]);
  expect(steps).toEqual([
    {
      kind: 'source',
      act: 'create',
      name: 'Site',
      body: { enabled: true, blockedEvents: ['Noise'], trust: 'browser', limits: SITE.limits },
    },
    {
      kind: 'destination',
      act: 'create',
      name: 'Hook',
      sources: ['Site'],
      body: {
        name: 'Hook',
        type: 'webhooks',
        enabled: true,
        paused: false,
        types: ['track'],
        filter: 'event != "Ping"',
        maxPerSecond: 5,
        switchOffAfter: '5d',
        shards: 4,
        retry: { delays: ['30s'], timeout: '10s', on: [404] },
        proxy: 'http://me:its-password@proxy.example:3128',
        batch: HOOK.batch,
        webhooks: [{ url: URL, headers: { Authorization: 'Bearer its token' } }],
        sharedSecret: 'its secret',
      },
    },
    {
      kind: 'audience',
      act: 'create',
      name: 'Pros',
      sources: null,
      destinations: ['Hook'],
      rename: false,
      body: { name: 'Pros', syncEvery: '1m', condition: 'user.traits.pro' },
    },
    {
      kind: 'trait',
      act: 'create',
      name: 'Spent',
      sources: ['Site'],
      destinations: ['Hook'],
      rename: false,
      body: {
        name: 'Spent',
        syncEvery: '1m',
        compute: 'sum',
        event: 'Order Completed',
        property: 'total',
      },
    },
  ]);
});

test('an import into another system may omit secrets, and leaves the destination off', () => {
  const { steps, faults } = planImport(FILE, NOWHERE, {}, true);
  expect(faults).toEqual([]);
  expect(steps[1]).toMatchObject({
    act: 'create',
    body: { enabled: false, webhooks: [{ url: URL, headers: {} }] },
  });
});

test.each<[string, Partial<Destination>]>([
  ['that is switched off', { enabled: false }],
  ['that is paused', { paused: true }],
  ['with other types', { types: null }],
  ['with a lower rate', { maxPerSecond: 1 }],
  ['that is never switched off', { switchOffAfter: null }],
  ['without batches', { batch: null }],
  ['with another source', { sources: [] }],
  ['with another retry plan', { retry: null }],
  [
    'with a second URL',
    {
      webhooks: [
        ...HOOK.webhooks,
        { ...HOOK.webhooks[0]!, id: 'w', url: 'https://b.example/', headers: {} },
      ],
    },
  ],
])('an import changes a destination %s, and keeps its stored header values', (_, here) => {
  const { steps } = planImport(FILE, { ...HERE, destinations: [{ ...HOOK, ...here }] }, {}, false);
  expect(steps[1]).toMatchObject({
    act: 'change',
    id: 'dst_1',
    sources: ['Site'],
    body: {
      webhooks: [{ url: URL, headers: { Authorization: { keep: true } } }],
      types: ['track'],
      maxPerSecond: 5,
    },
  });
});

test('a file without the batches of a destination leaves them unchanged', () => {
  const destinations = FILE.destinations.map(({ batch, ...rest }) => rest);
  const { steps } = planImport({ ...FILE, destinations }, HERE, {}, false);
  expect(steps[1]).toMatchObject({ act: 'keep' });
});

test('the connection of audience and destination is in no export, and an import keeps it', () => {
  const told = { ...HOOK, sources: ['src_1', 'src_of_an_audience'] };
  expect(toFile({ ...HERE, destinations: [told] }, new Date(0))).toEqual(FILE);
  const steps = (here: Destination) =>
    planImport(FILE, { ...HERE, destinations: [here] }, {}, false).steps[1];
  expect(steps(told)).toMatchObject({ act: 'keep' });
  expect(steps({ ...told, paused: true })).toMatchObject({
    sources: ['Site'],
    telling: ['src_of_an_audience'],
  });
});

test('an import that changes a URL needs its header values again', () => {
  const here = { ...HOOK, webhooks: [{ ...HOOK.webhooks[0]!, url: 'https://other.example/' }] };
  expect(planImport(FILE, { ...HERE, destinations: [here] }, {}, false).faults).toHaveLength(1);
});

test('an import with ambiguous or unknown names is refused with a fault for each', () => {
  const twice = {
    ...HERE,
    sources: [SITE, { ...SITE, id: 'src_2' }],
    destinations: [HOOK, { ...HOOK, id: 'dst_2' }],
  };
  expect(planImport(FILE, twice, { Gone: { headers: {} } }, false).faults).toEqual([
    expect.stringContaining('sources here are named "Site"'),
    expect.stringContaining('contains "Gone"'),
    expect.stringContaining('destinations here are named "Hook"'),
  ]);
  const alone = { ...FILE, sources: [] };
  expect(planImport(alone, NOWHERE, SECRETS, false).faults).toEqual([
    expect.stringContaining('"Hook" is connected to source "Site"'),
    expect.stringContaining('"Spent" is connected to source "Site"'),
  ]);
});

test('an import whose definitions would share a trait is refused before anything changes', () => {
  const members = {
    ...SPENT,
    id: 'trt_2',
    name: 'Members',
    key: 'pros',
  };
  const faultsOf = (file: typeof FILE, here: Partial<typeof HERE>) =>
    planImport(file, { ...HERE, ...here }, {}, false).faults;
  expect(faultsOf(FILE, { audiences: [], traits: [members] })).toEqual([
    '"Pros" would use the trait pros, which "Members" already uses.',
  ]);
  const shared = toFile({ ...HERE, traits: [{ ...SPENT, key: 'pros' }] }, new Date(0));
  expect(faultsOf(shared, { audiences: [], traits: [] })).toEqual([
    expect.stringContaining('"Spent" would use the trait pros, which "Pros" already uses.'),
  ]);
});

test('a renamed audience keeps its trait in another system', () => {
  const renamed = toFile({ ...HERE, audiences: [{ ...PROS, name: 'Professionals' }] }, new Date(0));
  expect(planImport(renamed, NOWHERE, SECRETS, false).steps[2]).toMatchObject({
    act: 'create',
    name: 'Professionals',
    rename: true,
    body: { name: 'pros' },
  });
  const { faults } = planImport(
    renamed,
    { ...HERE, audiences: [{ ...PROS, name: 'Professionals', key: 'p' }] },
    {},
    false,
  );
  expect(faults).toEqual([expect.stringContaining('the trait p here and pros in the file')]);
});

test('an audience with another name here is renamed, also one of an import that broke off', () => {
  const file = toFile({ ...HERE, audiences: [{ ...PROS, name: 'Professionals' }] }, new Date(0));
  // Its key is made of its first name, which an import replaces by a second call.
  const brokenOff = { ...PROS, name: 'pros' };
  for (const here of [PROS, brokenOff]) {
    const present = { ...HERE, audiences: [here] };
    const { steps, faults } = planImport(file, present, {}, false);
    expect(faults).toEqual([]);
    expect(steps[2]).toMatchObject({ act: 'change', id: 'aud_1', name: 'Professionals' });
    expect(planRemovals(file, present)).toEqual([]);
  }
});

test.each<[string, Partial<Audience>]>([
  ['another condition', { condition: 'user.traits.plan == "pro"' }],
  ['an uploaded list', { condition: null }],
  ['other sources', { sources: ['src_1'] }],
  ['no destination', { destinations: [] }],
  ['another sync interval', { syncEvery: '10s' }],
])('an import changes an audience that has %s', (_, here) => {
  const { steps, faults } = planImport(
    FILE,
    { ...HERE, audiences: [{ ...PROS, ...here }] },
    {},
    false,
  );
  expect(faults).toEqual([]);
  expect(steps[2]).toMatchObject({
    kind: 'audience',
    act: 'change',
    id: 'aud_1',
    sources: null,
    destinations: ['Hook'],
    body: { condition: 'user.traits.pro', syncEvery: '1m' },
  });
});

test('a file without audiences leaves the audiences of the system unchanged', () => {
  const { audiences: _audiences, traits: _traits, ...older } = FILE;
  const { steps } = planImport(parseFile(JSON.stringify(older)), HERE, {}, false);
  expect(steps.map(({ kind }) => kind)).toEqual(['source', 'destination']);
});

test('a file without the trust and the limits of a source leaves them unchanged', () => {
  const older = { ...FILE, sources: [{ name: 'Site', enabled: true, blockedEvents: ['Noise'] }] };
  const stepOf = (file: typeof older) =>
    planImport(parseFile(JSON.stringify(file)), HERE, {}, false).steps[0];
  expect(stepOf(older)).toEqual({ kind: 'source', act: 'keep', name: 'Site' });
  expect(
    stepOf({ ...older, sources: [{ name: 'Site', enabled: false, blockedEvents: ['Noise'] }] }),
  ).toEqual({
    kind: 'source',
    act: 'change',
    name: 'Site',
    id: 'src_1',
    body: { enabled: false, blockedEvents: ['Noise'] },
  });
});

test.each([
  ['{', 'is not JSON'],
  ['{"waypost":2,"sources":[],"destinations":[]}', 'waypost must be 1'],
  [
    '{"waypost":1,"sources":[],"destinations":[],"traits":[{"name":"a","key":"a","compute":"x"}]}',
    'traits.0.compute must be ',
  ],
  [
    '{"waypost":1,"sources":[{}],"destinations":[{"name":"a"}]}',
    'sources.0.name is missing; it must be a text',
  ],
])('the text %s is refused as an export', (text, why) => {
  expect(() => parseFile(text)).toThrow(why);
});

test('an import of a file without plan and proxy leaves both unchanged', () => {
  const [{ retry, proxy, ...old }] = FILE.destinations as [(typeof FILE.destinations)[number]];
  const { steps } = planImport(
    { ...FILE, destinations: [{ ...old, paused: true }] },
    HERE,
    {},
    false,
  );
  expect(steps[1]).toMatchObject({ act: 'change', body: { paused: true } });
  expect(Object.keys((steps[1] as { body: object }).body)).not.toEqual(
    expect.arrayContaining(['retry']),
  );
  expect(Object.keys((steps[1] as { body: object }).body)).not.toEqual(
    expect.arrayContaining(['proxy']),
  );
});

test('an import through another proxy needs the header values and the login again', () => {
  const here = { ...HOOK, proxy: 'http://***@other.example:3128' };
  expect(planImport(FILE, { ...HERE, destinations: [here] }, {}, false).faults).toEqual([
    expect.stringContaining('"Hook" needs header Authorization of https://example.com, proxy'),
  ]);
});

describe('the authentication, TLS settings and signatures of a destination', () => {
  type Shown = Destination['webhooks'][number];
  const OAUTH2: NonNullable<Shown['auth']> = {
    type: 'oauth2',
    tokenUrl: 'https://login.example/token',
    clientId: 'waypost',
    clientSecret: { keep: true },
    scope: 'hooks',
    audience: null,
    params: { resource: { keep: true } },
    clientAuth: 'body',
  };
  const notAfter = '2027-01-01T00:00:00.000Z';
  const tls: NonNullable<Shown['tls']> = {
    certificate: 'PEM',
    key: { keep: true },
    ca: null,
    notAfter,
  };
  const signature: Destination['signature'] = {
    xSignature: false,
    ed25519: true,
    custom: { header: 'X-Sign', algorithm: 'sha256', encoding: 'hex', prefix: null },
  };
  const webhook: Shown = { ...HOOK.webhooks[0]!, headers: {}, auth: OAUTH2, tls };
  const here = (over: Partial<Shown> = {}, more: Partial<Destination> = {}): typeof HERE => ({
    ...HERE,
    destinations: [
      {
        ...HOOK,
        hasSharedSecret: false,
        proxy: null,
        signature,
        webhooks: [{ ...webhook, ...over }],
        ...more,
      },
    ],
  });
  const file = parseFile(JSON.stringify(toFile(here(), new Date(0))));
  const plannedElsewhere = (secrets = {}) =>
    planImport(file, NOWHERE, parseSecrets(JSON.stringify({ Hook: secrets })), false);
  const bodyOf = ({ steps }: ReturnType<typeof planImport>) =>
    (steps[1] as unknown as { body: { webhooks: Record<string, unknown>[] } }).body;

  test('are exported with *** for each secret, and the same system keeps all on import', () => {
    expect(file.destinations[0]).toMatchObject({
      webhooks: [
        {
          auth: { ...OAUTH2, clientSecret: '***', params: { resource: '***' } },
          tls: { certificate: 'PEM', key: '***', ca: null },
        },
      ],
      signature,
    });
    expect(planImport(file, here(), {}, false).steps[1]).toMatchObject({ act: 'keep' });
  });

  test('are kept with the stored secrets if an import changes something else', () => {
    const body = bodyOf(planImport(file, here({ tls: { ...tls, ca: 'another' } }), {}, false));
    const auth = {
      type: 'oauth2',
      clientSecret: { keep: true },
      params: { resource: { keep: true } },
    };
    expect(body.webhooks).toMatchObject([
      { auth, tls: { certificate: 'PEM', key: { keep: true }, ca: null } },
    ]);
  });

  test('need each secret in another system, and take them from the secrets file', () => {
    expect(plannedElsewhere().faults).toEqual([
      expect.stringContaining(
        '"Hook" needs auth.params.resource of https://example.com, auth.clientSecret of ' +
          'https://example.com, tls.key of https://example.com.',
      ),
    ]);
    const secrets = {
      auth: { clientSecret: 's', params: { resource: 'r' } },
      tls: { key: 'a key' },
    };
    const { faults, steps } = plannedElsewhere(secrets);
    expect(faults).toEqual([]);
    expect(steps[1]).toMatchObject({
      body: {
        webhooks: [
          {
            auth: { type: 'oauth2', clientSecret: 's', params: { resource: 'r' } },
            tls: { certificate: 'PEM', key: 'a key' },
          },
        ],
        signature: { xSignature: false, ed25519: true, custom: { header: 'X-Sign' } },
      },
    });
  });

  test('are replaced by those of the file, and a stored secret of another type is not kept', () => {
    const bearer: Shown['auth'] = { type: 'bearer', token: { keep: true } };
    const changed = planImport(file, here({ auth: bearer, tls: null }), {}, false);
    expect(changed.faults).toEqual([
      expect.stringContaining('auth.clientSecret of https://example.com'),
    ]);
    const [{ webhooks, ...rest }] = file.destinations as [(typeof file.destinations)[number]];
    const plain = {
      ...file,
      destinations: [{ ...rest, webhooks: [{ ...webhooks[0]!, auth: null, tls: null }] }],
    };
    expect(bodyOf(planImport(plain, here(), {}, false)).webhooks).toEqual([
      { url: URL, headers: {} },
    ]);
  });

  test('need their secrets again through another proxy, also if the file lacks them', () => {
    const [{ signature: _, webhooks, ...rest }] = file.destinations as [
      (typeof file.destinations)[number],
    ];
    const old = webhooks.map(({ url, headers }) => ({ url, headers }));
    const moved = {
      ...file,
      destinations: [{ ...rest, webhooks: old, proxy: 'http://proxy.example:3128' }],
    };
    expect(planImport(moved, here(), {}, false).faults).toEqual([
      expect.stringMatching(
        /"Hook" needs auth\.clientSecret .*, auth\.params\.resource .*, tls\.key of/,
      ),
    ]);
    const secrets = {
      auth: { clientSecret: 's', params: { resource: 'r' } },
      tls: { key: 'a key' },
    };
    const { faults, steps } = planImport(
      moved,
      here(),
      parseSecrets(JSON.stringify({ Hook: secrets })),
      false,
    );
    expect(faults).toEqual([]);
    const auth = {
      type: 'oauth2',
      tokenUrl: OAUTH2.tokenUrl,
      clientSecret: 's',
      params: { resource: 'r' },
    };
    expect(bodyOf({ faults, steps }).webhooks).toMatchObject([
      { auth, tls: { certificate: 'PEM', key: 'a key' } },
    ]);
    // Without them, the destination is switched off, and keeps no part of its authentication.
    const without = bodyOf(planImport(moved, here(), {}, true));
    expect(without).toMatchObject({ enabled: false });
    expect(without.webhooks[0]).not.toHaveProperty('auth');
  });

  test('need their secrets again for another token endpoint, which gets no stored ones', () => {
    const tokenUrl = 'https://other.example/token';
    const present = here({ auth: { ...OAUTH2, tokenUrl } });
    const needed = /"Hook" needs auth\.params\.resource .*, auth\.clientSecret .*, tls\.key of/;
    expect(planImport(file, present, {}, false).faults).toEqual([expect.stringMatching(needed)]);
    const near = here({ auth: { ...OAUTH2, tokenUrl: 'https://login.example/another' } });
    expect(bodyOf(planImport(file, near, {}, false)).webhooks).toMatchObject([
      {
        auth: { tokenUrl: OAUTH2.tokenUrl, clientSecret: { keep: true } },
        tls: { key: { keep: true } },
      },
    ]);
  });

  test('stay as they are if the file lacks them', () => {
    const [{ signature: _, webhooks, ...rest }] = file.destinations as [
      (typeof file.destinations)[number],
    ];
    const old = webhooks.map(({ url, headers }) => ({ url, headers }));
    const older = { ...file, destinations: [{ ...rest, webhooks: old }] };
    expect(planImport(older, here(), {}, false).steps[1]).toMatchObject({ act: 'keep' });
    const body = bodyOf(planImport(older, here({}, { paused: true }), {}, false));
    expect(body.webhooks).toMatchObject([
      { auth: { clientSecret: { keep: true } }, tls: { key: { keep: true } } },
    ]);
    expect(body).not.toHaveProperty('signature');
  });
});

test('a replacing import deletes what the file lacks, definitions before what they use', () => {
  const empty = toFile({ sources: [], destinations: [], audiences: [], traits: [] }, new Date(0));
  expect(planRemovals(parseFile(JSON.stringify(empty)), HERE).map(({ id }) => id)).toEqual([
    'aud_1',
    SPENT.id,
    'dst_1',
    'src_1',
  ]);
  expect(planRemovals(parseFile(JSON.stringify(toFile(HERE, new Date(0)))), HERE)).toEqual([]);
});

test('a replacement keeps what an export of the same system leaves out', () => {
  const lost = { ...HERE, audiences: [{ ...PROS, sources: ['src_gone'] }] };
  expect(toFile(lost, new Date(0)).audiences).toEqual([]);
  expect(planRemovals(toFile(lost, new Date(0)), lost)).toEqual([]);
});

test('an import names what its changes switch off or remove', () => {
  const [hook] = FILE.destinations;
  const two = [...HERE.destinations, { ...HERE.destinations[0]!, id: 'dst_2', name: 'Two' }];
  const webhooks = [{ ...HOOK.webhooks[0]!, id: 'whk_9', url: 'https://example.com/second' }];
  const here = {
    ...HERE,
    destinations: two.map((one) => ({ ...one, webhooks: [...one.webhooks, ...webhooks] })),
  };
  const file = {
    ...FILE,
    sources: FILE.sources.map((source) => ({ ...source, enabled: false })),
    destinations: [
      { ...hook!, enabled: false },
      { ...hook!, name: 'Two', maxPerSecond: 7, paused: true },
    ],
  };
  const { steps } = planImport(file, here, {}, true);
  expect(endingsOf(steps, here)).toEqual([
    'disable the source "Site"',
    'disable "Hook"',
    'remove 1 URL of "Hook"',
    'pause "Two"',
    'remove 1 URL of "Two"',
  ]);
  expect(endingsOf(planImport(FILE, HERE, {}, false).steps, HERE)).toEqual([]);
});
