import supertest from 'supertest';
import { type Notice } from '../../../../services/control/alerts/notice';
import { OPERATION_IDS } from '../../../../shared/api/access';
import { operationOf, RESPONSES } from '../../../../shared/api/operations';
import { addNotices } from '../../../../services/control/alerts/store';
import { recordDeletion } from '../../../../services/control/history/deletions';
import { type Database } from '../../../../services/control/history/database';
import { storeEvents } from '../../../support/store-events';
import { addJob } from '../../../../services/control/replays/store';
import { type Job, newJob } from '../../../../services/control/replays/job';
import { encodeDelivery } from '../../../../shared/model/delivery';
import { openApi } from '../../../../services/control/app/openapi';
import { ADMIN_TOKEN, type ControlUnderTest, controlUnderTest } from '../../../support/control';
import { memoryDatabase } from '../../../support/database';
import { type RunningQueryServer, startQueryServer } from '../../../support/profiles';
import { aDeath, aFailure, at } from '../../../support/events';
import { aDelivery } from '../../../support/factories';

let control: ControlUnderTest;
let ids: Record<string, string>;
let database: Database;
let queryServer: RunningQueryServer;
beforeAll(async () => {
  database = await memoryDatabase();
  await recordDeletion(database, {
    id: 'del_1',
    at: 0,
    users: ['lee'],
    anonymous: [],
    sources: null,
    affected: [],
    messages: 0,
  });
  await storeEvents(database, [aFailure(), aFailure({ n: 2, hop: 1, at: at(20) })]);
});
afterAll(() => database.close());
afterEach(async () => {
  await control.replays.stop();
  await queryServer.stop();
});
beforeEach(async () => {
  control = await controlUnderTest({ timeoutMs: -9_990, database });
  queryServer = await startQueryServer(control.memory);
  const source = await control.call('post', '/sources').send({ name: 'Site' });
  const webhooks = [{ url: 'https://a.example.com/', headers: { 'X-A': 'a' } }];
  const body = {
    name: 'Hooks',
    type: 'webhooks',
    sources: [source.body.id],
    webhooks,
    types: ['track'],
    signature: { ed25519: true },
    enabled: true,
  };
  const destination = await control.call('post', '/destinations').send(body);
  const about = { delivery: 'dlv_2', destination: destination.body.id as string };
  await database.query(`delete from waypost.deliveries where id in ('dlv_2', 'dlv_3')`);
  const held = { topic: 'webhooks', partition: 0, offset: 0 };
  const waiting = aFailure({ ...about, delivery: 'dlv_3' });
  await storeEvents(database, [aDeath({ ...about, record: held }), waiting]);
  const headers = encodeDelivery({ ...DELIVERY, id: 'dlv_2', destinationId: about.destination });
  control.memory.append([{ topic: 'webhooks', key: 'k', value: '{}', headers }]);
  ids = {
    sources: source.body.id,
    destinations: destination.body.id,
    deliveries: 'dlv_1',
    deletions: 'del_1',
  };
  ids.tokens = (
    await control.call('post', '/tokens').send({ name: 'First', role: 'read_only' })
  ).body.id;
  ids['deliveries/replay'] = 'dlv_2';
  ids['deliveries/retry'] = 'dlv_3';
  ids.audiences = (await control.call('post', '/audiences').send({ name: 'Buyers' })).body.id;
  ids['computed-traits'] = (await control.call('post', '/computed-traits').send(TRAIT)).body.id;
  ids.notices = 'ntc_1';
  await control.call('patch', '/alerts').send({ webhooks });
  await addNotices(database, [NOTICE]);
  for (const [name, status] of [
    ['replays', 'running'],
    ['replays/resume', 'cancelled'],
  ] as const) {
    ids[name] = `rpl_${status}`;
    await database.query('delete from waypost.replays where id = $1', [ids[name]]);
    await addJob(database, aJob(ids[name], status, about.destination), { owner: 'none', forMs: 0 });
  }
});

const PRO = { condition: 'user.traits.plan == "pro"' };
const TRAIT = { name: 'Orders', compute: 'count', event: 'Order Completed' };

const DELIVERY = aDelivery({ acceptedAt: 1, expiresAt: 1, attempt: 1 });

