import { setTimeout as pause } from 'node:timers/promises';
import { SERVICES } from '../../../bin/service-list';
import { freePorts } from '../../../test/support/free-port';
import { type OutRecord } from '../../../shared/kafka/port';
import { tierTopic } from '../../../shared/kafka/topics';
import { deliveryId } from '../../../shared/model/delivery';
import { loadSettings } from '../../../shared/runtime/settings';
import { apiOf } from '../../harness/api';
import { clockMs, until } from '../../harness/timing';
import { cpuBetween, type CpuReading, type CpuUse, readCpu } from '../../harness/usage';
import { sum, type Times, timesOf } from '../arithmetic';
import { createCustomers, type Customer } from '../load';
import { bodyOf } from '../payload';
import { type Progress } from '../progress';
import { type Row, rows } from '../rows';
import { aDelivery, deliveryRecord, openSeeder } from '../seed';
import { type Bench, type Running, withSystem } from '../setup';
import { SteadyCalls } from '../steady-calls';
import { ISOLATION_GOAL } from './isolation';
import { metricOf } from './observe';

/**
 * Many deliveries that wait at one destination and leave their tiers early: a user sends them now
 * or cancels them, their URL is corrected, or their endpoint recovers. As many wait at the
 * destinations of the other cases, and a steady flow of calls goes to other endpoints.
 */

const CASES = ['sent now', 'cancelled', 'corrected', 'recovered'] as const;
type Case = (typeof CASES)[number];

/** Endpoints of the flow. */
const OTHERS = 4;
/** To an endpoint that is away. */
const OWN_PER_SECOND = 2;
const USED_WITHIN_MS = 5_000;
const OPEN_WITHIN_MS = 60_000;
const LEFT_WITHIN_MS = 600_000;
const SETTLE_MS = 10_000;
const POLL_MS = 250;
/** Part of the flow that may be under way, in seconds. */
const UNDER_WAY_S = 2;
/** A guess, for the progress line. */
const WRITTEN_PER_MS = 15;

const FIRST_GOAL_MS = 2_000;
const LAST_GOAL_S = 60;

export interface EarlySize {
  /** of waiting deliveries, in each case */
  count: number;
  /** calls to the other endpoints */
  perSecond: number;
  warmUpSeconds: number;
  /** in which nothing leaves */
  seconds: number;
}

interface Departure {
  name: string;
  /** from the request, or from the first delivery that shows that the endpoint is back */
  firstMs: number;
  lastMs: number;
  missing: number;
  cpu: CpuUse;
  /** of the calls to other endpoints meanwhile */
  others: Times;
}

interface EarlyFigure {
  count: number;
  /** of the calls while nothing leaves */
  clean: Times;
  departures: Departure[];
}

export function earlyRows({ count, clean, departures }: EarlyFigure): Row[] {
  return [
    ...rows('early, nothing leaves', [
      [": others' p50", 'ms', clean.p50Ms],
      [": others' p99", 'ms', clean.p99Ms],
    ]),
    ...departures.flatMap(({ name, firstMs, lastMs, missing, cpu, others }) =>
      rows(`early, ${name}`, [
        [': the first after', 'ms', firstMs, FIRST_GOAL_MS],
        [': the last after', 's', lastMs / 1_000, LAST_GOAL_S],
        [': missing', 'deliveries', missing, 0],
        [": others' p50", 'ms', others.p50Ms],
        [": others' p99", 'ms', others.p99Ms],
        [": others' p99", '× nothing leaves', others.p99Ms / clean.p99Ms, ISOLATION_GOAL],
        [': CPU', 'ms/delivery', (1_000 * sum(Object.values(cpu.byName))) / count],
        ...Object.entries(cpu.byName).map(
          ([process, seconds]) => [`: ${process}`, 'cores', seconds / cpu.seconds] as const,
        ),
      ]),
    ),
  ];
}

/** What a case has done, until the arrivals are known. */
interface Span {
  name: Case;
  customer: Customer;
  /** deliveries of the calls to the endpoint itself: one may show that it is back */
  own: string[];
  fromMs: number;
  /** from the beginning on, until no delivery of it can be under way */
  readings: CpuReading[];
  /** number of cancelled deliveries, and when the first and the last of them were seen */
  cancelled: { count: number; firstMs: number; lastMs: number };
}

