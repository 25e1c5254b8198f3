import { type CircuitEvent } from '../../shared/model/attempt-events';
import { type Tail } from '../../shared/kafka/port';
import { RECALLS } from '../../shared/kafka/topics';
import { readRecall } from '../../shared/model/recall';
import { eventually } from '../support/eventually';
import { aTrack } from '../support/factories';
import { startSink, type Sink } from '../../tools/harness/sink';
import { readTopic } from '../support/topics';
import { type Connection, openStorySystem, type StorySystem } from '../support/story-system';

/** One failing endpoint beside healthy ones. */

const TIMEOUT_MS = 2_000;
/** Within a timeout, several times as many calls as the hung endpoint gets connections. */
const PER_SECOND = 75;
const HANGS_FOR_MS = 12_000;
const HEALTHY = ['/a', '/b', '/c', '/d'];

let stage: StorySystem;
/** a separate receiver, so that its connections can be counted */
let sick: Sink;
let follow: Tail | undefined;
beforeAll(async () => {
  sick = await startSink();
  stage = await openStorySystem({
    env: { WAYPOST_RETRY_DELAYS: '1s,4s,20s', WAYPOST_TIMEOUT: `${String(TIMEOUT_MS)}ms` },
  });
});
afterAll(async () => {
  await follow?.stop();
  await stage.close();
  await sick.close();
});

/** Sends calls at a steady rate. @returns the ids that were acknowledged */
async function send(connection: Connection, forMs: number): Promise<string[]> {
  const until = Date.now() + forMs;
  const ids: string[] = [];
  for (let next = Date.now(); Date.now() < until; next += 1_000 / PER_SECOND) {
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, next - Date.now())));
    const call = aTrack({ properties: { sentAt: Date.now() } });
    ids.push(call.messageId);
    await connection.send(call);
  }
  return ids;
}

/**
 * Returns latencies from the sending of a call to its arrival at the healthy endpoints, for
 * arrivals within a time span.
 */
function healthyLatencies(from: number, to: number) {
  const ms = HEALTHY.flatMap((path) => stage.sink.received(path))
    .filter(({ at }) => at >= from && at < to)
    .map(
      ({ at, body }) =>
        at - (JSON.parse(body.toString()) as { properties: { sentAt: number } }).properties.sentAt,
    )
    .sort((a, b) => a - b);
  const part = (of: number) => ms[Math.floor(ms.length * of)] ?? NaN;
  return { p50: part(0.5), p99: part(0.99), max: part(1 - 1e-9) };
}

test('a hung endpoint delays no others, gets single probes, and then every call', async () => {
  // Four healthy destinations and one whose receiver hangs for a while get the same calls.
  const { sink, topics, system } = stage;
  const connection = await stage.connect({ webhooks: [{ url: sink.url(HEALTHY[0]) }] });
  const sources = [connection.source.id];
  for (const path of HEALTHY.slice(1)) {
    await system.createDestination({ sources, webhooks: [{ url: sink.url(path) }] });
  }
  const { id } = await system.createDestination({
    sources,
    webhooks: [{ url: sick.url('/sick') }],
  });
  await stage.settled();
  const circuits: CircuitEvent[] = [];
  follow = await topics.kafka.tail({
    name: 'circuits',
    topic: 'attempts',
    from: 'beginning',
    onRecord: ({ key, value }) => {
      if (key?.toString() === id) circuits.push(JSON.parse(String(value)) as CircuitEvent);
    },
    onFatal: (error) => {
      throw error;
    },
  });
  const from = Date.now();
  const before = await send(connection, 3_000);

  const hungAt = Date.now();
  sick.on('/sick', { misbehave: 'hang' });
  const during = await send(connection, HANGS_FOR_MS);
  const opened = await eventually(() => {
    const [first] = circuits;
    if (!first) throw new Error('the circuit has not opened');
    return first;
  });
  expect(opened).toMatchObject({ kind: 'circuit', state: 'open', why: 'timeout' });
  const onset = Date.parse(opened.at);
  const probesSince = () => sick.received('/sick').filter(({ at }) => at > onset + 50);
  await eventually(() => expect(probesSince().length).toBeGreaterThanOrEqual(1));
  const probes = probesSince();
  const [clean, bad] = [healthyLatencies(from, hungAt), healthyLatencies(hungAt, Date.now())];
  process.stdout.write(
    `hung: opened after ${onset - hungAt} ms, ${sick.maxConnections} connections at most, ` +
      `${probes.length} probes in ` +
      `${Date.now() - onset} ms; healthy, before and during: ${JSON.stringify([clean, bad])}\n`,
  );
  expect(sick.maxConnections).toBeLessThanOrEqual(64);
  // Single probes, not the whole stream. On a busy machine some requests of the first wave arrive
  // late.
  expect(probes.length).toBeLessThan(during.length / 4);
  // While it hangs, the others get every call.
  const all = [...before, ...during];
  for (const path of HEALTHY) {
    await eventually(() => allArrived(sink, path, all), { deadlineMs: 60_000 });
  }

  const backAt = Date.now();
  sick.on('/sick', {});
  await eventually(() => allArrived(sick, '/sick', all), { deadlineMs: 120_000, everyMs: 200 });
  const closed = circuits.find(({ state, at }) => state === 'closed' && Date.parse(at) >= backAt);
  expect(closed).toMatchObject({ kind: 'circuit', state: 'closed', why: 'ok' });
  // The backlog does not wait for its tiers: retry takes it out of them.
  const records = (await readTopic(topics.kafka, RECALLS)).map(({ value }) => readRecall(value));
  const recalls = new Set(
    records.flatMap((each) =>
      each?.kind === 'recall' && each.where.destination === id ? [each.id] : [],
    ),
  );
  const taken = records.flatMap((each) =>
    each?.kind === 'taken' && recalls.has(each.recall) ? [each.count] : [],
  );
  expect(taken.reduce((sum, count) => sum + count, 0)).toBeGreaterThan(0);
  const closedAt = Date.parse(closed!.at);
  const arrivals = sick.received('/sick').filter(({ at }) => at >= backAt);
  const [first, most, last] = [1, Math.floor(arrivals.length * 0.95), arrivals.length - 1].map(
    (n) => (arrivals[n]?.at ?? NaN) - closedAt,
  );
  process.stdout.write(
    `the one that hung: its circuit closed ${closedAt - backAt} ms after it was back; of ` +
      `${arrivals.length} the first ` +
      `arrived ${first} ms after that, 95 % within ${most} ms, the last, which kept its ` +
      `plan, after ${last} ms\n`,
  );
  await eventually(() => expect(circuits.at(-1)).toMatchObject({ state: 'closed' }));
}, 400_000);

function allArrived(at: Sink, path: string, ids: string[]): void {
  const arrived = new Set(
    at
      .received(path)
      .map(({ body }) => (JSON.parse(body.toString()) as { messageId: string }).messageId),
  );
  const missing = ids.filter((id) => !arrived.has(id));
  if (missing.length > 0) {
    throw new Error(`${missing.length} of ${ids.length} have not arrived at ${path}`);
  }
}
