import { tierTopic } from '../../shared/kafka/topics';
import { bodyOf } from '../../tools/bench/payload';
import { aDelivery, deliveryRecord, openSeeder, type Seeder } from '../../tools/bench/seed';
import { type Sink, startSink } from '../../tools/harness/sink';
import { startSystem, type System } from '../../tools/harness/system';
import { eventually } from '../support/eventually';

/**
 * All that waits at an endpoint, sent now among many deliveries that wait elsewhere, while retry is
 * killed. Each delivery arrives once, although its tier returns it later.
 */

/** deliveries that wait at the endpoint; a twentieth of them is in the longest tier */
const WAITING = 300;
const IN_LONGEST = WAITING / 20;
/** deliveries of other destinations, in the longest tier before those */
const OTHERS = 5_000;
const OTHER_DESTINATIONS = Array.from({ length: 50 }, (_, i) => `dst_elsewhere${i}`);
/** Long enough to send much of it before it falls due. */
const TIER_MS = 15_000;
const LONGEST_MS = 1_800_000;
const SOURCE = 'src_waiting';
const PATIENT = { deadlineMs: 300_000 };

let sink: Sink;
let system: System;
let seeder: Seeder;
beforeAll(async () => {
  sink = await startSink();
  system = await startSystem({
    env: { WAYPOST_RETRY_DELAYS: '10s,15s,30m', WAYPOST_PARTITIONS: '12' },
  });
  seeder = await openSeeder(system.env);
});
afterAll(async () => {
  await seeder.close();
  await system.discard();
  await sink.close();
});

/** Yields deliveries that wait after a failed attempt, in rotation over the destinations. */
function* parked(
  tierMs: number,
  destinations: readonly string[],
  { from, count }: { from: number; count: number },
) {
  for (let i = from; i < from + count; i++) {
    const messageId = `waiting-${i}`;
    const destinationId = destinations[i % destinations.length]!;
    const delivery = aDelivery(i, { messageId, sourceId: SOURCE, destinationId });
    const waits = { ...delivery, attempt: 1, hop: 1, reason: 'backoff' };
    yield deliveryRecord(tierTopic(tierMs), waits, JSON.stringify(bodyOf(i, messageId)));
  }
}

/** Resolves when so many of the deliveries have arrived. */
const arrived = (count: number) =>
  eventually(() => expect(sink.deliveries('/waiting').distinct).toBeGreaterThanOrEqual(count), {
    ...PATIENT,
    everyMs: 5,
  });

/** Returns how many copies in the tier retry has dropped, and how many it has returned. */
async function fallenDue(): Promise<{ dropped: number; returned: number }> {
  const port = system.env.WAYPOST_RETRY_HEALTH_PORT!;
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  const read = (name: string, label = '') =>
    Number(new RegExp(`^${name}\\{[^}]*${label}\\} (\\d+)$`, 'm').exec(text)?.[1] ?? 0);
  return {
    dropped: read('waypost_retries_dropped_total'),
    returned: read('waypost_retries_returned_total', 'tier="15s"'),
  };
}

test('deliveries sent now arrive once, although a killed retry returns them later', async () => {
  const { id: source } = await system.createSource();
  const { id: destination } = await system.createDestination({
    sources: [source],
    webhooks: [{ url: sink.url('/waiting') }],
  });
  await seeder.append(parked(LONGEST_MS, OTHER_DESTINATIONS, { from: 0, count: OTHERS }));
  await seeder.append(parked(LONGEST_MS, [destination], { from: OTHERS, count: IN_LONGEST }));
  const inTier = WAITING - IN_LONGEST;
  await seeder.append(parked(TIER_MS, [destination], { from: OTHERS + IN_LONGEST, count: inTier }));

  const asked = await system.control('POST', `/destinations/${destination}/retry`, {});
  expect(asked.status).toBe(202);
  await arrived(WAITING / 4);
  system.kill('retry');
  await arrived(WAITING);
  const { dropped } = await eventually(async () => {
    const due = await fallenDue();
    expect(due.dropped + due.returned).toBeGreaterThanOrEqual(inTier);
    return due;
  }, PATIENT);
  expect(dropped).toBeGreaterThan(0);
  await eventually(async () => {
    const { body } = await system.control('GET', `/replays/${asked.body.id}`);
    expect(body).toMatchObject({ status: 'done', asked: WAITING, delivered: WAITING });
  }, PATIENT);
  expect(sink.deliveries('/waiting')).toMatchObject({ distinct: WAITING, repeats: 0 });
}, 600_000);
