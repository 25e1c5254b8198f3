import supertest from 'supertest';
import { type Database } from '../../../../services/control/history/database';
import { ADMIN_TOKEN, type ControlUnderTest, controlUnderTest } from '../../../support/control';
import { memoryDatabase } from '../../../support/database';
import { eventually } from '../../../support/eventually';

describe('the audit trail', () => {
  let database: Database;
  let control: ControlUnderTest;
  beforeAll(async () => {
    database = await memoryDatabase();
    control = await controlUnderTest({ database, timeoutMs: -9_990 });
  });
  afterAll(async () => {
    await control.replays.stop();
    await database.close();
  });

  const trail = async () =>
    (await control.get('/audit')).data as {
      kind: string;
      action: string;
      entry: string;
      name: string;
      version: unknown;
    }[];

  test('the trail contains actions without a change, and no refused ones', async () => {
    const deletion = await control.call('post', '/deletions').send({ userIds: ['kim'] });
    await control.call('post', '/deletions').send({ userIds: [] });
    await control.call('post', '/replays/rpl_none/cancel');
    await supertest(control.app).post('/api/v1/session').send({ token: 'wrong' });
    await supertest(control.app).post('/api/v1/session').send({ token: ADMIN_TOKEN });
    const body = await control.destination();
    // Nothing delivers here, but the test was sent.
    expect((await control.call('post', `/destinations/${body.id}/test`)).status).toBe(504);
    await eventually(async () => expect(await trail()).toHaveLength(3));
    const rows = (await trail()).map(({ kind, action, entry }) => `${action} ${kind} ${entry}`);
    expect(rows.sort()).toEqual([
      `created deletion ${deletion.body.id}`,
      'created session admin',
      `tested destination ${body.id}`,
    ]);
    const [row] = await trail();
    expect(row).toMatchObject({ version: null, changes: [], by: { id: 'admin', role: 'admin' } });
  });

  test("the trail names an action's destination, even if deleted, without a version", async () => {
    const made = {
      name: 'Orders',
      type: 'webhooks',
      webhooks: [{ url: 'https://a.example/' }],
      sources: [],
    };
    const { body, headers } = await control
      .call('post', '/destinations')
      .send({ ...made, enabled: true });
    for (const action of ['test', 'retry', 'cancel']) {
      await control.call('post', `/destinations/${body.id}/${action}`).send({});
    }
    await control.call('delete', `/destinations/${body.id}`).set('If-Match', headers.etag!);
    const rows = async () => (await trail()).filter(({ entry }) => entry === body.id);
    await eventually(async () => expect(await rows()).toHaveLength(3));
    expect(
      (await rows()).map(({ action, name, version }) => [action, name, version]).sort(),
    ).toEqual([
      ['cancelled', 'Orders', null],
      ['retried', 'Orders', null],
      ['tested', 'Orders', null],
    ]);
  });

  test('the trail has an action whose client disconnected before the response', async () => {
    const waiting = await controlUnderTest({ database, timeoutMs: -9_000 });
    const webhooks = [{ url: 'https://a.example/' }];
    const made = { name: 'Hooks', type: 'webhooks', webhooks, sources: [] };
    const { body } = await waiting.call('post', '/destinations').send(made);
    const server = waiting.app.listen(0);
    const test = supertest(server).post(`/api/v1/destinations/${body.id}/test`);
    test.set('Authorization', `Bearer ${ADMIN_TOKEN}`).on('error', () => undefined);
    void test.end(() => undefined);
    await eventually(() => expect(waiting.memory.records('webhooks')).toHaveLength(1));
    test.abort();
    await eventually(async () =>
      expect((await trail()).filter(({ entry }) => entry === body.id)).toMatchObject([
        { action: 'tested' },
      ]),
    );
    server.close();
  });
});
