import { randomBytes } from 'node:crypto';
import { resolve } from 'node:path';
import { SERVICES, type ServiceName } from '../../bin/service-list';
import { ROOT } from '../../shared/runtime/repo-root';
import { type DeliveryEvent } from '../../shared/model/attempt-events';
import { type Tail } from '../../shared/kafka/port';
import { ATTEMPTS, WEBHOOKS } from '../../shared/kafka/topics';
import { readEvents } from '../../shared/model/attempt-rows';
import { openLoadedSystem, type LoadedSystem } from '../../tools/harness/loaded-system';
import { type Service, startBeside } from '../support/service';
import { openTopics, type Topics } from '../support/topics';

/**
 * Rolling restarts and scaling under load, with endpoints that hang or are slow, and clients that
 * send every call twice: clients and receivers see no fault. `OTHER_BUILD` is the folder of another
 * build of the same format, for upgrades and rollbacks.
 */

const OTHER_BUILD = resolve(process.env.OTHER_BUILD ?? ROOT);
/** Those that keep nothing in a folder; one of them is enough where both builds are the same. */
const OF_OTHER_BUILD: readonly ServiceName[] = process.env.OTHER_BUILD
  ? ['ingest', 'router', 'delivery', 'retry']
  : ['router'];

const SLOW_MS = 4_900;
/**
 * Every call is sent twice. By the time of the second one, a restarted service has been replaced.
 */
const AGAIN_AFTER_MS = 5_000;
const env = {
  WAYPOST_PARTITIONS: '6',
  WAYPOST_TIMEOUT: '5s',
  WAYPOST_SECRET_KEY: randomBytes(32).toString('base64'),
};

let rig: LoadedSystem;
let topics: Topics;
let tail: Tail;
/** times of successful deliveries by partition, in order */
const deliveredAt = new Map<number, number[]>();
/** attempts at the slow endpoint that timed out: 0.1 s of slack is little on a busy machine */
let ranOut = 0;
const beside = new Set<Service>();
let balancer: NodeJS.Timeout | undefined;

beforeAll(async () => {
  rig = await openLoadedSystem({ env, slowMs: SLOW_MS, againAfterMs: AGAIN_AFTER_MS });
  topics = await openTopics(rig.system);
  tail = await topics.kafka.tail({
    name: 'rolling',
    topic: ATTEMPTS,
    from: 'beginning',
    onRecord: ({ value }) => {
      for (const event of readEvents(value)) if (event.kind !== 'circuit') note(event);
    },
    onFatal: (error) => {
      throw error;
    },
  });
}, 600_000);

afterAll(async () => {
  clearInterval(balancer);
  await Promise.all([...beside].map((service) => service.kill()));
  await tail.stop();
  await topics.close();
  await rig.close();
});

async function start(name: ServiceName, build?: string): ReturnType<typeof startBeside> {
  // Partition assignments are logged at this level.
  const service = await startBeside(rig.system, name, { WAYPOST_LOG_LEVEL: 'info' }, build);
  beside.add(service);
  return service;
}

async function stop(service: Service): Promise<void> {
  beside.delete(service);
  expect(await service.stop()).toBe(0);
}

/**
 * Checks that no endpoint got a delivery again after taking it, and that clients were only asked to
 * retry.
 */
async function expectNoFaultSeen(): Promise<void> {
  // A repeat arrives after its cause was written, and perhaps before this process has read the
  // cause.
  await tail.caughtUp(120_000);
  const { healthy, failing, slow, load } = rig;
  process.stdout.write(
    `${load.acknowledged.size} acknowledged, repeats: ${healthy.repeats} healthy, ` +
      `${failing.repeats} failing, ` +
      `${slow.repeats} of ${slow.taken} slow (${ranOut} ran out of time); refusals ` +
      `${JSON.stringify([...load.refusals, ...load.silences])}\n`,
  );
  expect({ healthy: healthy.repeats, failing: failing.repeats }).toEqual({
    healthy: 0,
    failing: 0,
  });
  expect(slow.repeats).toBeLessThanOrEqual(ranOut);
  // A client whose connection is refused goes to the other ingest.
  expect([...load.silences.keys()].filter((code) => code !== 'ECONNREFUSED')).toEqual([]);
  expect([...load.refusals.keys()].filter((status) => status !== 'none' && status !== 503)).toEqual(
    [],
  );
  expect(load.withoutRetryAfter).toBe(0);
}

