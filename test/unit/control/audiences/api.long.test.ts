import supertest from 'supertest';
import { type Audience } from '../../../../shared/model/audience-definition';
import { saveSyncs } from '../../../../services/control/history/syncs';
import { memoryDatabase } from '../../../support/database';
import { type RunningQueryServer, startQueryServer } from '../../../support/profiles';
import { ADMIN_TOKEN, type ControlUnderTest, controlUnderTest } from '../../../support/control';

let control: ControlUnderTest;
let destination: string;
beforeEach(async () => {
  control = await controlUnderTest();
  destination = (await control.destination()).id;
});

const BUYERS = {
  name: 'VIP Customers',
  condition: 'count("Order Completed", duration("720h")) >= 3',
};
const make = (body: object, path = '/audiences') => control.call('post', path).send(body);
const sourcesOf = async () =>
  (await control.get(`/destinations/${destination}`)).sources as string[];
const entryOf = (id: string): Audience => {
  const records = control.memory
    .records('config')
    .filter(({ key }) => String(key) === `audience:${id}`);
  return (JSON.parse(String(records.at(-1)!.value)) as { data: Audience }).data;
};

describe('audiences', () => {
  test('an audience is created and deleted with a source for its destinations', async () => {
    const made = await make({ ...BUYERS, destinations: [destination], syncEvery: '10s' });
    expect(made.status).toBe(201);
    const { id, source } = made.body as { id: string; source: string };
    expect(made.body).toMatchObject({
      ...BUYERS,
      key: 'vip_customers',
      sources: null,
      destinations: [destination],
      syncEvery: '10s',
      version: 1,
      status: { phase: 'none', members: 0 },
    });
    expect(await sourcesOf()).toEqual([source]);
    expect(await control.get(`/audiences/${id}`)).toEqual(made.body);
    expect((await control.call('delete', `/sources/${source}`)).status).toBe(409);
    expect((await control.call('post', `/sources/${source}/rotate-key`)).status).toBe(409);
    const limits = { perSecond: 1 };
    const patches = [
      { enabled: false },
      { name: 'x' },
      { trust: 'server' },
      { limits },
      { blockedEvents: [] },
    ];
    for (const patch of [...patches, {}]) {
      expect((await control.call('patch', `/sources/${source}`).send(patch)).status).toBe(409);
    }

    expect((await control.call('delete', `/audiences/${id}`)).status).toBe(204);
    expect(await sourcesOf()).toEqual([]);
    expect((await control.call('get', `/sources/${source}`)).status).toBe(404);
  });

  test('a new condition counts from the beginning, a new name does not', async () => {
    const { id, source } = (await make({ ...BUYERS, destinations: [destination] })).body as Record<
      string,
      string
    >;
    await control.call('patch', `/audiences/${id}`).send({ name: 'Best', destinations: [] });
    expect(entryOf(id!)).toMatchObject({ name: 'Best', key: 'vip_customers', revision: 1 });
    expect(await sourcesOf()).toEqual([]);
    expect((await control.get(`/sources/${source}`)).name).toBe('Best');
    await control
      .call('patch', `/audiences/${id}`)
      .send({ condition: 'count("Order Completed") > 5' });
    expect(entryOf(id!)).toMatchObject({ revision: 2 });
  });

  test('audiences check If-Match', async () => {
    const { id } = (await make(BUYERS)).body as Record<string, string>;
    expect(
      (await control.call('patch', `/audiences/${id}`).set('If-Match', '"7"').send({ name: 'x' }))
        .status,
    ).toBe(412);
  });

  test.each([
    [{ ...BUYERS, condition: 'count("Order Completed"' }, '#/condition', /^line 1, column \d+: /],
    [
      { ...BUYERS, condition: 'user.traits.plan' + '.x'.repeat(2) + ' + 1' },
      '#/condition',
      /line 1/,
    ],
    [{ ...BUYERS, name: '!!!' }, '#/name', /letter/],
    [{ ...BUYERS, sources: ['src_none'] }, '#/sources/0', /unknown source/],
    [{ ...BUYERS, destinations: ['dst_none'] }, '#/destinations/0', /unknown destination/],
    [{ ...BUYERS, syncEvery: '10ms' }, '#/syncEvery', /at least 1s/],
  ])('an audience with %j is refused', async (body, pointer, detail) => {
    const { status, body: problem } = await make(body);
    expect(status).toBe(422);
    expect(problem.errors).toContainEqual({ pointer, detail: expect.stringMatching(detail) });
    expect((await control.get('/sources')).data).toEqual([]);
  });

  test('an audience is refused if another one or a computed trait has its key', async () => {
    await make(BUYERS);
    expect((await make({ ...BUYERS, name: 'vip customers!' })).body.errors[0].detail).toContain(
      'vip_customers',
    );
    const trait = { name: 'vipCustomers', compute: 'count', event: 'x' };
    expect((await make(trait, '/computed-traits')).status).toBe(422);
  });
});

