import { createEncryptor } from '../../../../shared/config/encryption';
import { secretFields } from '../../../../shared/model/secret-fields';
import { type Destination } from '../../../../shared/model/config';
import { requireRetention } from '../../../../shared/runtime/retention';
import { type ControlUnderTest, controlUnderTest, SECRET_KEY } from '../../../support/control';

const DAY_MS = 86_400_000;

let control: ControlUnderTest;
beforeEach(async () => {
  control = await controlUnderTest();
});

const aBody = (over: object = {}) => ({
  name: 'Hooks',
  type: 'webhooks',
  sources: [],
  webhooks: [{ url: 'https://a.example.com/in' }],
  ...over,
});
const post = (over: object = {}) => control.call('post', '/destinations').send(aBody(over));
const make = async (over: object = {}) => (await post(over)).body;
const patch = (id: string, body: object) => control.call('patch', `/destinations/${id}`).send(body);
const pointers = (body: { errors: { pointer: string }[] }) =>
  body.errors.map(({ pointer }) => pointer);

function stored(id: string): Destination {
  const last = control.memory
    .compacted('config')
    .find((record) => record.key?.toString() === `destination:${id}`);
  return JSON.parse(last!.value!.toString()).data as Destination;
}

describe('a retry plan', () => {
  const retry = { delays: ['7s', '1m', '45s'], window: '72h', timeout: '30s', on: [404, 409, 404] };

  test('a destination stores its plan and shows the delays that its tiers allow', async () => {
    const { id, retry: shown } = await make({ retry });
    expect(shown).toEqual({
      delays: ['7s', '1m', '45s'],
      effectiveDelays: ['10s', '1m', '50s'],
      window: '3d',
      timeout: '30s',
      on: [404, 409],
    });
    expect(stored(id).retry).toEqual({
      delaysMs: [7_000, 60_000, 45_000],
      windowMs: 259_200_000,
      timeoutMs: 30_000,
      on: [404, 409],
    });
  });

  test('a plan without delays shows the tiers of the installation', async () => {
    const { retry: shown } = await make({ retry: { timeout: '10s' } });
    expect(shown).toEqual({
      delays: null,
      effectiveDelays: ['10s', '1m', '5m', '15m', '30m'],
      window: null,
      timeout: '10s',
      on: null,
    });
  });

  test('a window must not exceed the shortest retention of the topics', async () => {
    control = await controlUnderTest({
      retention: { messages: 3 * DAY_MS, webhooks: DAY_MS, attempts: DAY_MS / 24 },
    });
    const { body } = await post({ retry: { window: '25h' } });
    const detail =
      'must be at most 1d, which topics keep in this installation (WAYPOST_TOPIC_RETENTION)';
    expect(body.errors).toEqual([{ pointer: '#/retry/window', detail }]);
    expect((await post({ retry: { window: '1d' } })).status).toBe(201);
  });

  test('control refuses a retention shorter than the window of a stored destination', async () => {
    const ids = [
      (await make({ retry })).id,
      (await make()).id,
      (await make({ retry })).id,
    ] as string[];
    const destinations = ids.map((id) => ({ data: stored(id) }));
    expect(() =>
      requireRetention({ webhooks: 3 * DAY_MS, attempts: DAY_MS }, destinations),
    ).not.toThrow();
    const problem =
      'WAYPOST_TOPIC_RETENTION: webhooks must keep at least 72h, the window of destination';
    expect(() => requireRetention({ webhooks: DAY_MS }, destinations)).toThrow(
      `${problem} ${ids[0]!}\n${problem} ${ids[2]!}`,
    );
  });

  test('GET /about shows the plan of destinations without their own', async () => {
    const { body } = await control.call('get', '/about');
    expect(body.retry).toEqual({ delays: ['10s', '1m', '5m', '15m', '30m'], window: '4h' });
  });

  test('GET /about shows the networks that webhooks may reach to administrators only', async () => {
    const networks = { allowed: ['10.0.0.0/8'], forbidden: ['10.9.0.0/16'] };
    control = await controlUnderTest({ networks });
    expect((await control.get('/about')).networks).toEqual(networks);
    const others = await (await control.as('operator'))('get', '/about');
    expect(others.body).not.toHaveProperty('networks');
  });

  test('a refused duration is answered with examples within its bounds', async () => {
    const { body } = await post({ retry: { timeout: '31s' } });
    expect(body.errors[0].detail).toBe('must be a duration such as 10s, at least 1s, at most 30s');
  });

  test('PATCH changes parts of a plan, accepts it as read, and removes it with null', async () => {
    const { id } = await make({ retry });
    const changed = await patch(id, { retry: { timeout: '2s', on: null } });
    expect(changed.body.retry).toMatchObject({
      delays: ['7s', '1m', '45s'],
      timeout: '2s',
      on: null,
    });
    const again = await patch(id, { retry: changed.body.retry, name: 'Other' });
    expect(again.body.retry).toEqual(changed.body.retry);
    expect((await patch(id, { name: 'Third' })).body.retry).toEqual(changed.body.retry);
    expect((await patch(id, { retry: null })).body.retry).toBeNull();
    expect(stored(id)).not.toHaveProperty('retry');
  });

  test.each([
    [{ delays: ['4s', '10s', '4999ms'] }, ['#/retry/delays/0', '#/retry/delays/2']],
    [{ delays: [] }, ['#/retry/delays']],
    [{ delays: ['73h'] }, ['#/retry/delays/0']],
    [{ delays: 'soon' }, ['#/retry/delays']],
    [{ window: '59s' }, ['#/retry/window']],
    [{ window: '73h' }, ['#/retry/window']],
    [{ timeout: '999ms' }, ['#/retry/timeout']],
    [{ timeout: '31s' }, ['#/retry/timeout']],
    [{ on: [200, 404, 600] }, ['#/retry/on/0', '#/retry/on/2']],
    [{ delay: ['10s'] }, ['#/retry/delay']],
  ])('a plan with %j is refused by field, and nothing is stored', async (bad, expected) => {
    const answer = await post({ retry: bad });
    expect([answer.status, pointers(answer.body)]).toEqual([422, expected]);
    const { id } = await make();
    expect((await patch(id, { retry: bad })).status).toBe(422);
    expect(stored(id)).not.toHaveProperty('retry');
  });
});

