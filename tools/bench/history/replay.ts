import { setTimeout as pause } from 'node:timers/promises';
import { SERVICES } from '../../../bin/service-list';
import { createClient } from '../../../shared/api/client';
import { type OutRecord } from '../../../shared/kafka/port';
import { ATTEMPTS, DEAD } from '../../../shared/kafka/topics';
import { type DeadEvent } from '../../../shared/model/attempt-events';
import { type SystemEnv } from '../../harness/services';
import { clockMs, until } from '../../harness/timing';
import { createCustomers, type Customer } from '../load';
import { bodyOf } from '../payload';
import { aDelivery, deliveryRecord, openSeeder } from '../seed';
import { type Bench, withSystem } from '../setup';

/**
 * Dead letters of a recovered endpoint, beside those of another that a replay must not touch: a
 * replay that is cancelled and resumed once sends exactly these, at its rate.
 */

const POLL_MS = 250;
const DEADLINE_MS = 200_000;

/** @param size.count letters of each of the two; `perSecond`: the requested rate */
export function measureReplay(
  bench: Bench,
  { count, perSecond }: { count: number; perSecond: number },
  note: (text: string) => void,
): Promise<string> {
  return withSystem(bench, { name: 'replay', services: SERVICES }, async ({ system }) => {
    const { endpoint } = bench;
    const customers = await createCustomers(system, [
      `${endpoint.origin}/ok/a`,
      `${endpoint.origin}/ok/b`,
    ]);
    const [wanted] = customers;
    if (!wanted) throw new Error('there is no customer');
    note(`${String(2 * count)} dead letters`);
    const ids = await bury(system, customers, count);
    endpoint.reset({ ids: true });
    const arrived: number[] = [];
    let latest = 0;
    endpoint.onCount((now) => (latest = now));
    const sampling = setInterval(() => arrived.push(latest), 1_000);

    const call = clientOf(system);
    const body = { destination: wanted.destinationId, maxPerSecond: perSecond };
    const { id } = (await call('POST /replays', { body })).data;
    const status = async () => (await call('GET /replays/{id}', { id })).data;
    await until(async () => (await status()).sent >= count / 3, POLL_MS, DEADLINE_MS);
    const cancelled = (await call('POST /replays/{id}/cancel', { id })).data;
    note(`cancelled after ${String(cancelled.sent)} of ${String(cancelled.matched)}`);
    await pause(2_000);
    const { accepted } = endpoint;
    const resumedMs = clockMs();
    await call('POST /replays/{id}/resume', { id });
    await until(async () => (await status()).status === 'done', POLL_MS, DEADLINE_MS);
    const tookS = (clockMs() - resumedMs) / 1_000;
    const ended = await status();
    await until(() => endpoint.accepted >= count, POLL_MS, DEADLINE_MS);
    clearInterval(sampling);
    const report = await endpoint.report();
    const wrong = [...report.arrivals.keys()].filter((each) => !ids.has(each)).length;
    const bySecond = arrived.slice(1).map((now, i) => now - (arrived[i] ?? 0));
    return [
      `replay ${ended.status}: matched ${String(ended.matched)}, sent ${String(ended.sent)}`,
      `cancelled after ${String(cancelled.sent)}; arrived by then ${String(accepted)}`,
      `asked for ${String(perSecond)} a second: ` +
        `${String(Math.round((count - cancelled.sent) / tookS))} on the average after it was ` +
        `resumed, ${String(Math.max(...bySecond))} in the busiest second`,
      `arrived ${String(report.arrivals.size)} of ${String(count)}, of others ` +
        `${String(wrong)}, twice ${String(report.count - report.arrivals.size)}`,
    ].join('\n');
  });
}

/**
 * Writes letters as delivery does, and waits until the history has them.
 * @returns the ids of the first customer's letters
 */
async function bury(
  system: SystemEnv,
  customers: readonly Customer[],
  count: number,
): Promise<Set<string>> {
  const ids = new Set<string>();
  const seeder = await openSeeder(system.env);
  try {
    await seeder.append(letters(customers, count, ids));
  } finally {
    await seeder.close();
  }
  const call = clientOf(system);
  const dead = async () =>
    (await call('GET /overview', {})).data.data.reduce((sum, each) => sum + each.dead, 0);
  if (
    !(await until(async () => (await dead()) >= customers.length * count, POLL_MS, DEADLINE_MS))
  ) {
    throw new Error('the history does not know all dead letters');
  }
  return ids;
}

function* letters(
  customers: readonly Customer[],
  count: number,
  ids: Set<string>,
): Generator<OutRecord> {
  for (let i = 0; i < count * customers.length; i++) {
    const customer = customers[i % customers.length];
    if (!customer) throw new Error('there is no customer');
    const { sourceId, destinationId } = customer;
    const messageId = `dead-${String(i)}`;
    const delivery = {
      ...aDelivery(i, { messageId, sourceId, destinationId }),
      attempt: 1,
      reason: 'rejected',
    };
    if (customer === customers[0]) ids.add(delivery.id);
    const at = new Date(delivery.acceptedAt).toISOString();
    const event: DeadEvent = {
      kind: 'dead',
      delivery: delivery.id,
      message: messageId,
      source: sourceId,
      destination: destinationId,
      type: delivery.type,
      userId: delivery.userId,
      acceptedAt: at,
      expiresAt: at,
      at,
      replay: 0,
      hop: 0,
      n: 1,
      traceparent: delivery.traceparent,
      reason: 'rejected',
      record: { topic: DEAD, partition: 0, offset: i },
    };
    yield deliveryRecord(DEAD, delivery, JSON.stringify(bodyOf(i, messageId)));
    yield { topic: ATTEMPTS, key: delivery.id, value: JSON.stringify(event) };
  }
}

function clientOf({ controlUrl, adminToken }: SystemEnv) {
  return createClient({ base: `${controlUrl}/api/v1`, token: adminToken });
}
