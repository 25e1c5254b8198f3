import { type ControlUnderTest, controlUnderTest } from '../../../support/control';

let control: ControlUnderTest;
beforeEach(async () => {
  control = await controlUnderTest();
});
const make = async (name = 'Site') =>
  (await control.call('post', '/sources').send({ name })).body as Record<string, string>;

describe('sources', () => {
  test('sources are created, read, changed and deleted', async () => {
    const made = await control.call('post', '/sources').send({ name: 'Site' });
    expect(made.status).toBe(201);
    expect(made.body).toEqual({
      id: expect.stringMatching(/^src_[a-z0-9]+$/),
      name: 'Site',
      enabled: true,
      writeKey: expect.stringMatching(/^[0-9a-f]{32}$/),
      blockedEvents: [],
      limits: null,
      trust: 'server',
      oldWriteKeys: [],
      version: 1,
      createdAt: '2026-01-01T00:00:00.000Z',
      updatedAt: '2026-01-01T00:00:00.000Z',
    });
    expect(made.headers).toMatchObject({
      etag: '"1"',
      location: `/api/v1/sources/${made.body.id}`,
    });
    const path = `/sources/${made.body.id}`;
    expect(await control.get(path)).toEqual(made.body);
    const patched = await control.call('patch', path).send({ name: 'Shop', enabled: false });
    expect(patched.body).toMatchObject({
      name: 'Shop',
      enabled: false,
      writeKey: made.body.writeKey,
      version: 2,
    });
    expect(patched.headers.etag).toBe('"2"');
    expect((await control.call('delete', path)).status).toBe(204);
    expect((await control.call('get', path)).status).toBe(404);
    expect((await control.call('delete', path)).status).toBe(404);
  });

  test('sources are listed in pages', async () => {
    const ids: string[] = [];
    for (let i = 0; i < 5; i++) {
      control.clock.now = new Date(control.clock.now.getTime() + 1);
      ids.push((await make(`s${i}`)).id!);
    }
    const first = await control.call('get', '/sources?limit=2');
    expect(first.body.data.map((s: { id: string }) => s.id)).toEqual(ids.slice(0, 2));
    expect(first.body.next).toBe(ids[1]);
    const rest = await control.call('get', `/sources?limit=3&after=${first.body.next}`);
    expect(rest.body.data.map((s: { id: string }) => s.id)).toEqual(ids.slice(2));
    expect(rest.body.next).toBeNull();
  });

  test.each(['limit=0', 'limit=201', 'limit=x', 'limit=-1', 'after=a&after=b'])(
    'the page parameter %s is refused',
    async (query) => {
      const answer = await control.call('get', `/sources?${query}`);
      expect(answer.status).toBe(422);
      expect(answer.body.errors).toEqual([
        { parameter: query.split('=')[0], detail: expect.any(String) },
      ]);
    },
  );

  test('a rotated key keeps the old one valid for the overlap', async () => {
    const { id, writeKey } = await make();
    const rotated = await control.call('post', `/sources/${id}/rotate-key`).send({ overlap: '1h' });
    expect(rotated.status).toBe(200);
    expect(rotated.body.writeKey).not.toBe(writeKey);
    expect(rotated.body.oldWriteKeys).toEqual([
      { key: writeKey, until: '2026-01-01T01:00:00.000Z' },
    ]);
    const again = await control.call('post', `/sources/${id}/rotate-key`);
    expect(again.body.oldWriteKeys).toEqual([
      { key: rotated.body.writeKey, until: '2026-01-02T00:00:00.000Z' },
      { key: writeKey, until: '2026-01-01T01:00:00.000Z' },
    ]);
    control.clock.now = new Date('2026-01-01T02:00:00.000Z');
    expect((await control.get(`/sources/${id}`)).oldWriteKeys).toHaveLength(1);
    const ended = await control.call('post', `/sources/${id}/rotate-key`).send({ overlap: '0s' });
    expect(ended.body.oldWriteKeys).toEqual([]);
  });

  test.each([
    ['no fields', {}, ['#/name']],
    ['wrong types', { name: 7, enabled: 'yes' }, ['#/name', '#/enabled']],
    ['an empty name', { name: '  ' }, ['#/name']],
    ['a long name', { name: 'x'.repeat(201) }, ['#/name']],
    ['unknown keys', { name: 'a', writeKey: 'mine', 'a/b~c': 1 }, ['#/writeKey', '#/a~1b~0c']],
  ])('a source with %s is refused, and every bad field is named', async (_, body, pointers) => {
    const answer = await control.call('post', '/sources').send(body);
    expect(answer.status).toBe(422);
    expect(answer.headers['content-type']).toMatch(/^application\/problem\+json/);
    expect(answer.body).toMatchObject({
      status: 422,
      type: 'urn:waypost:problem:invalid_fields',
      instance: '/api/v1/sources',
    });
    expect(answer.body.errors.map((error: { pointer: string }) => error.pointer)).toEqual(pointers);
  });

  test('a source has limits and a trust setting, which a patch merges', async () => {
    const limits = { maxPerSecond: 50, burst: '10s' };
    const made = await control
      .call('post', '/sources')
      .send({ name: 'Site', limits, trust: 'browser' });
    expect(made.body).toMatchObject({
      limits: { ...limits, maxBytesPerSecond: null },
      trust: 'browser',
    });
    const path = `/sources/${made.body.id}`;
    const patched = await control
      .call('patch', path)
      .send({ limits: { maxPerSecond: null, maxBytesPerSecond: 9 } });
    expect(patched.body).toMatchObject({
      limits: { maxPerSecond: null, maxBytesPerSecond: 9, burst: '10s' },
      trust: 'browser',
    });
    const asRead = await control.call('patch', path).send({ limits: patched.body.limits });
    expect(asRead.body.limits).toEqual(patched.body.limits);
    const reset = await control.call('patch', path).send({ limits: null, trust: null });
    expect(reset.body).toMatchObject({ limits: null, trust: 'server' });
  });

  test.each([
    [{ limits: { maxPerSecond: 0 } }, '#/limits/maxPerSecond'],
    [{ limits: { maxBytesPerSecond: 1.5 } }, '#/limits/maxBytesPerSecond'],
    [{ limits: { burst: '1ms' } }, '#/limits/burst'],
    [{ limits: { maxPerMinute: 1 } }, '#/limits/maxPerMinute'],
    [{ limits: 5 }, '#/limits'],
    [{ trust: 'friend' }, '#/trust'],
  ])('a source with %j is refused', async (fields, pointer) => {
    const answer = await control.call('post', '/sources').send({ name: 'Site', ...fields });
    expect([answer.status, answer.body.errors]).toEqual([
      422,
      [{ pointer, detail: expect.any(String) }],
    ]);
  });

  test('a patch cannot remove the name of a source', async () => {
    const { id } = await make();
    const answer = await control
      .call('patch', `/sources/${id}`)
      .send({ name: null, enabled: null });
    expect(answer.body.errors).toEqual([{ pointer: '#/name', detail: 'is required' }]);
  });

  test('an invalid overlap is refused', async () => {
    const { id } = await make();
    for (const overlap of ['soon', '31d', 5]) {
      const answer = await control.call('post', `/sources/${id}/rotate-key`).send({ overlap });
      expect([answer.status, answer.body.errors[0].pointer]).toEqual([422, '#/overlap']);
    }
  });

  test('two concurrent patches both apply', async () => {
    const { id } = await make();
    await Promise.all([
      control.call('patch', `/sources/${id}`).send({ name: 'both' }),
      control.call('patch', `/sources/${id}`).send({ enabled: false }),
    ]);
    expect(await control.get(`/sources/${id}`)).toMatchObject({
      name: 'both',
      enabled: false,
      version: 3,
    });
  });
});

