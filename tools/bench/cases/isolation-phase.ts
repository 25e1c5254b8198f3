import { defined } from '../../../shared/collections/defined';
import { deliveryId } from '../../../shared/model/delivery';
import { type Hostile as HostileDoor } from '../../harness/receiver';
import { clockMs, openLoop, until } from '../../harness/timing';
import { cpuBetween, type CpuUse, readCpu } from '../../harness/usage';
import { type Times, timesOf } from '../arithmetic';
import { Calls, type Customer } from '../load';
import { type Bench } from '../setup';
import { diskBytes } from './observe';
import { type Target } from './pipeline';

/**
 * One phase of the isolation benchmark: the load while some endpoints misbehave, until all of it
 * has been delivered.
 */

const CONNECTIONS = 64;
/** Time for the last calls of a phase to arrive if nothing hangs. */
const ARRIVAL_MS = 10_000;
/**
 * Time for records in tiers: the next phase begins when everything of this one has been delivered.
 */
const SETTLE_MS = 180_000;
const POLL_MS = 250;

/** `tickets`: a server that renews its TLS session tickets without end */
export type Hostile = HostileDoor | 'tickets';

export interface PhaseSize {
  /** unique for each phase: ids of messages begin with it */
  name: string;
  /** origins of the customers, in their order */
  origins: readonly string[];
  /** the number of first endpoints that hang */
  hanging: number;
  /** what they do in place of hanging */
  as?: Hostile;
  /** changes their destinations for that, and changes them back */
  prepare?: () => Promise<void>;
  restore?: () => Promise<void>;
  /** the number of last endpoints that are measured */
  measured: number;
  perSecond: number;
  seconds: number;
}

/** Some of the endpoints hang; the figures are of endpoints that hang in no phase. */
export interface IsolationPhase extends Times {
  /** number of hanging endpoints */
  hanging: number;
  /** what they did in place of hanging */
  as?: Hostile | undefined;
  offeredPerSecond: number;
  /** arrived before the last call was sent */
  deliveredPerSecond: number;
  /** the largest number of open connections to one hanging endpoint */
  mostConnections: number;
  /** calls, of all endpoints, that ingest did not accept */
  refused: number;
  /** calls, of all endpoints, that were accepted and not delivered after the phase either */
  missing: number;
  cpu: CpuUse;
  /** written to Kafka's disk until everything was delivered; absent if Kafka runs in a container */
  disk?: {
    bytes: number;
    /** webhooks that arrived, each attempt of a delivery counted */
    webhooks: number;
    seconds: number;
  };
}

interface Sent {
  customer: Customer;
  messageId: string;
  atMs: number;
}

export async function measurePhase(
  bench: Bench,
  target: Target,
  size: PhaseSize,
): Promise<IsolationPhase> {
  const { endpoint } = bench;
  const before = kafkaBytes(bench);
  const beginMs = clockMs();
  const hung = size.origins.slice(0, size.hanging);
  endpoint.reset({ ids: true });
  await size.prepare?.();
  endpoint.behave(hung, size.as === 'tickets' ? 'path' : (size.as ?? 'hang'));
  const from = readCpu(target.pids);
  const { sent, refused, startMs, endMs } = await offer(target, size);
  const cpu = cpuBetween(from, readCpu(target.pids));

  const healthy = new Set(target.customers.slice(-size.measured));
  const measured = sent
    .filter(({ customer }) => healthy.has(customer))
    .map((call) => ({ ...call, id: idOf(call) }));
  let report = await endpoint.report();
  const allThere = async () => {
    report = await endpoint.report();
    return measured.every(({ id }) => report.arrivals.has(id));
  };
  await until(allThere, POLL_MS, ARRIVAL_MS);
  endpoint.behave(hung, 'path');
  await size.restore?.();
  await until(() => endpoint.accepted >= sent.length, POLL_MS, SETTLE_MS);
  const { count: webhooks } = await endpoint.report();
  const after = kafkaBytes(bench);

  const arrived = measured.flatMap(({ id, atMs }) => {
    const arrivedMs = report.arrivals.get(id);
    return arrivedMs === undefined ? [] : [{ arrivedMs, tookMs: arrivedMs - atMs }];
  });
  const latencies = arrived.map(({ tookMs }) => tookMs);
  const seconds = (endMs - startMs) / 1000;
  return {
    hanging: size.hanging,
    as: size.as,
    ...timesOf(latencies),
    count: measured.length,
    offeredPerSecond: measured.length / seconds,
    deliveredPerSecond: arrived.filter(({ arrivedMs }) => arrivedMs <= endMs).length / seconds,
    mostConnections: Math.max(0, ...hung.map((origin) => report.mostOpen.get(origin) ?? 0)),
    refused,
    missing: sent.length - endpoint.accepted,
    cpu,
    ...defined({
      disk:
        before === undefined || after === undefined
          ? undefined
          : { bytes: after - before, webhooks, seconds: (clockMs() - beginMs) / 1000 },
    }),
  };
}

/** Returns the bytes of all records in Kafka; undefined if it runs in a container. */
function kafkaBytes({ broker: { folder } }: Bench): number | undefined {
  return folder === undefined ? undefined : diskBytes(folder);
}

/** Offers the load to the endpoints in rotation. */
async function offer(target: Target, { name, perSecond, seconds }: PhaseSize) {
  const calls = new Calls(target.ingestUrl, CONNECTIONS, target.customers, name);
  const sent: Sent[] = [];
  let refused = 0;
  const startMs = clockMs();
  const count = Math.round(perSecond * seconds);
  await openLoop(
    perSecond,
    (started) => started < count,
    async () => {
      const atMs = clockMs();
      try {
        sent.push({ ...(await calls.postSingle()), atMs });
      } catch {
        // The report counts refused calls; the load continues.
        refused++;
      }
    },
  );
  const endMs = clockMs();
  await calls.close();
  return { sent, refused, startMs, endMs };
}

function idOf({ customer, messageId }: Sent): string {
  return deliveryId(customer.sourceId, messageId, customer.destinationId);
}
