import { type Database } from '../../../../services/control/history/database';
import { type DeliveryEvent } from '../../../../shared/model/attempt-events';
import { controlUnderTest } from '../../../support/control';
import { memoryDatabase } from '../../../support/database';
import { aDeath, aFailure, anEvent, at, START } from '../../../support/events';

/** Alerts are on time while the history is an hour behind, by a clock that the tests play. */

const HOUR_SECONDS = 3_600;

let database: Database;
beforeAll(async () => {
  database = await memoryDatabase();
});
afterAll(() => database.close());
beforeEach(async () => {
  for (const table of ['health', 'notices', 'positions', 'leases']) {
    await database.query(`delete from waypost.${table}`);
  }
});

/**
 * Control whose history has read nothing for an hour, in which each second had a delivery. It reads
 * and decides for alerts by its own timers.
 */
async function controlBehind() {
  const control = await controlUnderTest({ database, historyHasRead: () => false });
  const { alerts: runner, readers, memory, clock } = control;
  clock.now = new Date(START);
  const { status } = await control
    .call('patch', '/alerts')
    .send({ webhooks: [{ url: 'https://ops.example/' }], failingFor: '1m' });
  expect(status).toBe(200);
  const { id } = (await control.destination({ enabled: true })) as { id: string };
  const append = (...events: DeliveryEvent[]) =>
    memory.append(
      events.map((event) => ({ topic: 'attempts', key: 'k', value: JSON.stringify(event) })),
    );
  await Promise.all([readers.history.poll(), readers.alerts.poll()]);
  clock.now = new Date(at(HOUR_SECONDS));
  append(
    ...Array.from({ length: HOUR_SECONDS }, (_, second) =>
      anEvent({ delivery: `dlv_${String(second)}`, destination: id, at: at(second) }),
    ),
  );
  jest.useFakeTimers({
    doNotFake: [
      'Date',
      'clearImmediate',
      'clearInterval',
      'hrtime',
      'nextTick',
      'performance',
      'queueMicrotask',
      'setImmediate',
      'setInterval',
    ],
  });
  readers.alerts.start();
  runner.start();
  /** Waits until both have done what there is to do: each has a timer then. */
  const idle = async () => {
    while (jest.getTimerCount() < 2) await new Promise((resolve) => setImmediate(resolve));
  };
  await idle();
  return {
    id,
    append,
    secondsBehind: () => readers.history.behindSeconds,
    /** Plays seconds, and returns the types of the alerts that were sent meanwhile. */
    play: async (seconds: number): Promise<string[]> => {
      const { length } = memory.records('webhooks');
      for (let i = 0; i < seconds; i++) {
        await idle();
        clock.now = new Date(clock.now.getTime() + 1_000);
        jest.advanceTimersByTime(1_000);
      }
      await idle();
      const sent = memory.records('webhooks').slice(length);
      return sent.map(({ value }) => (JSON.parse(String(value)) as { type: string }).type);
    },
    stop: async () => {
      await Promise.all([runner.stop(), readers.alerts.stop()]);
      jest.useRealTimers();
    },
  };
}

test('a dead letter is told within 15 s, although the history is an hour behind', async () => {
  const { id, append, play, secondsBehind, stop } = await controlBehind();
  try {
    expect(await play(20)).toEqual([]);
    append(aDeath({ destination: id, at: at(HOUR_SECONDS + 20) }));
    expect(await play(15)).toEqual(['destination.dead_letters']);
    expect(secondsBehind()).toBe(HOUR_SECONDS + 35);
  } finally {
    await stop();
  }
});

test('a failing endpoint is told 30 s late at most, with the history an hour behind', async () => {
  const { id, append, play, secondsBehind, stop } = await controlBehind();
  try {
    expect(await play(20)).toEqual([]);
    append(
      aFailure({
        destination: id,
        at: at(HOUR_SECONDS + 20),
        nextAttemptAt: at(HOUR_SECONDS + 620),
      }),
    );
    expect(await play(59)).toEqual([]);
    expect(await play(31)).toEqual(['destination.failing']);
    expect(secondsBehind()).toBe(HOUR_SECONDS + 110);
  } finally {
    await stop();
  }
});