describe('If-Match', () => {
  test.each([
    ['"1"', 200],
    ['*', 200],
    ['"7", "1"', 200],
    ['"2"', 412],
    ['W/"1"', 412],
    ['1', 412],
  ])('If-Match %s responds with %d', async (tag, status) => {
    const { id } = await make();
    const answer = await control
      .call('patch', `/sources/${id}`)
      .set('If-Match', tag)
      .send({ name: 'new' });
    expect(answer.status).toBe(status);
    expect((await control.get(`/sources/${id}`)).name).toBe(status === 200 ? 'new' : 'Site');
    expect((await control.call('delete', `/sources/${id}`).set('If-Match', '"9"')).status).toBe(
      412,
    );
  });
});

describe('a write key', () => {
  test('a write key is encrypted in config, and administrators see it', async () => {
    const made = await control.call('post', '/sources').send({ name: 'Site' });
    const rotated = await control.call('post', `/sources/${made.body.id}/rotate-key`).send({});
    const keys = [rotated.body.writeKey, made.body.writeKey];
    expect(rotated.body.oldWriteKeys).toMatchObject([{ key: made.body.writeKey }]);
    const read = await control.get(`/sources/${made.body.id}`);
    expect([read.writeKey, read.oldWriteKeys[0].key]).toEqual(keys);
    const stored = control.memory.records('config').map(({ value }) => value!.toString());
    for (const key of keys) {
      expect(key).toMatch(/^[0-9a-f]{32}$/);
      expect(stored.join()).not.toContain(key);
    }
  });
});
