import { aDelivery, deliveryRecord, openSeeder, type Seeder } from '../bench/seed';
import { bodyOf } from '../bench/payload';
import { startSink, type Sink } from '../harness/sink';
import { startSystem, type System } from '../harness/system';
import { eventually } from '../../test/support/eventually';
import { formatDuration } from '../../shared/model/time';
import { tierTopic } from '../../shared/kafka/topics';
import { type OutRecord } from '../../shared/kafka/port';

/**
 * Sends all that waits at an endpoint now, among many deliveries that wait elsewhere, and kills
 * retry in the middle. Each delivery must arrive once, although its tier returns it later.
 */

export interface SendNowOptions {
  /** deliveries that wait at the endpoint */
  waiting: number;
  /** deliveries of other destinations, in the longest tier */
  others: number;
  /**
   * the tier that the deliveries wait in; a twentieth of them is in the longest tier, behind the
   * others
   */
  tierMs: number;
}

export interface SendNowOutcome {
  /** from "send now" to the first and to the last POST */
  firstMs: number;
  lastMs: number;
  posts: number;
  distinct: number;
  /** copies that fell due in their tier and were dropped */
  dropped: number;
  /** deliveries in the tier that falls due within the run */
  inTier: number;
  job: { status: string; asked: number; delivered: number | null };
}

const LONGEST_MS = 1_800_000;
const OTHER_DESTINATIONS = 50;
const SOURCE = 'src_waiting';
/** Part of the deliveries after which retry is killed. */
const KILLED_AT = 0.25;
const ARRIVE_MS = 300_000;

export async function runSendNow(
  options: SendNowOptions,
  say: (line: string) => void,
): Promise<SendNowOutcome> {
  const { tierMs } = options;
  const delays = [10_000, tierMs, LONGEST_MS].sort((a, b) => a - b).map(formatDuration);
  const env = { WAYPOST_RETRY_DELAYS: delays.join(','), WAYPOST_PARTITIONS: '12' };
  const sink = await startSink();
  const system = await startSystem({ env });
  const seeder = await openSeeder(system.env);
  try {
    return await sendNow({ options, sink, system, seeder, say });
  } finally {
    await seeder.close();
    await system.stop();
    await sink.close();
  }
}

interface Parts {
  options: SendNowOptions;
  sink: Sink;
  system: System;
  seeder: Seeder;
  say: (line: string) => void;
}

async function sendNow({ options, sink, system, seeder, say }: Parts): Promise<SendNowOutcome> {
  const { waiting, others, tierMs } = options;
  const { id: source } = await system.createSource();
  const to = { sources: [source], webhooks: [{ url: sink.url('/waiting') }] };
  const { id: destination } = await system.createDestination(to);
  const elsewhere = Array.from({ length: OTHER_DESTINATIONS }, (_, i) => `dst_elsewhere${i}`);
  const behind = Math.floor(waiting / 20);
  const inTier = waiting - behind;
  const begunAt = performance.now();
  await seeder.append(parked(tierTopic(LONGEST_MS), elsewhere, { from: 0, count: others }));
  await seeder.append(
    parked(tierTopic(LONGEST_MS), [destination], { from: others, count: behind }),
  );
  await seeder.append(
    parked(tierTopic(tierMs), [destination], { from: others + behind, count: inTier }),
  );
  say(`${waiting + others} deliveries wait, after ${seconds(performance.now() - begunAt)}`);

  const askedAt = Date.now();
  const { status, body } = await system.control('POST', `/destinations/${destination}/retry`, {});
  if (status !== 202) {
    throw new Error(`"send now" was answered with ${status}: ${JSON.stringify(body)}`);
  }
  const { id: job } = body as { id: string };
  const arrived = (count: number) =>
    eventually(
      () => {
        const { distinct } = sink.deliveries('/waiting');
        if (distinct < count) throw new Error(`${distinct} of ${waiting} deliveries arrived`);
      },
      { deadlineMs: ARRIVE_MS, everyMs: 5 },
    );
  await arrived(Math.ceil(waiting * KILLED_AT));
  system.kill('retry');
  say(
    `retry was killed after ${sink.requests.length} deliveries, ` +
      `${seconds(Date.now() - askedAt)} after "send now"`,
  );
  await arrived(waiting);
  const [first, last] = [sink.requests[0]!.at, sink.requests.at(-1)!.at];
  say(`all ${waiting} arrived; their tier returns them after ${seconds(tierMs)}`);
  const dropped = await eventually(() => allDue(system, { inTier, tierMs }), {
    deadlineMs: 2 * tierMs + ARRIVE_MS,
  });
  const ended = await eventually(
    async () => {
      const { body: now } = await system.control('GET', `/replays/${job}`);
      const { status, asked, delivered } = now as SendNowOutcome['job'];
      if (status !== 'done' || delivered !== waiting) {
        throw new Error(`the job: ${JSON.stringify(now)}`);
      }
      return { status, asked, delivered };
    },
    { deadlineMs: ARRIVE_MS, everyMs: 500 },
  );
  const { distinct, repeats } = sink.deliveries('/waiting');
  const times = { firstMs: first - askedAt, lastMs: last - askedAt };
  return { ...times, posts: distinct + repeats, distinct, dropped, inTier, job: ended };
}

/** @returns the number of dropped copies. @throws until all records of the tier have fallen due */
async function allDue(
  system: System,
  { inTier, tierMs }: { inTier: number; tierMs: number },
): Promise<number> {
  const text = await (
    await fetch(`http://127.0.0.1:${system.env.WAYPOST_RETRY_HEALTH_PORT!}/metrics`)
  ).text();
  const read = (name: string, label = '') =>
    Number(new RegExp(`^${name}\\{[^}]*${label}\\} (\\d+)$`, 'm').exec(text)?.[1] ?? 0);
  const dropped = read('waypost_retries_dropped_total');
  const returned = read('waypost_retries_returned_total', `tier="${formatDuration(tierMs)}"`);
  if (dropped + returned < inTier) {
    throw new Error(`${dropped} of ${inTier} copies were dropped, ${returned} returned`);
  }
  return dropped;
}

/** Yields deliveries that wait after a failed attempt, in rotation over the destinations. */
function* parked(
  topic: string,
  destinations: readonly string[],
  range: { from: number; count: number },
) {
  for (let i = range.from; i < range.from + range.count; i++) {
    const messageId = `waiting-${i}`;
    const destinationId = destinations[i % destinations.length]!;
    const delivery = aDelivery(i, { messageId, sourceId: SOURCE, destinationId });
    const waits = { ...delivery, attempt: 1, hop: 1, reason: 'backoff' };
    yield deliveryRecord(topic, waits, JSON.stringify(bodyOf(i, messageId))) satisfies OutRecord;
  }
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}
