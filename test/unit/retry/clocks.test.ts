import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { admit } from '../../../services/delivery/decisions/admission';
import {
  concludeAttempt,
  type Disposition,
  recordsOf,
} from '../../../services/delivery/decisions/disposition';
import { type OpenLookup } from '../../../services/delivery/destinations/endpoint';
import { Requeuer } from '../../../services/retry/requeuer';
import { TierPositions } from '../../../services/retry/tier-positions';
import { BrokerClock } from '../../../shared/kafka/broker-clock';
import { type OpenRecord } from '../../../shared/kafka/port';
import { decodeDelivery, type Delivery } from '../../../shared/model/delivery';
import { ROOT } from '../../../shared/runtime/repo-root';
import { SteadyClock } from '../../../shared/runtime/steady-clock';
import { aDelivery, aRecord } from '../../support/factories';

/**
 * One retry of a minute, with clocks that are wrong: the real decisions of delivery, the real
 * requeuer and the real clocks, on machines whose clocks are set, that sleep or that stop a process.
 * The decision on clocks has the same table.
 */

const START = 1_700_000_000_000;
const WAIT_MS = 60_000;
const TICK_MS = 100;
const WRITE_EVERY_MS = 500;
const TIMING = { tiersMs: [10_000, 60_000, 300_000], windowMs: 14_400_000 };

/** A machine with one process. Times are true ones unless they are by its clocks. */
class Machine {
  /** until when it sleeps, or its process stands still */
  awayUntil = 0;
  #sleptMs = 0;
  readonly clock: BrokerClock;

  /** @param wrongMs how far its clock is set wrong */
  constructor(
    private readonly world: World,
    public wrongMs = 0,
  ) {
    const monotonic = () => world.now - START - this.#sleptMs;
    const wall = () => world.now + this.wrongMs;
    const steady = new SteadyClock(monotonic, () => world.now - START, wall);
    this.clock = new BrokerClock(() => steady.now(), wall);
  }

  get isAway(): boolean {
    return this.world.now < this.awayUntil;
  }

  /** Its monotonic clock stands still. */
  sleep(ms: number): void {
    this.#sleptMs += ms;
    this.awayUntil = this.world.now + ms;
  }

  /** Its process does not run, and its clocks do. */
  freeze(ms: number): void {
    this.awayUntil = this.world.now + ms;
  }

  /** Writes a record, whose timestamp corrects its clock. */
  write(): void {
    this.clock.wrote(this.world.now + this.world.brokerWrongMs, this.clock.mark());
  }
}

class World {
  now = START;
  brokerWrongMs = 0;
  delivery = new Machine(this);
  retry = new Machine(this);
  readonly #requeuer: Requeuer;
  #record: OpenRecord | undefined;
  #againAt = 0;
  #returned = false;
  #appended: Delivery | undefined;