describe('a proxy', () => {
  const PROXY = 'http://me:planted-password@proxy.example:3128';

  test('the user info of a proxy is sealed, and shown in no response, log or record', async () => {
    const { id, proxy } = await make({ proxy: PROXY });
    expect(proxy).toBe('http://***@proxy.example:3128');
    const { proxy: sealed } = stored(id);
    expect(sealed?.address).toBe('http://proxy.example:3128');
    const open = createEncryptor([SECRET_KEY]).decrypt(
      sealed!.userInfo!,
      secretFields.proxy(id, 'http://proxy.example:3128'),
    );
    expect(open.text).toBe('me:planted-password');
    const refused = await patch(id, {
      proxy: 'http://me:planted-password@proxy.example:3128/path',
    });
    const audit = await control.call('get', '/audit');
    const records = control.memory
      .records('config')
      .map(({ value, headers }) => [value?.toString(), headers]);
    const everything = [JSON.stringify(records), control.logged(), refused.text, audit.text].join(
      '\n',
    );
    expect(everything).not.toContain('planted');
  });

  test.each([
    'none',
    'socks5://10.0.0.1:1080',
    'socks5://u:p%40ss@[::1]:1080',
    'http://proxy:8080/',
  ])('a destination accepts the proxy %s', async (proxy) =>
    expect((await post({ proxy })).status).toBe(201),
  );

  test.each([
    'proxy.example:3128',
    'https://proxy.example:3128',
    'socks4://proxy.example:1080',
    'http://proxy.example',
    'http://proxy.example:0',
    'http://proxy.example:99999',
    'http://a:b:c@d:1/x',
    'http://:p@proxy.example:1',
    'http://u:%zz@proxy.example:1',
    'http://u:%0d%0a@proxy.example:1',
    'http://u%3a:p@proxy.example:1',
    '',
  ])('a destination refuses the proxy "%s"', async (proxy) => {
    const answer = await post({ proxy });
    expect([answer.status, pointers(answer.body)]).toEqual([422, ['#/proxy']]);
  });

  test('PATCH keeps the user info with *** only for the same proxy', async () => {
    const { id } = await make({ proxy: PROXY });
    const { userInfo } = stored(id).proxy!;
    expect((await patch(id, { proxy: 'http://***@proxy.example:3128', name: 'A' })).status).toBe(
      200,
    );
    expect((await patch(id, { name: 'B' })).status).toBe(200);
    expect(stored(id).proxy).toEqual({ address: 'http://proxy.example:3128', userInfo });
    const elsewhere = await patch(id, { proxy: 'http://***@evil.example:3128' });
    expect([elsewhere.status, pointers(elsewhere.body)]).toEqual([422, ['#/proxy']]);
    expect((await patch(id, { proxy: null })).body.proxy).toBeNull();
  });

  test('PATCH keeps stored header values only while the proxy stays the same', async () => {
    const webhooks = [{ url: 'https://a.example.com/in', headers: { Authorization: 'Bearer x' } }];
    const { id } = await make({ webhooks });
    const kept = [{ url: 'https://a.example.com/in', headers: { Authorization: { keep: true } } }];
    const alone = await patch(id, { proxy: PROXY });
    expect([alone.status, pointers(alone.body)]).toEqual([422, ['#/proxy']]);
    const keeping = await patch(id, { proxy: PROXY, webhooks: kept });
    expect([keeping.status, pointers(keeping.body)]).toEqual([
      422,
      ['#/webhooks/0/headers/Authorization'],
    ]);
    expect((await patch(id, { proxy: PROXY, webhooks })).status).toBe(200);
    expect(
      (await patch(id, { proxy: 'http://other:login@proxy.example:3128', webhooks: kept })).status,
    ).toBe(200);
    expect((await patch(id, { proxy: 'none' })).status).toBe(422);
  });
});