export function measureEarly(
  bench: Bench,
  size: EarlySize,
  progress: Progress,
): Promise<EarlyFigure> {
  return withSystem(bench, { name: 'early', services: SERVICES }, async (running) => {
    const { system } = running;
    const origins = await bench.endpoint.origins(OTHERS + CASES.length);
    const [refused = 0] = await freePorts(1);
    const urls = origins.map((origin, i) =>
      CASES[i] === 'corrected' ? `http://127.0.0.1:${String(refused)}/ok/` : `${origin}/ok/`,
    );
    const customers = await createCustomers(system, urls);
    bench.endpoint.reset({ ids: true });
    const others = customers.slice(CASES.length);
    const flow = new SteadyCalls(size.perSecond, others, system.ingestUrl, 'flow');
    const run = new Run({ bench, running, size, progress, flow });
    const places = CASES.flatMap((name, i) => {
      const [customer, origin] = [customers[i], origins[i]];
      return customer && origin !== undefined ? [{ name, customer, origin }] : [];
    });
    await run.write(places);
    await run.pause('warm-up', size.warmUpSeconds * 1_000);
    const fromMs = clockMs();
    await run.pause('nothing leaves', size.seconds * 1_000);
    const toMs = clockMs();
    const spans: Span[] = [];
    for (const place of places) spans.push(await run.leave(place));
    const sentAt = await flow.stop();
    await pause(SETTLE_MS);
    const { arrivals } = await bench.endpoint.report();
    return {
      count: size.count,
      clean: latencies({ sentAt, arrivals }, fromMs, toMs),
      departures: spans.map((span) => departureOf(span, { count: size.count, sentAt, arrivals })),
    };
  });
}

/** A case, with its destination and the endpoint that it has in the end. */
interface Place {
  name: Case;
  customer: Customer;
  origin: string;
}

class Run {
  constructor(
    private readonly parts: {
      bench: Bench;
      running: Running;
      size: EarlySize;
      progress: Progress;
      flow: SteadyCalls;
    },
  ) {}

  pause(what: string, ms: number): Promise<void> {
    return this.parts.progress.during(what, ms, () => pause(ms));
  }

  /** Writes what waits to the two longest tiers. */
  async write(places: readonly Place[]): Promise<void> {
    const { running, size, progress } = this.parts;
    const { env } = running.system;
    const tiers = [...loadSettings(env).WAYPOST_RETRY_DELAYS].sort((a, b) => a - b).slice(-2);
    const total = places.length * size.count;
    const seeder = await openSeeder(env);
    try {
      await progress.during(`writing ${String(total)}`, total / WRITTEN_PER_MS, async () => {
        for (const place of places) {
          await seeder.append(waitingRecords(place, tiers.map(tierTopic), size.count));
        }
      });
    } finally {
      await seeder.close();
    }
  }

  /** Lets what waits at a destination leave, and waits until it has arrived or is cancelled. */
  async leave(place: Place): Promise<Span> {
    const { bench, running, size, progress, flow } = this.parts;
    const { name, customer } = place;
    await this.pause('all is settled', SETTLE_MS);
    const own = await this.#prepare(place);
    const fromMs = clockMs();
    const readings = [readCpu(running.pids)];
    const before = {
      cancelled: await this.#cancelled(),
      accepted: bench.endpoint.accepted - flow.sent,
    };
    await this.#act(place);
    const cancelled = { count: 0, firstMs: NaN, lastMs: NaN };
    const hasLeft = async () => {
      readings.push(readCpu(running.pids));
      if (name !== 'cancelled') {
        const arrived = bench.endpoint.accepted - flow.sent - before.accepted;
        return arrived >= size.count - UNDER_WAY_S * size.perSecond;
      }
      const count = (await this.#cancelled()) - before.cancelled;
      if (count > 0 && cancelled.count === 0) cancelled.firstMs = clockMs();
      if (count > cancelled.count) cancelled.lastMs = clockMs();
      cancelled.count = count;
      return count >= size.count;
    };
    await progress.during(name, LEFT_WITHIN_MS, () => until(hasLeft, POLL_MS, LEFT_WITHIN_MS));
    const ids = [...((await own?.stop()) ?? [])].map(([id]) => id);
    return { name, customer, own: ids, fromMs, readings, cancelled };
  }

  /** Sends calls to an endpoint that is away, until its state is known. */
  async #prepare({ name, customer, origin }: Place): Promise<SteadyCalls | undefined> {
    if (name !== 'corrected' && name !== 'recovered') return undefined;
    const { bench, running, progress } = this.parts;
    const { ingestUrl, healthPorts } = running.system;
    if (name === 'recovered') bench.endpoint.behave([origin], 'hang');
    const own = new SteadyCalls(OWN_PER_SECOND, [customer], ingestUrl, name);
    if (name === 'corrected') {
      await this.pause('its destination is used', USED_WITHIN_MS);
      await own.stop();
      return undefined;
    }
    const turns = () => metricOf(healthPorts('delivery'), 'waypost_circuit_transitions_total');
    const before = await turns();
    await progress.during('its circuit opens', OPEN_WITHIN_MS, () =>
      until(async () => (await turns()) > before, POLL_MS, OPEN_WITHIN_MS),
    );
    return own;
  }

