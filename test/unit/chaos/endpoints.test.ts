import { type Endpoints, openEndpoints } from '../../../tools/chaos/endpoints';
import { type Role } from '../../../tools/chaos/scenario';
import { DELETION_INVARIANTS } from '../../../tools/harness/deleted-users';
import { type Random, randomOf } from '../../../tools/harness/random';
import { STANDING_INVARIANTS } from '../../../tools/harness/standing-invariants';

/**
 * The endpoints of a chaos run notice a delivery process that breaks a standing invariant. Which of
 * these requests a fault explains, and the invariants that show only at the end of a run, is in
 * verify-run.test.ts.
 */

const NOW = Date.now();
/** Each endpoint does what it does at times. */
const always: Random = { ...randomOf(1), next: () => 0 };

let endpoints: Endpoints;
beforeEach(async () => {
  endpoints = await openEndpoints(always);
});
afterEach(() => endpoints.close());

async function send(role: Role, call: object = {}): Promise<number> {
  const body = JSON.stringify({
    type: 'track',
    userId: 'kim',
    timestamp: new Date(NOW).toISOString(),
    ...call,
  });
  const headers = {
    'webhook-id': 'dlv_1',
    'webhook-timestamp': String(Math.floor(NOW / 1_000)),
    connection: 'close',
  };
  return (await fetch(endpoints.url(role), { method: 'POST', body, headers })).status;
}
const found = () => endpoints.breaches.map(({ what }) => what);

type Case = [what: string, breaks: () => Promise<unknown>];

const BROKEN: Case[] = [
  [
    'attempted before the time asked for',
    async () => {
      expect(await send('throttled')).toBe(429);
      await send('throttled');
    },
  ],
  ['two attempts at the same time', () => Promise.all([send('slow'), send('slow')])],
  [
    'sent to a URL that is off',
    async () => {
      endpoints.goneNow();
      expect(await send('gone')).toBe(410);
      endpoints.invariants.switchedOff('gone');
      await send('gone');
    },
  ],
  [
    'attempted after its cancellation',
    async () => {
      endpoints.invariants.cancelled('dlv_1');
      await send('steady');
    },
  ],
  [
    'an older call after the delete of its user',
    async () => {
      await send('steady', { type: 'delete' });
      await send('steady', { timestamp: new Date(NOW - 1).toISOString() });
    },
  ],
  [
    'an older call two seconds after the deletion of its user',
    async () => {
      endpoints.users.deleted('kim', NOW - 10_000);
      await send('steady', { timestamp: new Date(NOW - 10_001).toISOString() });
    },
  ],
];

test.each(BROKEN)('%s', async (what, breaks) => {
  await breaks();
  expect(found()).toEqual([what]);
});

test('nothing is noticed of a process that keeps all invariants', async () => {
  endpoints.users.deleted('kim', NOW - 10_000);
  expect([await send('steady'), await send('steady')]).toEqual([200, 200]);
  expect(await send('slow')).toBe(200);
  expect(await send('throttled')).toBe(429);
  expect(found()).toEqual([]);
});

test('each invariant has a process that breaks it', () => {
  expect(BROKEN.map(([what]) => what)).toEqual([...STANDING_INVARIANTS, ...DELETION_INVARIANTS]);
});
