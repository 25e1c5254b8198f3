import supertest from 'supertest';
import { mayAct, OPERATION_IDS } from '../../../../shared/api/access';
import { operationOf } from '../../../../shared/api/operations';
import { type Role, ROLES } from '../../../../shared/model/config';
import { type ControlUnderTest, controlUnderTest } from '../../../support/control';

/**
 * Every operation with a token of every role. The ids that they ask for do not exist, so that they
 * change nothing.
 */

type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';

let control: ControlUnderTest;
let tokens: Record<Role, string>;
beforeAll(async () => {
  control = await controlUnderTest();
  const made = await Promise.all(
    ROLES.map(async (role) => {
      const { body } = await control.call('post', '/tokens').send({ name: role, role });
      return [role, body.token as string] as const;
    }),
  );
  tokens = Object.fromEntries(made) as Record<Role, string>;
});

describe.each(ROLES)('as %s', (role) => {
  test.each(OPERATION_IDS)('%s is allowed or refused by its role', async (id) => {
    const { role: needed, stream } = operationOf(id);
    if (needed === 'none' || stream) return;
    const [method, path] = id.toLowerCase().split(' ') as [Method, string];
    const asked = supertest(control.app)[method](`/api/v1${path.replace('{id}', 'none')}`);
    const answer = await asked.set('Authorization', `Bearer ${tokens[role]}`).send();
    if (mayAct(role, needed)) expect([401, 403]).not.toContain(answer.status);
    else expect([answer.status, answer.body.type]).toEqual([403, 'urn:waypost:problem:forbidden']);
  });
});