describe('computed traits', () => {
  test('a computed trait is created and changed', async () => {
    const body = {
      name: 'Spent',
      compute: 'sum',
      event: 'Order Completed',
      property: 'total',
      window: '30d',
    };
    const made = await make(body, '/computed-traits');
    expect(made.body).toMatchObject({ ...body, key: 'spent' });
    const path = `/computed-traits/${made.body.id}`;
    expect((await control.call('patch', path).send({ window: null })).body).toMatchObject({
      window: null,
      version: 2,
    });
  });

  test('a computed trait needs a property if its function uses one', async () => {
    const { body } = await make({ name: 'Spent', compute: 'sum', event: 'x' }, '/computed-traits');
    expect(body.errors).toEqual([{ pointer: '#/property', detail: 'is required with sum' }]);
  });
});

describe('uploaded members', () => {
  const list = async () => (await make({ name: 'Listed' })).body.id as string;
  const lines = () =>
    control.memory
      .records('profiles.events')
      .map(({ key, value }) => [String(key), JSON.parse(String(value))]);

  test('members count once their upload is complete', async () => {
    const id = await list();
    const put = await control
      .call('put', `/audiences/${id}/members`)
      .send('"ann"\n{"userId":"bob"}\n\n"cyn"');
    expect([put.status, put.body.lines]).toEqual([202, 3]);
    expect(lines().map(([user, { listed }]) => [user, listed])).toEqual([
      ['ann', true],
      ['bob', true],
      ['cyn', true],
      [id, undefined],
    ]);
    const upload = { number: put.body.upload, full: true, lines: 3 };
    expect(entryOf(id).upload).toEqual(upload);
    const [, uploaded] = control.memory
      .records('config')
      .flatMap(({ key, headers }) =>
        key!.toString() === `audience:${id}` ? [JSON.parse(headers.note!)] : [],
      );
    expect(uploaded).toMatchObject({
      by: { id: 'admin' },
      changes: [{ field: 'upload', to: upload }],
    });
    const patch = await control
      .call('patch', `/audiences/${id}/members`)
      .send('{"remove":"ann"}\n{"add":"dan"}');
    expect(patch.body.upload).toBeGreaterThan(put.body.upload);
    const ends = lines().flatMap(([, event]) => (event.kind === 'uploaded' ? event : []));
    expect(ends).toMatchObject([
      { audience: id, number: put.body.upload, full: true, from: 0 },
      { audience: id, number: patch.body.upload, full: false, from: 4 },
    ]);
  });

  test.each([
    ['put', '"ann"\nnonsense', 'Line 2 is not JSON'],
    ['put', '{"user":"ann"}', 'Line 1 must be'],
    ['put', '""', 'Line 1 must be'],
    ['put', JSON.stringify('x'.repeat(513)), 'Line 1 has a user id'],
    ['put', '"a\\ud800"', 'Line 1 has a user id'],
    ['patch', '"ann"', 'Line 1 must be'],
  ] as const)(
    'a %s of members with the body %j is refused and changes nothing',
    async (method, body, detail) => {
      const id = await list();
      const answer = await control.call(method, `/audiences/${id}/members`).send(body);
      expect(answer.status).toBe(422);
      expect(answer.body.detail).toContain(detail);
      expect(entryOf(id).upload).toBeUndefined();
      expect(lines().filter(([, { kind }]) => kind === 'uploaded')).toEqual([]);
    },
  );

  test('wrong members are refused in a browser session too', async () => {
    const id = await list();
    const from = { Host: 'control.test', Origin: 'http://control.test' };
    const session = await supertest(control.app)
      .post('/api/v1/session')
      .set(from)
      .send({ token: ADMIN_TOKEN });
    const cookie = session.headers['set-cookie']![0]!.split(';')[0]!;
    const url = `/api/v1/audiences/${id}/members`;
    const answer = await supertest(control.app)
      .put(url)
      .set({ ...from, Cookie: cookie })
      .send('"ann"\n{"user":"bob"}\n');
    expect([answer.status, answer.body.detail]).toEqual([
      422,
      expect.stringContaining('Line 2 must be'),
    ]);
  });

  test('an audience with a condition accepts no members', async () => {
    const { id } = (await make(BUYERS)).body as { id: string };
    expect((await control.call('put', `/audiences/${id}/members`).send('"ann"')).status).toBe(409);
  });
});