test('a restart of one service after another is invisible to clients and receivers', async () => {
  // Two ingests and one of each other service run. Each service ends by SIGTERM and is replaced.
  const second = await start('ingest');
  balancer = balance([
    { url: rig.system.ingestUrl, healthPort: rig.system.env.WAYPOST_INGEST_HEALTH_PORT! },
    { url: `http://127.0.0.1:${second.port}`, healthPort: second.healthPort },
  ]);
  await rig.flowing();
  for (const name of SERVICES) {
    const before = rig.system.pids(name);
    rig.system.kill(name, 'SIGTERM');
    await rig.replaced(name, before);
    await rig.flowing();
  }
  await stop(second);
  clearInterval(balancer);
  await rig.caughtUp();
  await expectNoFaultSeen();
  expect(rig.system.output()).not.toMatch(/service\.(failed|stop_overdue|stop_failed)/);
}, 600_000);

test('a process of another build joins its service and leaves it, invisible outside', async () => {
  for (const name of OF_OTHER_BUILD) {
    const other = await step(`${name} of the other build`, () => start(name, OTHER_BUILD));
    await step(`${name} without it`, () => stop(other));
  }
  await rig.caughtUp();
  await expectNoFaultSeen();
}, 600_000);

test('scaling delivery from one process to three and back is invisible outside', async () => {
  await rig.flowing();
  const second = await step('1 to 2', () => start('delivery'));
  const third = await step('2 to 3', () => start('delivery'));
  await step('3 to 2', () => stop(third));
  await step('2 to 1', () => stop(second));
  await rig.caughtUp();
  await expectNoFaultSeen();
}, 600_000);

test('after restarts and scaling every acknowledged call has arrived once', async () => {
  await rig.allArrived();
  await expectNoFaultSeen();
}, 600_000);

/** Sends calls to the ingests that report ready, as a load balancer does with periodic checks. */
function balance(ingests: { url: string; healthPort: string }[]): NodeJS.Timeout {
  const look = async () => {
    const ready = await Promise.all(
      ingests.map(({ healthPort }) =>
        fetch(`http://127.0.0.1:${healthPort}/readyz`).then(
          ({ ok }) => ok,
          () => false,
        ),
      ),
    );
    const urls = ingests.filter((_, i) => ready[i]).map(({ url }) => url);
    if (urls.length > 0) rig.load.urls = urls;
  };
  return setInterval(() => void look(), 100);
}

/**
 * Makes a change and prints the longest pause of deliveries, for partitions that stayed and for
 * partitions that moved.
 */
async function step<T>(name: string, change: () => Promise<T>): Promise<T> {
  const [from, before] = [Date.now(), owners()];
  const result = await change();
  await rig.flowing();
  const after = owners();
  const pauses = [...deliveredAt].map(([partition, times]) => ({
    stayed: before.get(partition) === after.get(partition),
    ms: longestGap(times.filter((at) => at >= from)),
  }));
  const most = (stayed: boolean) =>
    Math.max(0, ...pauses.filter((p) => p.stayed === stayed).map(({ ms }) => ms));
  process.stdout.write(
    `${name}: partitions that stayed paused for ${most(true)} ms, others for ${most(false)} ms\n`,
  );
  return result;
}

function note(event: DeliveryEvent): void {
  if (event.kind !== 'attempt') return;
  const { record, at, outcome, destination, urls } = event;
  if (destination === rig.slow.destination && urls.some(({ error }) => error?.code === 'timeout')) {
    ranOut++;
  }
  if (outcome !== 'delivered' || record.topic !== WEBHOOKS) return;
  const times = deliveredAt.get(record.partition);
  if (times) times.push(Date.parse(at));
  else deliveredAt.set(record.partition, [Date.parse(at)]);
}

function longestGap(times: number[]): number {
  const sorted = times.toSorted((a, b) => a - b);
  return Math.max(0, ...sorted.map((at, i) => at - (sorted[i - 1] ?? at)));
}

/**
 * Returns which additional process has each partition, by the last assignment that each has logged.
 */
function owners(): Map<number, number> {
  return new Map(
    [...beside].flatMap((service) => {
      // The last line may not have arrived in full.
      const said = service
        .output()
        .split('\n')
        .slice(0, -1)
        .findLast((line) => line.includes('consumer.assigned'));
      const { assignment = {} } = JSON.parse(said ?? '{}') as {
        assignment?: Record<string, number[]>;
      };
      return (assignment[`${rig.system.prefix}${WEBHOOKS}`] ?? []).map(
        (partition) => [partition, service.pid] as const,
      );
    }),
  );
}
