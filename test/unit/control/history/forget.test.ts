import { type Database } from '../../../../services/control/history/database';
import { type Deletion } from '../../../../services/control/history/deletions';
import { History } from '../../../../services/control/history/history';
import { countsBetween } from '../../../../services/control/history/queries';
import { createAuthenticator } from '../../../../shared/config/authentication';
import { createLog } from '../../../../shared/telemetry/log';
import { freezer, memoryDatabase } from '../../../support/database';
import { aCancellation, aFailure, anEvent, START } from '../../../support/events';
import { storeEvents } from '../../../support/store-events';

/** A history forgets a user as soon as the deletion is stored, and goes on meanwhile. */

const NOW_MS = Date.parse('2026-01-01T12:00:00.000Z');
const DAY_MS = 86_400_000;

let database: Database;
beforeAll(async () => {
  database = await memoryDatabase();
});
afterAll(() => database.close());

/** @param changed parts of the database that are other ones */
async function openHistory(changed: Partial<Database>): Promise<History> {
  const history = new History({
    open: () =>
      Promise.resolve({
        kind: 'embedded',
        broken: undefined,
        transaction: (work) => database.transaction(work),
        query: (sql, params) => database.query(sql, params),
        close: () => Promise.resolve(),
        ...changed,
      }),
    authenticator: createAuthenticator([Buffer.alloc(32)]),
    keep: { forMs: 1e12, maxBytes: 1e12 },
    now: () => NOW_MS,
    log: createLog('test', 'silent'),
    onFatal: (error) => {
      throw error;
    },
  });
  await history.start();
  return history;
}

function aDeletion(id: string, user: string): Deletion {
  return {
    id,
    at: NOW_MS,
    users: [user],
    anonymous: [],
    sources: null,
    affected: [],
    messages: 0,
  };
}

test('a deletion that was stored and could not be read is read later', async () => {
  let isAway = false;
  const reads: string[] = [];
  const history = await openHistory({
    query: (sql, params) => {
      if (isAway && sql.includes('waypost.deletions')) {
        throw Object.assign(new Error('cancelled'), { code: '57014' });
      }
      reads.push(sql);
      return database.query(sql, params);
    },
  });
  isAway = true;
  await expect(history.forget(aDeletion('del_1', 'u-1'))).rejects.toMatchObject({ status: 503 });
  isAway = false;
  await history.learnDeletions();
  expect(history.forgotten.wasDeletedSince('u-1', NOW_MS - 1)).toBe(true);
  // Then all are known, and nobody else writes them.
  reads.length = 0;
  await history.learnDeletions();
  expect(reads).toEqual([]);
  await history.stop();
});

test('what waited when its user was deleted counts as cancelled, and has no row', async () => {
  const events = [
    anEvent({ delivery: 'dlv_in_flight', destination: 'dst_forgotten' }),
    aCancellation({
      delivery: 'dlv_waiting',
      destination: 'dst_forgotten',
      reason: 'user_deleted',
    }),
    ...[{ replay: 1 }, { test: true as const }].map((over, i) =>
      aCancellation({ delivery: `dlv_other_${i}`, destination: 'dst_forgotten', ...over }),
    ),
  ];
  const noneAdmitted = () => Promise.resolve(() => false);
  await storeEvents(database, events, undefined, noneAdmitted);
  const span = { sinceMs: START, untilMs: START + DAY_MS };
  const counts = await countsBetween(database, span, ['dst_forgotten']);
  expect(counts).toMatchObject([{ attempts: 0, delivered: 0, cancelled: 1 }]);
  expect(await database.query('select id from waypost.deliveries')).toEqual([]);
});

test('events are written between the transactions of a deletion', async () => {
  const days = [1, 2, 3].map((day) => new Date(NOW_MS - day * DAY_MS).toISOString());
  await storeEvents(
    database,
    days.map((acceptedAt) => aFailure({ delivery: acceptedAt, userId: 'u-2', acceptedAt })),
  );
  const { freeze, frozen, thaw } = freezer();
  let isDeleting = false;
  const history = await openHistory({
    transaction: async (work) => {
      if (isDeleting) await freeze();
      return database.transaction(work);
    },
  });
  isDeleting = true;
  const deletion = history.forget(aDeletion('del_2', 'u-2'));
  await frozen;
  const written = history.events.transact!(({ query }) =>
    query<{ left: number }>('select count(*)::int as left from waypost.deliveries'),
  );
  thaw();
  expect(await Promise.all([written, deletion])).toEqual([
    [{ left: days.length - 1 }],
    days.length,
  ]);
  await history.stop();
});
