import { deliveryKey, encodeDelivery } from '../../shared/model/delivery';
import { type OutRecord } from '../../shared/kafka/port';
import { DUE, WEBHOOKS } from '../../shared/kafka/topics';
import { eventually } from '../support/eventually';
import { destinationAt, openProcesses, type Processes } from '../support/processes';
import { type Service } from '../support/service';
import { aDelivery } from '../support/factories';

/**
 * Two delivery processes with slow endpoints and thousands of queued deliveries. One is frozen for
 * longer than its session timeout: the other takes over its partitions and sends the uncommitted
 * deliveries.
 */

const PARTITIONS = 6;
const SHARDS = 60;
/** What delivery reads. */
const READ = [WEBHOOKS, DUE];
const DELIVERIES = 8_000;
const QUEUED = 2_500;
/** A lane diverts deliveries that would wait for long: with this many endpoints, none does. */
const DESTINATIONS = Array.from({ length: 10 }, (_, i) => `dst_${String(i)}`);

let processes: Processes;
beforeAll(async () => {
  processes = await openProcesses({ prefix: 'frozen', partitions: PARTITIONS, retryDelays: '10s' });
}, 240_000);
afterAll(() => processes.close());

type Process = Service & { metric(name: string): Promise<number> };

async function start(name: 'delivery' | 'retry'): Promise<Process> {
  const service = await processes.start(name);
  const metric = async (wanted: string) => {
    const text = await (await fetch(`http://127.0.0.1:${service.port}/metrics`)).text();
    return Number(
      text
        .split('\n')
        .find((line) => line.startsWith(`${wanted}{`))
        ?.split(' ')
        .at(-1),
    );
  };
  return { ...service, metric };
}

function deliveries(): OutRecord[] {
  const now = Date.now();
  return Array.from({ length: DELIVERIES }, (_, i) => {
    const userId = `user-${String(i)}`;
    const destinationId = DESTINATIONS[i % DESTINATIONS.length]!;
    const id = `dlv_${String(i)}`;
    const delivery = aDelivery({
      id,
      messageId: `m-${String(i)}`,
      destinationId,
      userId,
      acceptedAt: now,
    });
    const key = deliveryKey(destinationId, userId, SHARDS);
    return {
      topic: WEBHOOKS,
      key,
      value: '{}',
      headers: encodeDelivery(delivery),
      partition: i % PARTITIONS,
    };
  });
}

test('delivery frozen beyond its session repeats requests in flight, not its queue', async () => {
  const { producer, sink } = processes;
  await producer.send(DESTINATIONS.map((id) => destinationAt(processes, id, '/hook')));
  const [frozen, other] = await Promise.all([start('delivery'), start('delivery'), start('retry')]);
  const before = await processes.shared('delivery', READ, 2);
  let unanswered = 0;
  let release!: () => void;
  const released = new Promise<void>((resolve) => (release = resolve));
  sink.on('/hook', async () => {
    unanswered++;
    await released;
    return {};
  });

  void producer.send(deliveries());
  // All requests hang at the endpoints, and none ends or begins before the freeze.
  let seen = -1;
  const inFlight = await eventually(
    async () => {
      const [queued, own, others] = await Promise.all([
        frozen.metric('waypost_lanes_queued'),
        frozen.metric('waypost_requests_in_flight'),
        other.metric('waypost_requests_in_flight'),
      ]);
      expect(queued).toBeGreaterThan(QUEUED);
      expect(unanswered).toBeGreaterThanOrEqual(own + others);
      const earlier = seen;
      seen = own;
      expect(own).toBe(earlier);
      return own;
    },
    { everyMs: 20 },
  );
  process.kill(frozen.pid, 'SIGSTOP');
  // A process that ignored its loss of partitions would send its whole queue to endpoints that are
  // quick again.
  release();
  try {
    await processes.shared('delivery', READ, 1);
  } finally {
    process.kill(frozen.pid, 'SIGCONT');
  }
  await processes.shared('delivery', READ, 2, before);
  await eventually(() => expect(sink.deliveries('/hook').distinct).toBe(DELIVERIES), {
    deadlineMs: 180_000,
  });
  await processes.allCommitted('delivery', WEBHOOKS);
  await eventually(async () => {
    expect([
      await frozen.metric('waypost_lanes_queued'),
      await frozen.metric('waypost_requests_in_flight'),
    ]).toEqual([0, 0]);
  });
  const { repeats } = sink.deliveries('/hook');
  process.stdout.write(`frozen: ${String(repeats)} repeats; ${String(inFlight)} were in flight\n`);
  expect(repeats).toBeLessThanOrEqual(inFlight);
  expect(inFlight).toBeLessThan(QUEUED / 2);
}, 600_000);
