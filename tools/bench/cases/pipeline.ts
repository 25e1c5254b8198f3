import { SERVICES } from '../../../bin/service-list';
import { until, within } from '../../harness/timing';
import { cpuBetween, type CpuUse, readCpu } from '../../harness/usage';
import { Calls, createCustomers, type Customer } from '../load';
import { ratio } from '../arithmetic';
import { micros, PER_WEBHOOK, type Row, rows } from '../rows';
import { type Bench, withSystem } from '../setup';
import { divertedRecords } from './delivery';

/**
 * All services under a closed loop: calls are sent at the rate of delivery, with at most a few
 * thousand under way.
 */

const MAX_OUTSTANDING = 2_000;
const DEADLINE_MS = 180_000;
/** Time for calls that are under way when the load ends. */
const DRAIN_MS = 30_000;
const POLL_MS = 10;
const CUSTOMERS = 4;

/** A running system, and the calls to send to it. */
export interface Target {
  prefix: string;
  /** of one process, or of several */
  ingestUrl: string | readonly string[];
  customers: readonly Customer[];
  pids: Record<string, number>;
}

export interface LoopSize {
  warmUp: number;
  count: number;
  callsPerRequest: number;
  connections: number;
}

export interface PipelineFigure {
  count: number;
  callsPerRequest: number;
  perSecond: number;
  cpu: CpuUse;
  /** accepted but never delivered, delivered more than once, diverted to a tier */
  missing: number;
  repeats: number;
  diverted: number;
}

/** @param goals.all including the broker */
export function loopRows(
  title: string,
  figure: PipelineFigure,
  goals: { bareMicros: number; all?: number; services?: number },
): Row[] {
  const services = micros(figure, ...SERVICES);
  const all = micros(figure, ...SERVICES, 'broker');
  return rows(title, [
    ['', 'webhooks/s', figure.perSecond],
    [': services and broker', 'CPU-s/1,000', ratio(all, 1_000)],
    [': services and broker', '× bare loop', ratio(all, goals.bareMicros), goals.all],
    [': services', '× bare loop', ratio(services, goals.bareMicros), goals.services],
    ...[...SERVICES, 'broker'].map(
      (name) => [`: ${name}`, PER_WEBHOOK, micros(figure, name)] as const,
    ),
  ]);
}

export const batchesRows = (figure: PipelineFigure, bareMicros: number): Row[] =>
  loopRows('all, batches of 100', figure, { bareMicros, all: 4.85, services: 4 });

export const singlesRows = (figure: PipelineFigure, bareMicros: number): Row[] =>
  loopRows('all, single calls', figure, { bareMicros, all: 9 });

/** Measures a system of its own. */
export function measureLoop(bench: Bench, size: LoopSize): Promise<PipelineFigure> {
  return withSystem(bench, { name: 'system', services: SERVICES }, async ({ system, pids }) => {
    const customers = await createCustomers(system, customerUrls(bench));
    return measurePipeline(bench, { ...system, customers, pids }, size);
  });
}

export function customerUrls({ endpoint }: Bench): string[] {
  return Array.from({ length: CUSTOMERS }, (_, i) => `${endpoint.origin}/ok/customer-${String(i)}`);
}

export async function measurePipeline(
  bench: Bench,
  target: Target,
  size: LoopSize,
): Promise<PipelineFigure> {
  const { endpoint } = bench;
  const at = (count: number) =>
    endpoint.reached(count).then((atMs) => ({ atMs, cpu: readCpu(target.pids) }));
  const name = `${String(size.callsPerRequest)}-${String(size.count)}`;
  const { measured, missing, repeats } = await closedLoop(bench, target, { ...size, name }, () =>
    within(
      'the measured number of webhooks',
      DEADLINE_MS,
      Promise.all([at(size.warmUp), at(size.warmUp + size.count)]),
    ),
  );
  const [from, to] = measured;
  return {
    count: size.count,
    callsPerRequest: size.callsPerRequest,
    perSecond: size.count / ((to.atMs - from.atMs) / 1000),
    cpu: cpuBetween(from.cpu, to.cpu),
    missing,
    repeats,
    diverted: await divertedRecords(bench, target.prefix),
  };
}

/**
 * Loads the system until `measure` resolves, then waits for calls under way.
 * @param load.name part of each messageId
 */
async function closedLoop<T>(
  { endpoint }: Bench,
  target: Target,
  load: { name: string; callsPerRequest: number; connections: number },
  measure: () => Promise<T>,
): Promise<{ measured: T; missing: number; repeats: number }> {
  const { callsPerRequest, connections } = load;
  const calls = new Calls(target.ingestUrl, connections, target.customers, load.name);
  const throttle = new Throttle(MAX_OUTSTANDING);
  endpoint.reset({ ids: true });
  endpoint.onCount((count) => throttle.arrived(count));
  const measurement = measure();

  const send = () =>
    callsPerRequest === 1 ? calls.postSingle() : calls.postBatch(callsPerRequest);
  const worker = async () => {
    while (await throttle.take(callsPerRequest)) await send();
  };
  const sending = Promise.all(Array.from({ length: connections }, worker));
  // A refused call ends the measurement immediately, not at its deadline.
  const refused = sending.then(() => new Promise<never>(() => undefined));
  try {
    const measured = await Promise.race([measurement, refused]);
    throttle.close();
    await sending;
    await until(() => throttle.outstanding <= 0, POLL_MS, DRAIN_MS);
    const { count, arrivals } = await endpoint.report();
    return { measured, missing: throttle.sent - arrivals.size, repeats: count - arrivals.size };
  } finally {
    // If the load failed, the measurement no longer matters.
    measurement.catch(() => undefined);
    throttle.close();
    await calls.close();
  }
}

/**
 * Pauses a sender while too many of its messages are under way. The result is a steady state at the
 * rate of the slowest stage, without a backlog that drains after the measurement.
 */
export class Throttle {
  #sent = 0;
  #arrived = 0;
  #closed = false;
  #waiting: (() => void)[] = [];

  /** @param most maximum of messages that are sent and have not arrived */
  constructor(private readonly most: number) {}

  get sent(): number {
    return this.#sent;
  }

  get outstanding(): number {
    return this.#sent - this.#arrived;
  }

  /** Resolves when there is room for this many, which then count as sent; false once closed. */
  async take(count: number): Promise<boolean> {
    while (!this.#closed && this.#sent + count - this.#arrived > this.most) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
    if (this.#closed) return false;
    this.#sent += count;
    return true;
  }

  /** Sets the total number of arrivals. */
  arrived(total: number): void {
    this.#arrived = Math.max(this.#arrived, total);
    this.#wake();
  }

  /** Lets the sender end. */
  close(): void {
    this.#closed = true;
    this.#wake();
  }

  #wake(): void {
    for (const resume of this.#waiting.splice(0)) resume();
  }
}