  async #act({ name, customer, origin }: Place): Promise<void> {
    const { bench, running } = this.parts;
    const destination = `/destinations/${customer.destinationId}`;
    const ask = async (method: string, path: string, body?: object) => {
      const answer = await apiOf(running.system).control(method, path, body);
      if (answer.status >= 300) {
        throw new Error(`${name}: ${String(answer.status)} ${JSON.stringify(answer.body)}`);
      }
    };
    switch (name) {
      case 'sent now':
        return ask('POST', `${destination}/retry`, {});
      case 'cancelled':
        return ask('POST', `${destination}/cancel`);
      case 'corrected':
        return ask('PATCH', destination, { webhooks: [{ url: `${origin}/ok/` }] });
      case 'recovered':
        bench.endpoint.behave([origin], 'path');
    }
  }

  #cancelled(): Promise<number> {
    const port = this.parts.running.system.healthPorts('delivery');
    return metricOf(port, 'waypost_deliveries_cancelled_total');
  }
}

interface Known {
  count: number;
  /** of the flow */
  sentAt: ReadonlyMap<string, number>;
  arrivals: ReadonlyMap<string, number>;
}

/** Computes the figures of a case from the arrivals. Pure. */
export function departureOf(
  { name, customer, own, fromMs, readings, cancelled }: Span,
  { count, sentAt, arrivals }: Known,
): Departure {
  const arrived = (ids: readonly string[]) =>
    ids.flatMap((id) => arrivals.get(id) ?? []).sort((a, b) => a - b);
  const waiting = arrived(
    Array.from({ length: count }, (_, i) => idOf(customer, messageIdOf(name, i))),
  );
  const isCancelled = name === 'cancelled';
  const [firstMs = NaN, lastMs = NaN] = isCancelled
    ? [cancelled.firstMs, cancelled.lastMs]
    : [waiting[0], waiting.at(-1)];
  const shownMs = arrived(own).find((atMs) => atMs >= fromMs) ?? Infinity;
  const beganMs = name === 'recovered' ? Math.min(shownMs, firstMs) : fromMs;
  const before = readings.findLast(({ atMs }) => atMs <= beganMs) ?? readings[0];
  const after = readings.find(({ atMs }) => atMs >= lastMs) ?? readings.at(-1);
  if (!before || !after) throw new Error(`the CPU of "${name}" was not read`);
  return {
    name,
    firstMs: firstMs - beganMs,
    lastMs: lastMs - beganMs,
    missing: count - (isCancelled ? cancelled.count : waiting.length),
    cpu: cpuBetween(before, after),
    others: latencies({ sentAt, arrivals }, beganMs, lastMs),
  };
}

/** Returns the times from the calls of the flow in this span to the arrivals of their webhooks. */
function latencies(
  { sentAt, arrivals }: Pick<Known, 'sentAt' | 'arrivals'>,
  fromMs: number,
  toMs: number,
): Times {
  const all = [...sentAt].flatMap(([id, atMs]) => {
    const arrivedAt = arrivals.get(id);
    return atMs < fromMs || atMs >= toMs || arrivedAt === undefined ? [] : [arrivedAt - atMs];
  });
  return timesOf(all);
}

function messageIdOf(name: Case, i: number): string {
  return `bench-${name}-${String(i)}`;
}

function idOf({ sourceId, destinationId }: Customer, messageId: string): string {
  return deliveryId(sourceId, messageId, destinationId);
}

const BODY = JSON.stringify(bodyOf(0, 'bench-waiting'));

/** Yields deliveries that wait after a failed attempt, or for their circuit. */
function* waitingRecords(
  { name, customer }: Place,
  tiers: readonly string[],
  count: number,
): Generator<OutRecord> {
  const isTried = name === 'sent now' || name === 'cancelled';
  for (let i = 0; i < count; i++) {
    const delivery = aDelivery(i, { ...customer, messageId: messageIdOf(name, i) });
    const waits = {
      ...delivery,
      attempt: isTried ? 1 : 0,
      hop: 1,
      reason: isTried ? 'backoff' : 'circuit_open',
    };
    yield deliveryRecord(tiers[i % tiers.length] ?? '', waits, BODY);
  }
}