describe('a preview', () => {
  const ask = (body: object) => control.call('post', '/audiences/preview').send(body);
  const PRO = { condition: 'user.traits.plan == "pro"' };
  let queryServer: RunningQueryServer | undefined;
  afterEach(() => queryServer?.stop());
  const pro = { traits: { src_1: { plan: ['pro', 0] as [string, number] } } };

  test('a preview is counted, shown and cancelled', async () => {
    queryServer = await startQueryServer(control.memory, { ann: pro, bob: {} });
    const made = await ask(PRO);
    expect([made.status, made.headers.location]).toEqual([
      201,
      `/api/v1/audiences/previews/${made.body.id}`,
    ]);
    const expected = {
      phase: 'done',
      members: 1,
      looked: 2,
      of: 2,
      exact: true,
      plusMinus: 0,
      failed: 1,
      detail: null,
    };
    expect(made.body).toMatchObject({
      ...expected,
      sample: [{ userId: 'ann', traits: { plan: 'pro' } }],
    });
    const path = `/audiences/previews/${made.body.id}`;
    expect(await control.get(path)).toEqual(made.body);
    expect((await control.call('delete', path)).status).toBe(204);
    expect((await control.call('get', path)).status).toBe(404);
    expect((await control.call('delete', path)).status).toBe(404);
  });

  test('a preview without all answers is still counting', async () => {
    queryServer = await startQueryServer(control.memory);
    queryServer.processors.clear();
    const { body } = await ask(PRO);
    expect(body).toMatchObject({
      phase: 'counting',
      exact: false,
      detail: expect.stringContaining('1 of 1'),
    });
    expect((await control.call('delete', `/audiences/previews/${body.id}`)).status).toBe(204);
  });

  test('a third preview of a token ends its oldest, and leaves those of other tokens', async () => {
    queryServer = await startQueryServer(control.memory);
    queryServer.processors.clear();
    const asReader = await control.as('read_only');
    const other = asReader('post', '/audiences/preview').send(PRO);
    const made = await Promise.all([other, ask(PRO), ask(PRO), ask(PRO)]);
    const [theirs, ...ours] = await Promise.all(
      made.map(async ({ body }) => await control.get(`/audiences/previews/${body.id}`)),
    );
    expect(theirs).toMatchObject({ phase: 'counting' });
    const ended = ours.filter(({ phase }) => phase !== 'counting');
    expect(ended).toEqual([
      expect.objectContaining({
        phase: 'failed',
        detail: expect.stringContaining('newer preview of the same token'),
      }),
    ]);
  });

  test.each([
    [{ condition: 'count("Order Completed"' }, '#/condition', /^line 1, column \d+: /],
    [{ ...PRO, sources: ['src_none'] }, '#/sources/0', /unknown source/],
    [{}, '#/condition', /is required/],
    [{ ...PRO, name: 'x' }, '#/name', /not a known field/],
  ])('a preview of %j is refused', async (body, pointer, detail) => {
    const { status, body: problem } = await ask(body);
    expect(status).toBe(422);
    expect(problem.errors).toContainEqual({ pointer, detail: expect.stringMatching(detail) });
  });

  test('a preview is refused with advice if no process answers', async () => {
    const { status, body, headers } = await ask(PRO);
    expect([status, headers['retry-after']]).toEqual([503, '5']);
    expect(body.detail).toContain('audiences');
  });
});

