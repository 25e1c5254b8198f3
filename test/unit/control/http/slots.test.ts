import { createServer, type Server } from 'node:http';
import { type AddressInfo } from 'node:net';
import { type Database } from '../../../../services/control/history/database';
import { TokenSlots } from '../../../../services/control/http/slots';
import { controlUnderTest } from '../../../support/control';
import { eventually } from '../../../support/eventually';

/** A token with many requests waits for itself, and others do not wait for it. */

let server: Server;
afterEach(() => server.close());

/** A history that answers lists of deliveries only when it is told to. */
function heldDatabase() {
  const held: (() => void)[] = [];
  let isHeld = false;
  const query = (sql: string) =>
    isHeld && sql.includes('from waypost.deliveries')
      ? new Promise<never[]>((resolve) => held.push(() => resolve([])))
      : Promise.resolve([]);
  const database: Database = {
    kind: 'server',
    broken: undefined,
    query,
    transaction: (work) => work({ kind: 'server', query, copy: () => Promise.resolve() }),
    close: () => Promise.resolve(),
  };
  return {
    database,
    hold: () => (isHeld = true),
    waiting: () => held.length,
    release: () => {
      isHeld = false;
      for (const answer of held.splice(0)) answer();
    },
  };
}

test('of 200 dear requests a reader has four in the history, and others are answered', async () => {
  const { database, hold, waiting, release } = heldDatabase();
  const control = await controlUnderTest({ database });
  const tokenOf = async (name: string) => {
    const { body } = await control.call('post', '/tokens').send({ name, role: 'read_only' });
    return (body as { token: string }).token;
  };
  const [attacker, other] = [await tokenOf('attacker'), await tokenOf('other')];
  server = createServer(control.app).listen(0, '127.0.0.1');
  await eventually(() => expect(server.listening).toBe(true));
  const at = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/api/v1`;
  const get = async (path: string, token: string) => {
    const { status } = await fetch(at + path, { headers: { authorization: `Bearer ${token}` } });
    return status;
  };
  hold();
  const statuses: number[] = [];
  const all = Array.from({ length: 200 }, async () => {
    statuses.push(await get('/deliveries', attacker));
  });
  await eventually(() => expect(statuses).toHaveLength(96));
  expect(new Set(statuses)).toEqual(new Set([429]));
  // Each waits for its first answer.
  await eventually(() => expect(waiting()).toBe(4));
  const others = get('/deliveries', other);
  await eventually(() => expect(waiting()).toBe(5));
  expect(await get('/sources', other)).toBe(200);
  release();
  expect(await others).toBe(200);
  await Promise.all(all);
  expect(statuses.filter((status) => status === 200)).toHaveLength(104);
});

test('a request that fails leaves its slot to the next, in their order', async () => {
  server = createServer();
  const slots = new TokenSlots({ atOnce: 4, refusal: '' });
  const order: number[] = [];
  const ends: (() => void)[] = [];
  const reads = Array.from({ length: 7 }, (_, i) =>
    slots
      .use('tok_1', () => {
        order.push(i);
        return new Promise<void>((_resolve, reject) => ends.push(() => reject(new Error('away'))));
      })
      .catch(() => undefined),
  );
  await eventually(() => expect(order).toEqual([0, 1, 2, 3]));
  ends[2]!();
  await eventually(() => expect(order).toEqual([0, 1, 2, 3, 4]));
  for (let i = 0; i < 7; i++) {
    await eventually(() => expect(ends.length).toBeGreaterThan(i));
    ends[i]!();
  }
  await Promise.all(reads);
  expect(order).toEqual([0, 1, 2, 3, 4, 5, 6]);
  expect(await slots.use('tok_1', () => Promise.resolve('free'))).toBe('free');
});