  constructor() {
    this.#requeuer = new Requeuer({
      producer: {
        pendingBytes: 0,
        oldestPendingAt: undefined,
        send: () => this.#return(),
      } as never,
      now: () => this.retry.clock.now(),
      brokersNow: () => this.retry.clock.brokersNow(),
      steadyMs: () => this.now - START,
      onRoom: () => undefined,
      recalls: {
        check: () => 'return',
        positions: new TierPositions({
          steadyMs: () => 0,
          isTaking: () => false,
          onAssigned: () => undefined,
        }),
      },
    });
    this.retry.write();
  }

  /** A new process, on a machine whose clock is wrong. It writes a record at its start. */
  restart(service: 'delivery' | 'retry', wrongMs: number): void {
    this[service] = new Machine(this, wrongMs);
    this[service].write();
  }

  #return(): Promise<void> {
    this.#returned = true;
    return Promise.resolve();
  }

  /** Runs until this time after the start. @param everyTick returns true to end */
  runUntil(ms: number, everyTick: () => boolean = () => false): void {
    while (this.now < START + ms) {
      this.now += TICK_MS;
      // Delivery writes all the time, and retry when it returns a record.
      if (!this.delivery.isAway && this.now % WRITE_EVERY_MS === 0) this.delivery.write();
      if (everyTick()) return;
    }
  }

  /** A first attempt fails, and its delivery waits. */
  fail(): void {
    const delivery = aDelivery({ acceptedAt: START, expiresAt: START + 14_400_000, attempt: 1 });
    const timing = { ...TIMING, nowMs: this.delivery.clock.now() };
    const tried = { urls: [FAILED], rejected: [], skipped: false, durationMs: 1 };
    this.#append(delivery, concludeAttempt(delivery, tried, timing), timing.nowMs);
  }

  /** @returns whether the next attempt begins now */
  step(): boolean {
    if (this.#record && !this.retry.isAway && this.now >= this.#againAt) {
      this.retry.clock.read(this.#record.timestampMs);
      const result = this.#requeuer.onRecord(this.#record);
      if (typeof result === 'object') this.#againAt = this.now + result.againInMs;
      if (this.#returned) this.retry.write();
    }
    if (!this.#returned || !this.#appended || this.delivery.isAway) return false;
    const timing = { ...TIMING, nowMs: this.delivery.clock.now() };
    const admission = admit(this.#appended, LOOKUP, timing);
    if (admission.kind === 'try') return true;
    if (admission.kind !== 'diverted') throw new Error('the delivery is lost');
    this.#append(this.#appended, admission, timing.nowMs);
    return false;
  }

  #append(delivery: Delivery, disposition: Disposition, nowMs: number): void {
    const record = { topic: 'webhooks', partition: 0, offset: 0 };
    const inHand = { delivery, key: null, body: Buffer.alloc(0), record };
    const written = recordsOf(inHand, disposition, nowMs).find(
      ({ topic }) => topic !== 'attempts',
    )!;
    const decoded = decodeDelivery(written.headers ?? {});
    this.#appended = decoded.kind === 'delivery' ? decoded.delivery : undefined;
    this.#record = aRecord({
      topic: written.topic,
      offset: (this.#record?.offset ?? 0) + 1,
      timestampMs: this.now + this.brokerWrongMs,
      headers: written.headers ?? {},
    });
    this.#returned = false;
    this.#againAt = 0;
  }
}

const FAILED = {
  url: 'whk',
  origin: 'https://a.example',
  destinationVersion: 1,
  outcome: 'retry' as const,
  durationMs: 1,
};
const LOOKUP = {
  kind: 'open',
  version: 1,
  destination: { enabled: true, paused: false, endpoints: [{ hash: 'h' }] },
} as unknown as OpenLookup;

const AHEAD = 60_000;
const BEHIND = -75_000;

type Fault = (world: World) => void;

const CLOCKS: Record<string, (byMs: number) => Fault> = {
  "delivery's": (byMs) => (world) => (world.delivery.wrongMs += byMs),
  "retry's": (byMs) => (world) => (world.retry.wrongMs += byMs),
  "the broker's": (byMs) => (world) => (world.brokerWrongMs += byMs),
};
const FAILED_AT_MS = 60_000;
/** When a fault happens: the wait is from one minute to two. */
const MOMENTS = { 'before the write': 30_000, 'while it waits': 80_000, after: 119_900 };

/**
 * Returns how late the attempt begins, ms: after the minute, or after the end of a sleep or of a
 * standstill that is later.
 */
function lateness(fault: Fault, atMs: number): number {
  const world = new World();
  let done = false;
  const happen = () => {
    if (done || world.now < START + atMs) return;
    done = true;
    fault(world);
  };
  world.runUntil(FAILED_AT_MS, () => {
    happen();
    return false;
  });
  while (world.delivery.isAway) world.runUntil(world.now - START + TICK_MS);
  const failedAt = world.now;
  world.fail();
  world.runUntil(3_600_000, () => {
    happen();
    return world.step();
  });
  const { delivery, retry } = world;
  return world.now - Math.max(failedAt + WAIT_MS, delivery.awayUntil, retry.awayUntil);
}

const ON_TIME = 'on time';

function inWords(lateMs: number): string {
  if (lateMs < 0) return `${Math.round(-lateMs / 1_000)} s early`;
  return lateMs <= 1_000 ? ON_TIME : `${Math.round(lateMs / 1_000)} s late`;
}

const single = Object.entries(CLOCKS).flatMap(([name, by]): [string, Fault][] => [
  [`${name} clock goes 60 s ahead`, by(AHEAD)],
  [`${name} clock goes 75 s back`, by(BEHIND)],
]);
const away: [string, Fault][] = [
  ["delivery's machine sleeps for 90 s", ({ delivery }) => delivery.sleep(90_000)],
  ["retry's machine sleeps for 90 s", ({ retry }) => retry.sleep(90_000)],
  ["delivery's process is frozen for 90 s", ({ delivery }) => delivery.freeze(90_000)],
  ["retry's process is frozen for 90 s", ({ retry }) => retry.freeze(90_000)],
  ['delivery starts, its clock 60 s ahead', (world) => world.restart('delivery', AHEAD)],
  ['delivery starts, its clock 75 s behind', (world) => world.restart('delivery', BEHIND)],
  ['retry starts, its clock 60 s ahead', (world) => world.restart('retry', AHEAD)],
  ['retry starts, its clock 75 s behind', (world) => world.restart('retry', BEHIND)],
];
const pairs = Object.entries(CLOCKS).flatMap(([one, by], i, all) =>
  all.slice(i + 1).flatMap(([other, andBy]) =>
    [AHEAD, BEHIND].map((ms): [string, Fault] => [
      `${one} and ${other} clock go ${ms > 0 ? '60 s ahead' : '75 s back'}`,
      (world) => {
        by(ms)(world);
        andBy(ms)(world);
      },
    ]),
  ),
);

const rowOf = ([name, fault]: [string, Fault]) => [
  name,
  ...Object.values(MOMENTS).map((atMs) => inWords(lateness(fault, atMs))),
];

test.each([...single, ...away])('when %s, an attempt is neither early nor late', (name, fault) => {
  expect(rowOf([name, fault])).toEqual([name, ON_TIME, ON_TIME, ON_TIME]);
});

test.each(pairs)('when %s, an attempt may be late, and is never early', (name, fault) => {
  for (const cell of rowOf([name, fault]).slice(1)) expect(cell).toMatch(/^(on time|\d+ s late)$/);
});

test('the decision on clocks names every fault that makes an attempt late', () => {
  const page = readFileSync(join(ROOT, 'docs/design/decisions/0053-clocks.md'), 'utf8');
  const rows = page.split('\n').filter((line) => line.startsWith('| ') && !/^\| -/.test(line));
  const cells = rows.map((row) =>
    row
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
  expect(cells).toEqual([
    ['fault', ...Object.keys(MOMENTS)],
    ...pairs.map(rowOf).filter(([, ...moments]) => moments.some((moment) => moment !== ON_TIME)),
  ]);
});
