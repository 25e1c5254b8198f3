import { type Database } from '../../../../services/control/history/database';
import { History } from '../../../../services/control/history/history';
import { createAuthenticator } from '../../../../shared/config/authentication';
import { createLog } from '../../../../shared/telemetry/log';
import { memoryDatabase } from '../../../support/database';

/** A history forgets a user as soon as the deletion is stored. */

const NOW_MS = Date.parse('2026-01-01T12:00:00.000Z');

let database: Database;
beforeAll(async () => {
  database = await memoryDatabase();
});
afterAll(() => database.close());

test('a deletion that was stored and could not be read is read later', async () => {
  let isAway = false;
  const reads: string[] = [];
  const history = new History({
    open: () =>
      Promise.resolve({
        kind: 'embedded',
        broken: undefined,
        transaction: (work) => database.transaction(work),
        query: (sql, params) => {
          if (isAway && sql.includes('waypost.deletions')) {
            throw Object.assign(new Error('cancelled'), { code: '57014' });
          }
          reads.push(sql);
          return database.query(sql, params);
        },
        close: () => Promise.resolve(),
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
  isAway = true;
  const deletion = {
    id: 'del_1',
    at: NOW_MS,
    users: ['u-1'],
    anonymous: [],
    sources: null,
    affected: [],
    messages: 0,
  };
  await expect(history.forget(deletion)).rejects.toMatchObject({ status: 503 });
  isAway = false;
  await history.learnDeletions();
  expect(history.forgotten.wasDeletedSince('u-1', NOW_MS - 1)).toBe(true);
  // Then all are known, and nobody else writes them.
  reads.length = 0;
  await history.learnDeletions();
  expect(reads).toEqual([]);
  await history.stop();
});