const NOTICE: Notice = {
  id: 'ntc_1',
  at: 0,
  destination: 'dst_1',
  name: 'Hooks',
  kind: 'failing',
  since: 0,
  endedAt: null,
  failures: 2,
  deadLetters: 0,
  partlyDelivered: 0,
  fullProfiles: 0,
  expiresAt: null,
  webhook: null,
  origin: 'https://a.example',
  followedBy: null,
  error: 'status 503',
  alert: 'none',
  acknowledged: null,
};

function aJob(id: string, status: 'running' | 'cancelled', destination: string): Job {
  const scope = {
    destination,
    origin: 'dead_letters' as const,
    from: null,
    to: 1,
    status: null,
    type: null,
    includeDelivered: false,
    onlyFailedUrls: false,
    reason: null,
  };
  const made = { id, now: new Date(0), places: [] };
  return { ...newJob({ scope, preview: false, maxPerSecond: 1 }, made), status, pass: 'running' };
}

test('the document is public, and every reference in it resolves', async () => {
  const { body, status } = await supertest(control.app).get('/api/v1/openapi.json');
  expect([status, body.openapi]).toEqual([200, '3.1.0']);
  const references = [...JSON.stringify(body).matchAll(/"\$ref":"#\/([^"]+)"/g)].map((match) =>
    match[1]!.split('/'),
  );
  expect(references.length).toBeGreaterThan(10);
  for (const path of references) {
    expect(body).toHaveProperty(path);
  }
});

test('the schema of a patch allows null for optional fields', async () => {
  const { body } = await supertest(control.app).get('/api/v1/openapi.json');
  const patch =
    body.paths['/destinations/{id}'].patch.requestBody.content['application/json'].schema;
  expect(patch).not.toHaveProperty('required');
  expect(patch.properties.name.type).toBe('string');
  expect(JSON.stringify(patch.properties.sharedSecret)).toContain('"null"');
});

/** A request with a token has no session to end. sessions.long.test.ts ends sessions. */
const NO_SESSION = 404;

// The tests of events check the shape of streams.
const operations = OPERATION_IDS.filter((id) => !operationOf(id).stream);
test.each(operations)('%s exists and responds as documented', async (operation) => {
  const [method, path] = operation.toLowerCase().split(' ') as [string, string];
  const kind = path.split('/')[1]!;
  const id = ids[path.slice(1).replace('/{id}', '')] ?? ids[kind] ?? '';
  const [{ id: webhook }] = (await control.get(`/destinations/${ids.destinations}`)).webhooks;
  const made = {
    '/destinations/{id}/enable-webhook': { webhook },
    '/destinations/{id}/disable-webhook': { webhook },
    '/sources': { name: 'Second' },
    '/deletions': { userIds: ['kim'] },
    '/replays': { destination: ids.destinations },
    '/tokens': { name: 'Second', role: 'operator' },
    '/notices/acknowledge': { ids: [ids.notices] },
    '/destinations/preview': { destination: ids.destinations },
    '/filters/try': { filter: 'type == "track"' },
    '/session': { token: ADMIN_TOKEN },
    '/audiences/preview': PRO,
    '/audiences': { name: 'Pros', ...PRO },
    '/computed-traits': { ...TRAIT, name: 'Completed' },
    '/destinations/{id}/retry': {},
    '/destinations': {
      name: 'Second',
      type: 'webhooks',
      sources: [],
      webhooks: [{ url: 'https://b.example.com/' }],
    },
  }[path];
  const preview = path.startsWith('/audiences/previews')
    ? await control.call('post', '/audiences/preview').send(PRO)
    : null;
  const request = control
    .call(method as 'get', path.replace('{id}', preview?.body.id ?? id))
    .query(path === '/lookup' ? { message: 'm-1' } : {});
  const answer = await (method === 'post' ? request.send(made ?? {}) : request);
  const [status, name] = operationOf(operation).ok;
  // Nothing delivers here. The integration tests check the response of a test send.
  const expected = name === 'Test' ? 504 : operation === 'DELETE /session' ? NO_SESSION : status;
  expect(answer.status).toBe(expected);
  if (name) {
    expect(() =>
      RESPONSES[expected === status ? name : 'Problem'].parse(answer.body),
    ).not.toThrow();
  }
});

test('the document names the session cookie with and without TLS', () => {
  expect(openApi()).toMatchObject({
    security: [{ token: [] }, { session: [] }, { tlsSession: [] }],
    components: {
      securitySchemes: {
        session: { name: 'waypost_session' },
        tlsSession: { name: '__Host-waypost_session' },
      },
    },
  });
});
