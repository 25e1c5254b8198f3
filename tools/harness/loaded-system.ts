import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { logLevel } from 'kafkajs';
import { compact, defined } from '../../shared/collections/defined';
import { kafkaAddress } from '../../shared/kafka/client/connection';
import { kafkajsClient } from '../../shared/kafka/client/patches';
import { loadSettings } from '../../shared/runtime/settings';
import { type ServiceName } from '../../bin/service-list';
import { eventually } from '../../test/support/eventually';
import { aCall, type Call } from '../../test/support/factories';
import { healthPortOf } from '../../test/support/service';
import { ORDERS, type TraitOracle } from '../../test/support/trait-oracle';
import { type Load, startLoad } from './load';
import { type Behaviour, startSink } from './sink';
import { startSystem, type System, type SystemOptions } from './system';

/**
 * A system under load, for breaking it: one source and three destinations. One is healthy, one
 * fails sometimes, and one receives one call in fifty and never responds. An optional fourth
 * receives the same calls as the third, and responds slowly.
 */
export interface LoadedSystem {
  /** the running system */
  system: System;
  /** the requests so far at the endpoints that respond */
  healthy: Tally;
  failing: Tally;
  slow: Tally;
  load: Load;
  /** Starts the system again with its data dir and its ports, after it has ended. */
  restart(): Promise<void>;
  /**
   * Waits until this many calls were acknowledged from now on, and have arrived at the healthy
   * endpoint.
   */
  flowing(calls?: number): Promise<void>;
  /** Waits for the service as a new, ready process; `before` are the pids that were killed. */
  replaced(name: ServiceName, before: number[]): Promise<void>;
  /** Waits until the healthy endpoint has received every call that is now acknowledged. */
  caughtUp(): Promise<void>;
  /**
   * Returns the number of records above the last commit of a consuming service: it would read them
   * again if it were killed now.
   */
  uncommitted(name: ServiceName): Promise<number>;
  /**
   * Stops the load and waits until the healthy and the failing endpoint have received each
   * acknowledged call.
   */
  allArrived(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Counts the requests of an endpoint as they come: a search through all requests for each new one
 * would be too slow.
 */
export interface Tally {
  /** its id; empty without one */
  destination: string;
  /** ids of messages that got a 200 */
  messages: Set<string>;
  /** requests that got a 200 */
  taken: number;
  /** requests for a delivery that had already got a 200 */
  repeats: number;
}

/**
 * Enough that a kill hits work in flight at each service: some calls come every 0.4 s, and a
 * service commits three times a second. The rest of two cores is for the recovery.
 */
export const PER_SECOND = 24;
const HEALTHY = '/healthy';
const FAILING = '/failing';
const HANGING = '/hanging';
const SLOW = '/slow';
const TOLD = '/told';
/** Everything shares two cores with other programs, and the test does not measure the duration. */
const RECOVERY_MS = 120_000;

export interface LoadedSystemOptions extends SystemOptions {
  /** response time of the slow endpoint; without it the endpoint never responds */
  slowMs?: number;
  /** calls */
  perSecond?: number;
  /** see `LoadOptions` */
  againAfterMs?: number;
  /** adds a computed trait, whose output goes to this oracle */
  orders?: TraitOracle;
}

export async function openLoadedSystem({
  slowMs,
  perSecond = PER_SECOND,
  orders,
  againAfterMs,
  ...options
}: LoadedSystemOptions = {}): Promise<LoadedSystem> {
  const dataDir = mkdtempSync(join(tmpdir(), 'waypost-crash-'));
  const sink = await startSink();
  const [healthy, failing, slow] = [newTally(), newTally(), newTally()];
  sink
    .on(HANGING, { misbehave: 'hang' })
    .on(HEALTHY, counted(healthy, { onCall: (call) => orders?.made(call) }))
    .on(FAILING, counted(failing, { failEvery: 10 }));
  sink.on(SLOW, counted(slow, { delayMs: slowMs ?? 0 }));
  // The receiver shares two cores with everything else: one second without a response has no
  // meaning.
  const env = {
    WAYPOST_RETRY_DELAYS: '2s,5s',
    WAYPOST_TIMEOUT: '2s',
    WAYPOST_LOG_LEVEL: 'warn',
    ...options.env,
  };
  const system = await startSystem({ ...options, env, dataDir });
  const source = await system.createSource();
  for (const path of compact([
    HEALTHY,
    FAILING,
    slowMs === undefined ? undefined : SLOW,
    HANGING,
  ])) {
    const types = path === HANGING || path === SLOW ? { types: ['identify'] } : {};
    const fields = { sources: [source.id], webhooks: [{ url: sink.url(path) }], ...types };
    const { id } = await system.createDestination(fields);
    const tally = { [HEALTHY]: healthy, [FAILING]: failing, [SLOW]: slow }[path];
    if (tally) tally.destination = id;
  }
  if (orders) {
    sink.on(TOLD, counted(newTally(), { onCall: (call) => orders.hear(call) }));
    const { id } = await system.createDestination({
      sources: [],
      webhooks: [{ url: sink.url(TOLD) }],
    });
    const made = await system.control('POST', '/computed-traits', {
      ...ORDERS,
      destinations: [id],
      sources: [source.id],
    });
    if (made.status !== 201) {
      throw new Error(`the trait was not made: ${JSON.stringify(made.body)}`);
    }
  }
  // A call that is acknowledged before the router knows a destination does not go to it.
  await eventually(async () => {
    await system.send(source.writeKey, 'identify', aCall('identify'));
    await sink.waitFor(1, { path: HANGING, timeoutMs: 250 });
  });
  const load = startLoad({
    url: system.ingestUrl,
    writeKey: source.writeKey,
    perSecond,
    ...defined({ againAfterMs }),
  });
  const rig: LoadedSystem = {
    system,
    healthy,
    failing,
    slow,
    load,
    restart: async () => {
      rig.system = await startSystem({
        ...options,
        env: system.startedWith,
        dataDir,
        prefix: system.prefix,
      });
    },
    flowing: (calls = PER_SECOND) => {
      const from = load.acknowledged.size;
      return eventually(
        () => {
          const fresh = [...load.acknowledged].slice(from, from + calls);
          const arrived = fresh.filter((id) => healthy.messages.has(id)).length;
          if (arrived < calls) {
            throw new Error(`${arrived} of ${calls} arrived: ${rig.system.output().slice(-2_000)}`);
          }
        },
        { deadlineMs: RECOVERY_MS },
      );
    },
    replaced: (name, before) =>
      eventually(
        async () => {
          const now = rig.system.pids(name);
          if (now.length !== 1 || before.includes(now[0]!)) {
            throw new Error(`${name} runs as ${now.join()}`);
          }
          const port = healthPortOf(system.env, name);
          const answer = await fetch(`http://127.0.0.1:${port}/readyz`);
          if (!answer.ok) throw new Error(`${name} is not ready: ${await answer.text()}`);
        },
        // Each look lists all processes of the machine.
        { deadlineMs: RECOVERY_MS, everyMs: 250 },
      ),
    caughtUp: async () => {
      const acknowledged = new Set(load.acknowledged);
      await eventually(() => noneMissing(acknowledged, { healthy }), { deadlineMs: RECOVERY_MS });
    },
    uncommitted: (name) => lag(rig.system, name),
    allArrived: async () => {
      await load.stop();
      const tallies = { healthy, failing };
      await eventually(() => noneMissing(load.acknowledged, tallies), {
        deadlineMs: RECOVERY_MS,
        everyMs: 200,
      });
    },
    close: async () => {
      await load.stop(0);
      await rig.system.discard();
      await sink.close();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
  return rig;
}

/**
 * Returns the lag: the end of each partition of the service's group, minus its committed offset.
 */
async function lag(system: System, name: ServiceName): Promise<number> {
  const { env } = system;
  const prefix = env.WAYPOST_TOPIC_PREFIX ?? '';
  const admin = kafkajsClient({
    ...kafkaAddress(loadSettings(env)),
    logLevel: logLevel.NOTHING,
  }).admin();
  await admin.connect();
  try {
    let records = 0;
    for (const { topic, partitions } of await admin.fetchOffsets({
      groupId: `${prefix}waypost-${name}`,
    })) {
      const ends = await admin.fetchTopicOffsets(topic);
      for (const { partition, offset } of partitions) {
        const end = Number(ends.find((candidate) => candidate.partition === partition)?.high ?? 0);
        records += end - Math.max(0, Number(offset));
      }
    }
    return records;
  } finally {
    await admin.disconnect();
  }
}

function newTally(): Tally {
  return { destination: '', messages: new Set(), taken: 0, repeats: 0 };
}

interface Counting {
  failEvery?: number;
  delayMs?: number;
  onCall?: (call: Call) => void;
}

/** @param options one request in `failEvery` gets a 503, the others respond after `delayMs` */
function counted(
  tally: Tally,
  { failEvery = Infinity, delayMs = 0, onCall }: Counting = {},
): Behaviour {
  const deliveries = new Set<string>();
  let tries = 0;
  return ({ headers, body }) => {
    if (++tries % failEvery === 0) return { status: 503 };
    const id = headers['webhook-id'] ?? '';
    tally.taken++;
    if (deliveries.has(id)) tally.repeats++;
    deliveries.add(id);
    const call = JSON.parse(body.toString()) as Call;
    tally.messages.add(call.messageId);
    onCall?.(call);
    return { delayMs };
  };
}

function noneMissing(acknowledged: ReadonlySet<string>, tallies: Record<string, Tally>): void {
  for (const [name, { messages }] of Object.entries(tallies)) {
    const missing = [...acknowledged].filter((id) => !messages.has(id));
    if (missing.length === 0) continue;
    const some = missing.slice(0, 3).join(', ');
    throw new Error(
      `${missing.length} of ${acknowledged.size} acknowledged calls have not arrived at ` +
        `${name}: ${some}`,
    );
  }
}