describe('members and syncs', () => {
  test('a page continues after a user id with a NUL or a line break', async () => {
    control = await controlUnderTest();
    const { id } = (await make(BUYERS)).body as { id: string };
    const told = { sentValues: { [id]: [true, 1_000, 1] as [boolean, number, number] } };
    const ids = ['a\0b', 'c\nd', 'e'];
    const queryServer = await startQueryServer(
      control.memory,
      Object.fromEntries(ids.map((user) => [user, told])),
    );
    const found: string[] = [];
    let next = '';
    do {
      const { body } = await control.call(
        'get',
        `/audiences/${id}/members?limit=1${next && `&after=${next}`}`,
      );
      found.push((body.data as { userId: string }[])[0]!.userId);
      next = body.next as string;
    } while (next && found.length < ids.length);
    expect(found).toEqual(ids);
    await queryServer.stop();
  });

  test('members and syncs are listed in pages', async () => {
    const database = await memoryDatabase();
    control = await controlUnderTest({ database });
    const { id } = (await make(BUYERS)).body as { id: string };
    const told = (atMs: number) => ({
      sentValues: { [id]: [true, atMs, 1] as [boolean, number, number] },
    });
    const queryServer = await startQueryServer(control.memory, {
      ann: told(1_000),
      bob: told(2_000),
      cyn: {},
    });
    const get = async (path: string) => await control.get(`/audiences/${id}/${path}`);
    const ann = { userId: 'ann', value: true, since: '1970-01-01T00:00:01.000Z' };
    const first = await get('members?limit=1');
    expect(first).toEqual({ data: [ann], next: expect.any(String) });
    expect(await get(`members?after=${first.next}`)).toMatchObject({
      data: [{ userId: 'bob' }],
      next: null,
    });
    expect(await get('members?user=ann')).toEqual({ data: [ann], next: null });
    expect(await get('members?user=cyn')).toEqual({ data: [], next: null });
    expect(await get('members?after=nonsense')).toMatchObject({ status: 422 });
    expect(await get('members?user=a%00b')).toMatchObject({
      status: 422,
      errors: [{ parameter: 'user', detail: 'must not contain a NUL character' }],
    });
    expect((await control.call('get', '/audiences/aud_none/members')).status).toBe(404);
    expect((await control.call('post', `/audiences/${id}/members`)).status).toBe(405);

    const sync = {
      definition: id,
      said: 0,
      members: 2,
      looked: 3,
      changed: 1,
      sent: 2,
      waiting: 0,
    };
    await saveSyncs(
      database,
      [1_000, 2_000].map((bucket) => ({ ...sync, bucket, at: bucket + 1, sent: bucket / 1_000 })),
    );
    const page = await get('syncs?limit=1');
    const { definition: _, said: __, ...shown } = sync;
    expect(page).toEqual({
      data: [{ at: '1970-01-01T00:00:02.001Z', ...shown }],
      next: expect.any(String),
    });
    expect(await get(`syncs?after=${page.next}`)).toMatchObject({
      data: [{ at: '1970-01-01T00:00:01.001Z' }],
      next: null,
    });
    expect(await get('sizes?from=1970-01-01T00:00:00Z&to=1970-01-01T00:00:09Z')).toEqual({
      data: [1_001, 2_001].map((at) => ({ at: new Date(at).toISOString(), members: 2 })),
    });
    expect(await get('sizes?from=1970-01-01T00:00:09Z&to=1970-01-01T00:00:00Z')).toMatchObject({
      errors: [{ parameter: 'from' }],
    });
    await queryServer.stop();
    await database.close();
  });
});
