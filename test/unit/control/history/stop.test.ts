import { History } from '../../../../services/control/history/history';
import { type Database } from '../../../../services/control/history/database';
import { getDelivery } from '../../../../services/control/history/queries';
import { createAuthenticator } from '../../../../shared/config/authentication';
import { type ConsumeOptions } from '../../../../shared/kafka/port';
import { ATTEMPTS } from '../../../../shared/kafka/topics';
import { createLog } from '../../../../shared/telemetry/log';
import { memoryDatabase } from '../../../support/database';
import { eventually } from '../../../support/eventually';
import { anEvent } from '../../../support/events';
import { aRecord } from '../../../support/factories';

/** The stop of a history: others still ask the database, which has one connection. */

let database: Database;
let history: History;
const read = new Map<string, ConsumeOptions['onRecord']>();
const handedOut: { done: boolean }[] = [];
const onFatal = (error: unknown) => {
  throw error;
};
beforeAll(async () => {
  database = await memoryDatabase();
  const stop = () => eventually(() => expect(handedOut.filter(({ done }) => !done)).toEqual([]));
  const consumption = { stop, resume: () => undefined };
  const kafka = {
    consume: ({ topics, onRecord }: ConsumeOptions) => {
      for (const topic of topics) read.set(topic, onRecord);
      return Promise.resolve(consumption as never);
    },
    committed: () => Promise.resolve([]),
  };
  history = new History({
    open: () => Promise.resolve(database),
    kafka,
    authenticator: createAuthenticator([Buffer.alloc(32)]),
    keep: { forMs: 1e12, maxBytes: 1e12 },
    now: Date.now,
    log: createLog('test', 'silent'),
    onFatal,
  });
  await history.start();
});

/** Hands out the record of an attempt. @returns what the history has done with it */
function handOut(delivery: string): { done: boolean } {
  const state = { done: false };
  handedOut.push(state);
  const at = new Date().toISOString();
  const value = Buffer.from(JSON.stringify(anEvent({ delivery, acceptedAt: at, at })));
  const record = { topic: ATTEMPTS, key: Buffer.from(delivery), value, timestampMs: Date.now() };
  read.get(ATTEMPTS)!(aRecord({ ...record, done: () => (state.done = true) }));
  return state;
}

test('a history that stops reading writes no more rows, but answers until closed', async () => {
  const inTime = handOut('in-time');
  await history.stopReading(60_000);
  const late = handOut('late');
  expect(await history.ask((open) => getDelivery(open, 'in-time'))).toMatchObject({
    id: 'in-time',
  });
  await history.stop();
  expect([inTime.done, late.done]).toEqual([true, false]);
  await expect(history.ask((open) => getDelivery(open, 'late'))).rejects.toMatchObject({
    status: 503,
  });
});
