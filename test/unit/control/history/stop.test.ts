import { History } from '../../../../services/control/history/history';
import { type Database } from '../../../../services/control/history/database';
import { getDelivery } from '../../../../services/control/history/queries';
import { createAuthenticator } from '../../../../shared/config/authentication';
import { createLog } from '../../../../shared/telemetry/log';
import { memoryDatabase } from '../../../support/database';
import { anEvent } from '../../../support/events';
import { memoryLog } from '../../../support/memory-log';
import { readerOf } from '../../../support/reader';

/** The stop of a history: others still ask the database, which has one connection. */

let database: Database;
let history: History;
beforeAll(async () => {
  database = await memoryDatabase();
  history = new History({
    open: () => Promise.resolve(database),
    authenticator: createAuthenticator([Buffer.alloc(32)]),
    keep: { forMs: 1e12, maxBytes: 1e12 },
    now: Date.now,
    log: createLog('test', 'silent'),
    onFatal: (error) => {
      throw error;
    },
  });
  await history.start();
});

test('a reader that stops writes no more rows, but the history answers until closed', async () => {
  const { kafka, append } = memoryLog();
  const reader = readerOf(history.events, { kafka, history });
  const appendEvent = (delivery: string) => {
    const at = new Date().toISOString();
    const value = JSON.stringify(anEvent({ delivery, acceptedAt: at, at }));
    append([{ topic: 'attempts', key: delivery, value }]);
  };
  appendEvent('in-time');
  await reader.poll();
  await reader.stop();
  appendEvent('late');
  await reader.poll();
  const find = (id: string) => history.ask((open) => getDelivery(open, id));
  expect([await find('in-time'), await find('late')]).toMatchObject([{ id: 'in-time' }, undefined]);
  await history.stop();
  await expect(find('late')).rejects.toMatchObject({ status: 503 });
});
