import supertest from 'supertest';
import { actOf } from '../../../../services/control/access/acts';
import { type Database } from '../../../../services/control/history/database';
import { ADMIN_TOKEN, type ControlUnderTest, controlUnderTest } from '../../../support/control';
import { memoryDatabase } from '../../../support/database';
import { eventually } from '../../../support/eventually';

it.each([
  ['POST', '/deletions', 'created deletion undefined'],
  ['POST', '/deletions/', 'created deletion undefined'],
  ['GET', '/deletions', undefined],
  ['POST', '/replays', 'created replay undefined'],
  ['POST', '/replays/rpl_1/cancel', 'cancelled replay rpl_1'],
  ['POST', '/replays/rpl_1/resume', 'resumed replay rpl_1'],
  ['POST', '/deliveries/dlv_1/replay', 'replayed delivery dlv_1'],
  ['POST', '/destinations/dst_1/test', 'tested destination dst_1'],
  ['POST', '/alerts/test', 'tested destination alerts'],
  ['POST', '/notices/ntc_1/acknowledge', 'acknowledged notice ntc_1'],
  ['POST', '/session', 'created session undefined'],
  ['DELETE', '/session', 'deleted session undefined'],
  // What changes `config` has a note there.
  ['POST', '/destinations', undefined],
  ['PATCH', '/alerts', undefined],
])('%s %s', (method, path, expected) => {
  const act = actOf(method, path);
  expect(act && `${act.action} ${act.kind} ${String(act.entry)}`).toBe(expected);
});

describe('the audit trail', () => {
  let database: Database;
  let control: ControlUnderTest;
  beforeAll(async () => {
    database = await memoryDatabase();
    control = await controlUnderTest({ database, timeoutMs: -9_990 });
  });
  afterAll(() => database.close());

  const trail = async () =>
    (await control.call('get', '/audit')).body.data as {
      kind: string;
      action: string;
      entry: string;
      version: unknown;
    }[];

  it('has what was done beside changes, and not what was refused', async () => {
    const deletion = await control.call('post', '/deletions').send({ userIds: ['kim'] });
    await control.call('post', '/deletions').send({ userIds: [] });
    await control.call('post', '/replays/rpl_none/cancel');
    await supertest(control.app).post('/api/v1/session').send({ token: 'wrong' });
    await supertest(control.app).post('/api/v1/session').send({ token: ADMIN_TOKEN });
    const webhooks = [{ url: 'https://a.example/' }];
    const { body } = await control
      .call('post', '/destinations')
      .send({ name: 'Hooks', type: 'webhooks', webhooks, sources: [] });
    // Nobody delivers here: it was sent all the same.
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
});
